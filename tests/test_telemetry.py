"""The exporter's own metrics: which series there are from the start, and what changes them."""

from collections.abc import Iterator

import pytest
from prometheus_client import Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strictly
from prometheus_client.parser import text_string_to_metric_families

from exporter import __version__
from exporter.clouds.outcomes import REASONS
from exporter.exposition import Exposition
from exporter.negotiation import OPENMETRICS, TEXT
from exporter.snapshots import Snapshots, TargetId
from exporter.telemetry import OWN, PREFIX, TargetTelemetry, Telemetry

WEST = TargetId("scp", "prod", "e", "kr-west1", "gpu_nodes")
EAST = TargetId("scp", "prod", "e", "kr-east1", "gpu_nodes")
FABRICS = TargetId("scp", "prod", "e", "kr-west1", "cluster_fabrics")
RUNS = TargetId("nsml", "research", "", "", "runs")

Series = dict[tuple[tuple[str, str], ...], float]


@pytest.fixture
def telemetry() -> Telemetry:
    """Give metrics in which nothing has happened yet."""
    return Telemetry("abc123")


@pytest.fixture
def west(telemetry: Telemetry) -> TargetTelemetry:
    """Give the metrics of one target."""
    return telemetry.target(WEST, 30.0)


def page(telemetry: Telemetry, content_type: str = TEXT, *, process: bool = False) -> str:
    """Return the page as of now, with no objects on it."""
    exposition = Exposition((), Snapshots(), telemetry)
    return exposition.page(0.0, content_type, process=process).body.decode()


def samples(telemetry: Telemetry) -> Iterator[tuple[str, dict[str, str], float]]:
    """Yield all samples of the page."""
    for family in text_string_to_metric_families(page(telemetry)):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def series(telemetry: Telemetry, name: str) -> Series:
    """Return the series of a name by their labels."""
    return {
        tuple(labels.items()): value
        for found, labels, value in samples(telemetry)
        if found == PREFIX + name
    }


def value(telemetry: Telemetry, name: str, target: TargetId, **more: str) -> float | None:
    """Return a target's series of a name, or None."""
    labels = {**target.labels, **more}
    return series(telemetry, name).get(tuple(sorted(labels.items())))


def names_of(telemetry: Telemetry, target: TargetId) -> set[str]:
    """Return the names of all samples that have the target's labels."""
    return {
        name.removeprefix(PREFIX)
        for name, labels, _ in samples(telemetry)
        if labels.items() >= target.labels.items()
    }


def test_build_info_names_what_runs(telemetry: Telemetry) -> None:
    """Version and revision are labels of a series that is 1."""
    ((labels, number),) = series(telemetry, "build_info").items()

    assert number == 1.0
    assert dict(labels)["version"] == __version__
    assert dict(labels)["revision"] == "abc123"
    assert dict(labels).keys() == {"version", "revision", "python_version"}


def test_target_series_exist_from_the_start(telemetry: Telemetry) -> None:
    """Before its first poll a target has its gauges and counters, and no timestamps."""
    telemetry.target(WEST, 30.0)

    assert names_of(telemetry, WEST) == {
        "target_up",
        "target_interval_seconds",
        "target_consecutive_failures",
        "target_objects",
        "polls_total",
        "poll_failures_total",
        "invalid_records_total",
        "duplicate_records_total",
        "unrecognized_values_total",
    }
    assert value(telemetry, "target_interval_seconds", WEST) == 30.0
    zeros = names_of(telemetry, WEST) - {"target_interval_seconds", "poll_failures_total"}
    assert {value(telemetry, name, WEST) for name in zeros} == {0.0}


def test_every_reason_has_a_failure_counter_from_the_start(telemetry: Telemetry) -> None:
    """An alert on a rate of failures sees a target's first failure, whatever its reason."""
    telemetry.target(WEST, 30.0)

    assert REASONS == (
        "auth", "forbidden", "not_found", "rate_limited", "timeout", "connection", "tls",
        "bad_request", "server_error", "bad_response", "partial", "internal",
    )  # fmt: skip
    for reason in REASONS:
        assert value(telemetry, "poll_failures_total", WEST, reason=reason) == 0.0


def test_poll_durations_exist_from_the_start(telemetry: Telemetry) -> None:
    """The histogram of a kind of target is there, empty, before any poll has ended."""
    telemetry.target(WEST, 30.0)
    telemetry.target(EAST, 30.0)

    counts = series(telemetry, "poll_duration_seconds_count")
    assert counts == {(("collector", "gpu_nodes"), ("provider", "scp")): 0.0}


def test_target_that_is_known_goes_on(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """A target that is built anew, by a reload, keeps its values and takes its new interval."""
    west.succeeded(1_700_000_000.0, 7, None)
    west.ended(1.0, 0)

    telemetry.target(WEST, 60.0)

    assert value(telemetry, "target_up", WEST) == 1.0
    assert value(telemetry, "target_objects", WEST) == 7.0
    assert value(telemetry, "polls_total", WEST) == 1.0
    assert value(telemetry, "target_interval_seconds", WEST) == 60.0


def test_success_is_told(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """A whole poll sets up, its times, its objects, and counts as a poll that took so long."""
    west.began(1_700_000_000.0)
    west.updated(1_700_000_000.0)
    west.succeeded(1_700_000_000.0, 3, 4)
    west.ended(0.3, 0)

    for name in ("last_attempt", "last_success", "last_update"):
        assert value(telemetry, f"target_{name}_timestamp_seconds", WEST) == 1_700_000_000.0
    assert value(telemetry, "target_up", WEST) == 1.0
    assert value(telemetry, "target_objects", WEST) == 3.0
    assert value(telemetry, "target_reported_objects", WEST) == 4.0
    assert value(telemetry, "polls_total", WEST) == 1.0
    assert list(series(telemetry, "poll_duration_seconds_sum").values()) == [0.3]


def test_empty_list_is_zero_objects(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """A list that is truly empty, and said to be, is 0 in both."""
    west.succeeded(1_700_000_000.0, 0, 0)

    assert value(telemetry, "target_objects", WEST) == 0.0
    assert value(telemetry, "target_reported_objects", WEST) == 0.0


def test_claimed_total_goes_when_it_is_claimed_no_more(
    telemetry: Telemetry, west: TargetTelemetry
) -> None:
    """The API's own total has a series only while it claims one, also if it never did."""
    west.succeeded(1.0, 3, None)
    west.succeeded(2.0, 3, 4)
    assert value(telemetry, "target_reported_objects", WEST) == 4.0

    west.succeeded(3.0, 3, None)
    assert value(telemetry, "target_reported_objects", WEST) is None


def test_failure_is_told(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """A failed poll takes up to 0 and counts its reason; what was seen before stays."""
    west.succeeded(1_700_000_000.0, 3, 3)
    west.failed("auth")
    west.ended(2.0, 1)

    assert value(telemetry, "target_up", WEST) == 0.0
    assert value(telemetry, "target_objects", WEST) == 3.0
    assert value(telemetry, "target_last_success_timestamp_seconds", WEST) == 1_700_000_000.0
    assert value(telemetry, "target_consecutive_failures", WEST) == 1.0
    failures = series(telemetry, "poll_failures_total")
    assert {dict(labels)["reason"] for labels, count in failures.items() if count} == {"auth"}


def test_odd_records_are_counted(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """What was left out, dropped or not listed adds up over polls."""
    west.counted(invalid=1, duplicates=2, unrecognized=3)
    west.counted(invalid=10, duplicates=20, unrecognized=30)

    assert value(telemetry, "invalid_records_total", WEST) == 11.0
    assert value(telemetry, "duplicate_records_total", WEST) == 22.0
    assert value(telemetry, "unrecognized_values_total", WEST) == 33.0


def test_every_attempt_counts(telemetry: Telemetry) -> None:
    """Requests are counted by path and status, and timed by path, per account and region."""
    requests = telemetry.requests("scp", "prod", "e", "kr-west1")
    for code in ("200", "500", "200", "error"):
        requests.request("/v1/gpu-nodes", code, 0.2)

    counts = series(telemetry, "api_requests_total")
    assert {dict(labels)["code"]: count for labels, count in counts.items()} == {
        "200": 2.0,
        "500": 1.0,
        "error": 1.0,
    }
    ((labels, count),) = series(telemetry, "api_request_duration_seconds_count").items()
    assert count == 4.0
    assert dict(labels) == {
        "provider": "scp", "account": "prod", "environment": "e", "region": "kr-west1",
        "path": "/v1/gpu-nodes",
    }  # fmt: skip


def test_clock_skew_is_the_last_one(telemetry: Telemetry) -> None:
    """The skew of a region is that of its last answer, behind or ahead."""
    requests = telemetry.requests("nsml", "research", "", "")
    requests.skew(-40.0)
    requests.skew(2.5)

    assert list(series(telemetry, "api_clock_skew_seconds").values()) == [2.5]


def test_forgotten_target_leaves_nothing(telemetry: Telemetry) -> None:
    """A target that is configured no more takes its series along, and no others'."""
    for target in (WEST, EAST, FABRICS, RUNS):
        metrics = telemetry.target(target, 30.0)
        metrics.began(1.0)
        metrics.updated(1.0)
        metrics.succeeded(1.0, 1, 1)
    others = [names_of(telemetry, target) for target in (EAST, FABRICS, RUNS)]

    telemetry.keep([EAST, FABRICS, RUNS])

    assert names_of(telemetry, WEST) == set()
    registered = generate_latest(telemetry.registry).decode()
    assert (
        'collector="gpu_nodes",environment="e",provider="scp",region="kr-west1"' not in registered
    )
    assert [names_of(telemetry, target) for target in (EAST, FABRICS, RUNS)] == others


def test_forgotten_region_leaves_nothing(telemetry: Telemetry) -> None:
    """A region of which no target is configured takes its requests' series along."""
    for target in (WEST, FABRICS, EAST):
        requests = telemetry.requests("scp", "prod", "e", target.region)
        requests.request("/v1/gpu-nodes", "200", 0.1)
        requests.skew(0.0)
        telemetry.target(target, 30.0)

    telemetry.keep([EAST])

    regions = {labels.get("region") for _, labels, _ in samples(telemetry)}
    assert regions == {None, "kr-east1"}


def test_durations_go_with_the_last_target_of_their_kind(telemetry: Telemetry) -> None:
    """The histogram of a kind of target lasts as long as any target of that kind."""
    for target in (WEST, EAST, RUNS):
        telemetry.target(target, 30.0)

    def kinds() -> set[str]:
        found = series(telemetry, "poll_duration_seconds_count")
        return {dict(labels)["collector"] for labels in found}

    telemetry.keep([EAST, RUNS])
    assert kinds() == {"gpu_nodes", "runs"}
    telemetry.keep([EAST])
    assert kinds() == {"gpu_nodes"}


def test_target_that_returns_begins_anew(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """A target that was taken away and configured again knows nothing of before."""
    west.succeeded(1.0, 3, 3)
    telemetry.keep([])
    telemetry.target(WEST, 30.0)

    assert value(telemetry, "target_up", WEST) == 0.0
    assert value(telemetry, "target_reported_objects", WEST) is None


def test_lines_written_ahead_are_those_of_the_page(telemetry: Telemetry) -> None:
    """What was written at the end of a poll is shown, and so is what changed after that."""
    requests = telemetry.requests("scp", "prod", "e", "kr-west1")
    west = telemetry.target(WEST, 30.0)
    west.succeeded(1.0, 3, None)
    requests.skew(1.0)
    west.write()
    assert value(telemetry, "target_objects", WEST) == 3.0

    west.succeeded(2.0, 4, 5)
    requests.skew(2.0)
    assert value(telemetry, "target_objects", WEST) == 4.0
    assert value(telemetry, "target_reported_objects", WEST) == 5.0
    assert list(series(telemetry, "api_clock_skew_seconds").values()) == [2.0]


def test_target_without_requests_can_be_written(telemetry: Telemetry) -> None:
    """A target whose account has no requests to tell of is written all the same."""
    west = telemetry.target(WEST, 30.0)
    west.failed("internal")
    west.write()

    assert value(telemetry, "poll_failures_total", WEST, reason="internal") == 1.0


def test_counters_and_histograms_have_no_created_series(
    telemetry: Telemetry, west: TargetTelemetry
) -> None:
    """A page holds no `_created` series: they double its counters and are read by nobody."""
    west.ended(1.0, 0)

    assert not [name for name, _, _ in samples(telemetry) if name.endswith("_created")]


def test_own_metrics_pass_the_strict_parser(telemetry: Telemetry, west: TargetTelemetry) -> None:
    """In OpenMetrics every family has the type of its table, under the name that it wants."""
    west.succeeded(1.0, 1, 1)
    west.ended(1.0, 0)
    telemetry.requests("scp", "prod", "e", "kr-west1").request("/v1/gpu-nodes", "200", 0.1)
    telemetry.requests("scp", "prod", "e", "kr-west1").skew(0.1)
    telemetry["credentials_expire_timestamp_seconds"].labels("scp", "prod", "e").set(1.0)
    west.began(1.0)
    west.updated(1.0)
    kinds = {"gauge": Gauge, "counter": Counter, "histogram": Histogram}

    text = page(telemetry, OPENMETRICS)
    found = {family.name: family.type for family in strictly(text)}  # type: ignore[no-untyped-call]  # it is untyped

    assert {name: kinds[kind] for name, kind in found.items()} == {
        PREFIX + own.name: own.kind for own in OWN
    }


def test_headers_are_those_of_the_client_library(telemetry: Telemetry) -> None:
    """HELP and TYPE of each family are what the client library would write, in both formats."""
    telemetry.requests("scp", "prod", "e", "kr-west1")
    telemetry.target(WEST, 30.0)
    text = generate_latest(telemetry.registry).decode()
    openmetrics = generate_openmetrics(telemetry.registry).decode()  # type: ignore[no-untyped-call]  # it is untyped

    for own in OWN:
        assert own.header in text
        assert own.openmetrics_header in openmetrics


def test_process_metrics_are_apart(telemetry: Telemetry) -> None:
    """What the client library tells of the process can be left off a page."""
    own, whole = page(telemetry), page(telemetry, process=True)

    assert whole.startswith(own)
    rest = whole.removeprefix(own)
    assert "\npython_info{" in rest
    assert "\nprocess_resident_memory_bytes " in rest
    assert "process_" not in own
