"""How the two clouds write a moment."""

import datetime as dt

from exporter.simulator.facts import Facts

SCP_FORMATS = {
    "zulu": "%Y-%m-%dT%H:%M:%SZ",
    "naive": "%Y-%m-%dT%H:%M:%S",
    "fraction": "%Y-%m-%dT%H:%M:%S.%fZ",
    "spaced": "%Y-%m-%d %H:%M:%S",
}
SPACED = "%Y-%m-%d %H:%M:%S"
KOREA = dt.timezone(dt.timedelta(hours=9))


def scp_time(facts: Facts, unix: float) -> str:
    """Write a time of a node, fabric or product."""
    return dt.datetime.fromtimestamp(unix, dt.UTC).strftime(SCP_FORMATS[facts.scp_times])


def image_time(unix: float) -> str:
    """Write a time of an image."""
    return dt.datetime.fromtimestamp(unix, dt.UTC).strftime(SPACED)


def run_time(facts: Facts, unix: float) -> str:
    """Write a time of a run or project: Korean time, though it doesn't say so."""
    zone = dt.UTC if facts.nsml_run_times == "utc" else KOREA
    return dt.datetime.fromtimestamp(unix, zone).strftime(SPACED)


def run_node_time(unix: float) -> str:
    """Write a time of a run's node: UTC, though it doesn't say so."""
    return dt.datetime.fromtimestamp(unix, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
