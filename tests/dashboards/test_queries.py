"""Every query is PromQL, and names only metrics and labels that the exporter has."""

import re
from functools import cache

import promql_parser as promql
from prometheus_client import Histogram

from exporter.clouds.nsml import families as nsml
from exporter.clouds.scp import families as scp
from exporter.sites import FAMILIES
from exporter.telemetry import OWN, Telemetry
from tests.dashboards.files import all_queries

QUERIES = dict(all_queries())
SCRAPE = {"job", "instance", "pod"}
OF_PROMETHEUS = {
    "up": set[str](),
    # The labels of the alerts that the annotations tell of.
    "ALERTS": {
        "alertname", "alertstate", "severity", "provider", "account", "environment", "region",
        "cluster_fabric_id", "gpu_node_id", "project_id", "run_name",
    },
}  # fmt: skip
_MAX = re.compile(r"max (?:without|by) \([\w, ]+\) \(")
_MACROS = re.compile(r"\$__\w+")


def known() -> dict[str, set[str]]:
    """Return every metric that a query may name, with its labels, from the exporter's tables."""
    targets = ((scp.TABLES, ("account", "environment", "region")), (nsml.TABLES, ("account",)))
    found = {
        family.name: {*target, *family.labels, *family.own_labels}
        for tables, target in targets
        for table in tables
        for family in table.families
    }
    assert found.keys() == {family.name for family in FAMILIES}
    for own in OWN:
        suffix, more = ("_bucket", {"le"}) if own.kind is Histogram else ("", set())
        found[own.full_name + suffix] = {*own.labels, *more}
    for metric in Telemetry().process.collect():
        found |= {sample.name: set(sample.labels) for sample in metric.samples}
    return found | OF_PROMETHEUS


KNOWN = known()


def parsed(query: str) -> promql.Expr:
    """Parse a query as Grafana would send it; what is chosen makes no difference to it."""
    return promql.parse(_MACROS.sub("1m", query))


def nodes(query: str) -> list[promql.Expr]:
    """Return all parts of a query."""
    found: list[promql.Expr] = []
    promql.walk(parsed(query), found.append)
    return found


@cache
def selectors(query: str) -> dict[str, set[str]]:
    """Return the metrics that a query selects, each with the labels that it matches."""
    found: dict[str, set[str]] = {}
    for node in nodes(query):
        selector = node.vector_selector if isinstance(node, promql.MatrixSelector) else node
        if isinstance(selector, promql.VectorSelector):
            matched = found.setdefault(selector.name or "", set())
            matched |= {matcher.name for matcher in selector.matchers.matchers}
    return found


def grouped(query: str) -> set[str]:
    """Return the labels that a query groups, joins or takes along by."""
    lists = re.findall(r"\b(?:by|on|without|group_left|group_right) \(([a-z_, ]*)\)", query)
    return {label for labels in lists for label in labels.split(", ") if label}


def made(query: str) -> set[str]:
    """Return the labels that a query itself makes."""
    calls = [node for node in nodes(query) if isinstance(node, promql.Call)]
    return {call.args[1].val for call in calls if call.func.name in {"label_replace", "label_join"}}


def test_every_metric_and_matcher_is_of_the_exporter() -> None:
    """A selector names a metric that exists, and matches labels that it has."""
    for name, query in QUERIES.items():
        assert selectors(query), name
        for metric, labels in selectors(query).items():
            assert metric in KNOWN, name
            assert labels <= KNOWN[metric] | SCRAPE, name


def test_every_label_of_a_join_is_of_one_of_its_metrics() -> None:
    """What a query groups or joins by, some metric in it has, or the query itself makes."""
    for name, query in QUERIES.items():
        metrics = (KNOWN[metric] for metric in selectors(query))
        assert grouped(query) <= SCRAPE.union(made(query), *metrics), name


def test_a_query_never_sums_over_replicas() -> None:
    """Objects are counted only within a `max`, which leaves one replica of what it looks at."""
    of_clouds = {family.name for family in FAMILIES}
    for name, query in QUERIES.items():
        if "$" in name:  # a variable's choices are no numbers
            continue
        for metric in of_clouds & selectors(query).keys():
            bare = query
            while (inner := _MAX.search(bare)) is not None:
                bare = bare[: inner.start()] + bare[_closing(bare, inner.end()) :]
            # What is left over stands only where it says that there is anything to count.
            assert metric not in re.sub(r"0 \* count\(\w+\{[^}]*\}\)", "", bare), name


def _closing(text: str, start: int) -> int:
    """Return where the parenthesis ends that was opened just before a place."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place + 1
    raise ValueError("a parenthesis is not closed")


def test_a_misspelt_metric_or_label_would_be_found() -> None:
    """The tables are the exporter's own, and the parser sees within joins and aggregations."""
    found = selectors(
        'sum by (x) (scp_gpu_nodes{a="b"} * on (y) group_left () rate(up{c="d"}[1m]))'
    )
    assert found == {"scp_gpu_nodes": {"a"}, "up": {"c"}}
    assert grouped("sum by (x, z) (a * on (y) group_left () b)") == {"x", "y", "z"}
    assert "scp_gpu_node" not in KNOWN
    assert "state" not in KNOWN["scp_gpu_node_info"]
