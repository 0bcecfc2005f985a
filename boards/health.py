"""Exporter health: can the other dashboards be believed, and if not, why."""

from boards import variables
from boards.board import Board, Row
from boards.kinds import lines, stat, table, timeline
from boards.panels import Column, Query
from boards.queries import OWN, SCP, UPDATED
from boards.states import BAD, GOOD, WARN
from boards.steps import AGES, ALARMING, DOUBTFUL

REPLICAS = 'job=~"$job", instance=~"$instance"'
TARGETS = f"{REPLICAS}, {SCP}"
TARGET = "provider, account, environment, region, collector"
PLACE = "provider, account, environment, region"
MOST = 200
MIB = 2**20
UP = f"max by ({TARGET}) ({OWN}target_up{{{TARGETS}}})"
AGE = f"time() - max by ({TARGET}) ({UPDATED}{{{TARGETS}}})"
LISTED = f"bottomk({MOST}, {UP})"
NAME = "{{account}} {{region}}"
KEYS = 'account=~"$account", environment=~"$environment"'
NOT_2XX = f'{TARGETS}, code!~"2.."'
BUILT = f"{OWN}build_info{{{REPLICAS}}}"
WORDS = {
    "type": "value",
    "options": {
        "0": {"text": "refused", "color": BAD, "index": 0},
        "1": {"text": "in force", "color": GOOD, "index": 1},
    },
}
SHARES = ((None, BAD), (1, GOOD))


def listed(values: str) -> str:
    """Return the values of the targets that the table lists."""
    return f"({values}) and on ({TARGET}) {LISTED}"


def quantile(share: str, histogram: str, by: str, matchers: str) -> str:
    """Return a quantile of a histogram of the exporter's own."""
    buckets = f"rate({OWN}{histogram}_bucket{{{matchers}}}[$__rate_interval])"
    return f"histogram_quantile({share}, sum by (le{by}) ({buckets}))"


def rate(counter: str, matchers: str = TARGETS) -> str:
    """Return the rate of a counter of the exporter's own, a second."""
    return f"rate({OWN}{counter}_total{{{matchers}}}[$__rate_interval])"


NOW = Row(
    "Now",
    [
        stat(
            "Replicas up",
            "Exporters that Prometheus can scrape, of those that were chosen.",
            f"sum(up{{{REPLICAS}}} and on (job, instance) {BUILT})",
            steps=((None, BAD), (1, GOOD)),
        ),
        stat(
            "Targets down",
            "Targets whose last poll did not succeed whole in any replica.",
            f"sum(1 - {UP})",
            steps=ALARMING,
        ),
        stat(
            "All targets",
            "Targets that are configured: an account, a region and a list each.",
            f"count({UP})",
        ),
        stat(
            "Never read",
            "Targets that no replica has read since it started.",
            f"count({UP} unless {AGE}) or 0 * count({UP})",
            steps=ALARMING,
        ),
        stat(
            "Oldest values",
            "How old the oldest list of nodes or runs is.",
            f'max(time() - max by ({TARGET}) ({UPDATED}{{collector=~"gpu_nodes|runs|run_nodes",'
            f" {TARGETS}}}))",
            unit="s",
            steps=AGES,
        ),
        stat(
            "Configuration",
            "Whether the configuration that was read last is in force.",
            f"min({OWN}config_last_reload_successful{{{REPLICAS}}})",
            unit="none",
            steps=SHARES,
            defaults={"mappings": [WORDS], "noValue": "no data"},
        ),
        stat(
            "Credentials expire",
            "When the first of the configured last days of keys ends.",
            f"1000 * min({OWN}credentials_expire_timestamp_seconds{{{REPLICAS}, {KEYS}}})",
            unit="dateTimeFromNow",
            defaults={"noValue": "not configured"},
        ),
        stat(
            "Version",
            "The versions of the exporter that run.",
            f"count by (version) ({OWN}build_info{{{REPLICAS}}})",
            text="name",
            legend="{{version}}",
        ),
    ],
)

DATA = Row(
    "Targets",
    [
        timeline(
            "Share of targets up",
            "The share of the targets of each account and region whose last poll succeeded whole.",
            Query(f"avg by ({PLACE}) ({UP})", "{{account}} {{environment}} {{region}}"),
            unit="percentunit",
            width=24,
            height=8,
            steps=((None, BAD), (0.001, WARN), (1, GOOD)),
            mappings=[],
        ),
        table(
            "Targets",
            f"Every target, {MOST} at most, those that are down first.",
            [
                Column("account", "Account", width=130),
                Column("environment", "Env", width=50),
                Column("region", "Region", width=90),
                Column("collector", "Collector"),
                Column("Value #A", "Up", "bool_yes_no", 60, steps=SHARES),
                Column("Value #B", "Age", "s", 90, steps=((None, GOOD), (1800, WARN), (3600, BAD))),
                Column("Value #C", "Interval", "s", 80),
                Column("Value #D", "Failures", "short", 80, steps=DOUBTFUL),
                Column("Value #E", "Objects", "short", 80),
            ],
            Query(LISTED),
            Query(listed(AGE)),
            Query(listed(f"max by ({TARGET}) ({OWN}target_interval_seconds{{{TARGETS}}})")),
            Query(listed(f"min by ({TARGET}) ({OWN}target_consecutive_failures{{{TARGETS}}})")),
            Query(listed(f"max by ({TARGET}) ({OWN}target_objects{{{TARGETS}}})")),
            width=14,
            height=10,
            sort="Up",
        ),
        lines(
            "Age of the values",
            "How old the oldest list of nodes or runs of each account and region is.",
            Query(
                f"max by ({PLACE}) (time() - max by ({TARGET})"
                f' ({UPDATED}{{collector=~"gpu_nodes|run_nodes", {TARGETS}}}))',
                NAME,
            ),
            unit="s",
            width=10,
            height=10,
            steps=AGES,
        ),
    ],
)

POLLS = Row(
    "Polls",
    [
        lines(
            "Poll durations",
            "The 95th percentile of how long polls take, with all their pages and retries.",
            Query(
                quantile("0.95", "poll_duration_seconds", ", provider, collector", REPLICAS),
                "{{collector}}",
            ),
            unit="s",
            width=8,
        ),
        lines(
            "Failed polls by reason",
            "Polls that did not succeed whole.",
            Query(f"sum by (reason) ({rate('poll_failures')}) > 0", "{{reason}}"),
            unit="ops",
            width=8,
        ),
        lines(
            "Records that were odd",
            "Fields left out for a bad value, records seen twice in one poll, and objects in a"
            " state that is not listed.",
            Query(f"sum({rate('invalid_records')})", "invalid"),
            Query(f"sum({rate('duplicate_records')})", "duplicate"),
            Query(f"sum({rate('unrecognized_values')})", "unrecognized"),
            unit="ops",
            width=8,
        ),
    ],
)

API = Row(
    "Calls of the clouds",
    [
        lines(
            "Latency by region",
            "The 95th percentile of how long an attempt to call the API takes.",
            Query(
                quantile(
                    "0.95",
                    "api_request_duration_seconds",
                    ", provider, account, environment, region",
                    TARGETS,
                ),
                NAME,
            ),
            unit="s",
            width=12,
        ),
        lines(
            "Attempts that failed, by region and code",
            "Every attempt counts; most are tried again in the same poll. `error` is one that"
            " brought no answer.",
            Query(
                f"sum by (account, region, code) ({rate('api_requests', NOT_2XX)}) > 0",
                NAME + " {{code}}",
            ),
            unit="reqps",
            width=12,
        ),
        lines(
            "Attempts by code",
            "All attempts to call the APIs.",
            Query(f"sum by (code) ({rate('api_requests')})", "{{code}}"),
            unit="reqps",
            width=8,
            stacked=True,
        ),
        lines(
            "Attempts for each poll",
            "How many attempts a poll takes: it grows with pages, and with retries.",
            Query(
                f"sum by ({PLACE}) ({rate('api_requests')})\n"
                f"/ (sum by ({PLACE}) ({rate('polls')}) > 0)",
                NAME,
            ),
            unit="short",
            width=8,
        ),
        lines(
            "Clock skew",
            "How far the cloud's clock and the exporter's are apart: at 5 minutes the clouds refuse"
            " every call.",
            Query(f"max by ({PLACE}) (abs({OWN}api_clock_skew_seconds{{{TARGETS}}}))", NAME),
            unit="s",
            width=8,
            steps=((None, GOOD), (60, WARN), (240, BAD)),
        ),
    ],
)

PROCESS = Row(
    "The process",
    [
        lines(
            "Page size",
            "The last page that was served, uncompressed. VictoriaMetrics refuses one over 16 MiB"
            " unless told otherwise.",
            Query(f"{OWN}exposition_bytes{{{REPLICAS}}}", "{{instance}}"),
            unit="bytes",
            width=6,
            steps=((None, GOOD), (12 * MIB, WARN), (16 * MIB, BAD)),
        ),
        lines(
            "Event loop lag",
            "The 99th percentile of how late the event loop wakes a task.",
            Query(
                quantile("0.99", "event_loop_lag_seconds", ", instance", REPLICAS), "{{instance}}"
            ),
            unit="s",
            width=6,
        ),
        lines(
            "Memory",
            "Resident memory of each replica.",
            Query(
                f"process_resident_memory_bytes{{{REPLICAS}}} and on (job, instance) {BUILT}",
                "{{instance}}",
            ),
            unit="bytes",
            width=6,
        ),
        lines(
            "Processor",
            "Share of one processor that each replica takes.",
            Query(
                f"rate(process_cpu_seconds_total{{{REPLICAS}}}[$__rate_interval])"
                f" and on (job, instance) {BUILT}",
                "{{instance}}",
            ),
            unit="percentunit",
            width=6,
        ),
    ],
)

HEALTH_BOARD = Board(
    uid="gpu-exporter",
    title="GPU clusters / Exporter health",
    description="Whether the exporter sees what it should, and what it costs.",
    variables=[
        variables.datasource(),
        *variables.places(),
        variables.job(),
        variables.instance(),
    ],
    rows=[NOW, DATA, POLLS, API, PROCESS],
    alerts=SCP,
)
