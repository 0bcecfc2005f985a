"""The alert rules say what they promise, of metrics that the exporter has."""

import re
from collections.abc import Iterator
from pathlib import Path

import promql_parser as promql
import pytest

from exporter.clouds.nsml import families as nsml
from exporter.clouds.outcomes import REASONS
from exporter.clouds.scp import families as scp
from exporter.config import ENVIRONMENTS
from exporter.sites import vocabularies
from exporter.telemetry import OWN
from recordings import rules
from recordings.rules import ALERTS, Rule, selectors

ROOT = Path(__file__).parents[2]
RUNBOOK = "https://github.com/gpu-cluster-exporter/gpu-cluster-exporter/blob/main/docs/runbooks/"
DASHBOARDS = ("gpu-fleet", "gpu-fabric", "gpu-node", "gpu-nsml-runs", "gpu-exporter")
VARIABLES = {"account", "environment", "region", "fabric", "node", "project", "run"}
CONTRACT = {
    "ScpGpuNodeFailed": "critical",
    "ScpGpuNodeVanished": "critical",
    "ScpGpuNodeStopped": "warning",
    "ScpGpuNodeStuck": "warning",
    "ScpGpuNodeStateUnlisted": "warning",
    "ScpGpuNodesUnlocked": "info",
    "ScpClusterFabricDown": "critical",
    "ScpClusterFabricDegraded": "warning",
    "ScpClusterFabricNotActive": "warning",
    "ScpClusterFabricCountMismatch": "warning",
    "ScpClusterFabricMixedServerTypes": "info",
    "ScpApiVersionDeprecated": "warning",
    "ScpApiVersionUnsupported": "critical",
    "NsmlRunNodeFailed": "critical",
    "NsmlRunDegraded": "critical",
    "NsmlRunWithoutNodes": "warning",
    "NsmlRunFailed": "warning",
    "GpuClusterExporterDown": "critical",
    "GpuClusterExporterTargetDown": "warning",
    "GpuClusterExporterBlind": "critical",
    "GpuClusterExporterCredentialsRefused": "critical",
    "GpuClusterExporterCredentialsExpire": "warning",
    "GpuClusterExporterPartialPolls": "warning",
    "GpuClusterExporterInvalidRecords": "warning",
    "GpuClusterExporterClockSkew": "warning",
    "GpuClusterExporterReloadFailed": "warning",
    "GpuClusterExporterLoopLag": "warning",
    "GpuClusterExporterPageTooLarge": "warning",
}
# What a Prometheus adds to a target's series.
SCRAPED = {"job", "instance", "pod"}

RULES = rules.read()
RECORDED = {rule.name for rule in RULES if not rule.alert}
each_alert = pytest.mark.parametrize(
    "alert", [rule for rule in RULES if rule.alert], ids=lambda rule: rule.name
)
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def exported() -> dict[str, set[str]]:
    """Return the labels of every metric that the rules may read from a page."""
    found = {
        family.name: {*target, *family.labels, *family.own_labels}
        for tables, target in (
            (scp.TABLES, ("account", "environment", "region")),
            (nsml.TABLES, ("account",)),
        )
        for table in tables
        for family in table.families
    }
    found |= {own.full_name: {*own.labels} for own in OWN}
    found |= {f"{own.full_name}_bucket": {*own.labels, "le"} for own in OWN if own.buckets}
    return {"up": set(), **found}


EXPORTED = exported()
LABELS = SCRAPED.union(*EXPORTED.values())


def values(label: str) -> set[str] | None:
    """Return the values that a label can have, where they are known."""
    states = {name for each in vocabularies().values() for name in each.listed}
    known = {
        "provider": {"scp", "nsml"},
        "collector": {
            *("gpu_nodes", "cluster_fabrics", "node_pools", "products", "images", "api_versions"),
            *("projects", "runs", "run_nodes"),
        },
        "environment": set(ENVIRONMENTS),
        "reason": set(REASONS),
        "requested": {"true", "false"},
        "status": {"CURRENT", "SUPPORTED", "DEPRECATED", "PLANNED"},
        # Those of the default terminal_run_states, and how a vanished node is told of and kept.
        "state": states
        | {"COMPLETED", "FAILED", "STOPPED", "CANCELED", "TERMINATED", "DELETED"}
        | {"VANISHED", "missing"},
        "job": {"gpu-cluster-exporter"},
    }
    return known.get(label)


def expressions(rule: Rule) -> Iterator[promql.Expr]:
    """Yield the expression of a rule, and those of the queries in its annotations."""
    yield rule.expr
    for text in rule.entry.get("annotations", {}).values():
        for query in re.findall(r"`([^`]*)`", text):
            yield promql.parse(query.replace("%q", '""'))


def aggregates(expr: promql.Expr) -> Iterator[promql.AggregateExpr]:
    """Yield the aggregations in an expression."""
    found: list[promql.Expr] = []
    promql.walk(expr, found.append)
    yield from (node for node in found if isinstance(node, promql.AggregateExpr))


def grouped(expr: promql.Expr) -> Iterator[str]:
    """Yield the labels that an expression groups or matches by."""
    found: list[promql.Expr] = []
    promql.walk(expr, found.append)
    for node in found:
        if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
            yield from node.modifier.labels
        if isinstance(node, promql.BinaryExpr) and node.modifier and node.modifier.matching:
            yield from node.modifier.matching.labels


def test_the_alerts_are_those_that_runbooks_and_routes_rely_on() -> None:
    """No alert more, none less, each with its severity."""
    found = {rule.name: rule.entry["labels"]["severity"] for rule in RULES if rule.alert}
    assert found == CONTRACT


@each_rule
def test_a_rule_names_only_metrics_that_there_are(rule: Rule) -> None:
    """A metric is the exporter's, or is recorded by another rule; each has the labels asked for."""
    for expr in expressions(rule):
        for name, matchers in selectors(expr):
            assert name in EXPORTED or name in RECORDED
            allowed = EXPORTED[name] | SCRAPED if name in EXPORTED else LABELS
            assert {matcher.name for matcher in matchers} <= allowed, name


def read_from_a_page(expr: promql.Expr) -> bool:
    """Return whether some of an expression is not what another rule recorded."""
    return any(name in EXPORTED for name, _ in selectors(expr))


@each_rule
def test_labels_of_a_site_end_where_a_page_is_read(rule: Rule) -> None:
    """What is read is aggregated by the exporter's own labels: replicas may differ in others."""
    for expr in expressions(rule):
        for aggregate in aggregates(expr):
            modifier = aggregate.modifier
            without = modifier is not None and modifier.type == promql.AggModifierType.Without
            assert not without or not read_from_a_page(aggregate.expr), rule.name


@each_rule
def test_a_rule_asks_only_for_values_that_there_are(rule: Rule) -> None:
    """Where a label has known values, those that a rule selects or excludes are among them."""
    for expr in expressions(rule):
        for _, matchers in selectors(expr):
            for matcher in matchers:
                known = values(matcher.name)
                asked = set(filter(None, matcher.value.split("|")))
                assert known is None or asked <= known, matcher


@each_rule
def test_a_rule_groups_and_matches_by_labels_that_there_are(rule: Rule) -> None:
    """A label that was renamed in the exporter does not live on in a rule."""
    for expr in expressions(rule):
        assert set(grouped(expr)) <= LABELS


def test_all_node_states_are_listed_where_unlisted_ones_are_meant() -> None:
    """The alert on unlisted states excludes exactly the states that the API documents."""
    [rule] = [each for each in RULES if each.name == "ScpGpuNodeStateUnlisted"]
    [excluded] = [
        set(matcher.value.split("|"))
        for _, matchers in selectors(rule.expr)
        for matcher in matchers
        if matcher.op == promql.MatchOp.NotRe
    ]
    assert excluded == set(scp.NODE_STATES)


@each_alert
def test_an_alert_has_all_its_annotations(alert: Rule) -> None:
    """Summary, description, runbook and dashboard, and nothing that nobody reads."""
    annotations = alert.entry["annotations"]
    assert list(annotations) == ["summary", "description", "runbook_url", "dashboard_url"]
    assert annotations["description"].endswith(".")
    assert not annotations["summary"].endswith(".")


@each_alert
def test_an_alert_links_a_runbook_that_exists(alert: Rule) -> None:
    """The runbook is the page of the alert's own name."""
    assert alert.entry["annotations"]["runbook_url"] == f"{RUNBOOK}{alert.name}.md"
    assert (ROOT / "docs" / "runbooks" / f"{alert.name}.md").is_file()


@each_alert
def test_an_alert_links_a_dashboard_that_exists(alert: Rule) -> None:
    """The link opens a bundled dashboard, and sets no variable that none has."""
    url = alert.entry["annotations"]["dashboard_url"]
    path, _, query = url.partition("?")
    assert path.removeprefix("/d/") in DASHBOARDS
    assert set(re.findall(r"var-(\w+)=", query)) <= VARIABLES


def test_every_threshold_has_one_place() -> None:
    """All that the rules compare with is defined in one file, and nothing there is idle."""
    defined = {rule.name for rule in RULES if rule.file == "thresholds.yml"}
    used = {name for rule in RULES for name, _ in selectors(rule.expr) if "threshold:" in name}
    assert used == defined


def test_the_job_is_named_in_one_place() -> None:
    """A site that scrapes under another job's name changes one line."""
    texts = [(ALERTS / file).read_text() for file in rules.FILES]
    assert sum(text.count('job="') for text in texts) == 1


def test_alerts_on_objects_wait_for_polls_and_not_for_time() -> None:
    """A `for` goes on counting in an outage: only the exporter's own alerts have one."""
    waiting = {rule.file for rule in RULES if rule.alert and "for" in rule.entry}
    assert waiting <= {"exporter.yml"}
    assert not any("keep_firing_for" in rule.entry for rule in RULES)


def test_a_recording_rule_that_reads_itself_is_of_the_alerts_own_group() -> None:
    """What carries itself on is evaluated with what it depends on, at one and the same moment."""
    for rule in RULES:
        for name, _ in selectors(rule.expr):
            files = {each.file for each in RULES if each.name == name}
            assert files <= {rule.file, "thresholds.yml"}, (rule.name, name)
