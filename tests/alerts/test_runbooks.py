"""Every alert has a runbook, all are built alike, and what they tell to ask can be asked."""

import functools
import json
import re
import subprocess
from pathlib import Path

import promql_parser
import pytest

from exporter.clouds.nsml import families as nsml
from exporter.clouds.scp import families as scp
from exporter.sites import vocabularies
from exporter.telemetry import OWN
from recordings import rules
from tests.alerts.runbooks import PLACEHOLDER, RUNBOOKS, blocks, queries

HEADINGS = [
    "What it means",
    "What it costs",
    "How to look",
    "What to do",
    "When it is false",
]
LINK = re.compile(r"\]\(([^)#]+)\)")
SCRAPED = ("job", "instance", "pod")
# What the scraper itself, and the client library, add to the exporter's own.
OTHERS = re.compile(r"up|scrape_\w+|process_\w+")

each_runbook = pytest.mark.parametrize("runbook", RUNBOOKS, ids=lambda path: path.stem)


def exported() -> dict[str, set[str]]:
    """Return the labels of every metric that the exporter has, as they are scraped."""
    found = {own.full_name: {*own.labels} for own in OWN}
    for own in OWN:
        found |= {own.full_name + suffix: {*own.labels, "le"} for suffix in ("_bucket",)}
        found |= {own.full_name + suffix: {*own.labels} for suffix in ("_sum", "_count")}
    targets = ((scp.TABLES, {"account", "environment", "region"}), (nsml.TABLES, {"account"}))
    for tables, target in targets:
        for family in (family for table in tables for family in table.families):
            found[family.name] = {*family.labels, *family.own_labels, *target}
    return {name: {*labels, *SCRAPED} for name, labels in found.items()}


@functools.cache
def severities() -> dict[str, str]:
    """Return the severity of each alert, by its name."""
    return {rule.name: rule.entry["labels"]["severity"] for rule in rules.read() if rule.alert}


@functools.cache
def recorded() -> set[str]:
    """Return the names of the recording rules."""
    return {rule.name for rule in rules.read() if not rule.alert}


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    """The files are named as the alerts are."""
    assert [path.stem for path in RUNBOOKS] == sorted(severities())


@each_runbook
def test_a_runbook_begins_with_name_and_severity(runbook: Path) -> None:
    """The title is the alert's name, and the first word its severity."""
    title, blank, first = runbook.read_text().splitlines()[:3]
    assert (title, blank) == (f"# {runbook.stem}", "")
    assert first.startswith(f"{severities()[runbook.stem].capitalize()}. ")


@each_runbook
def test_runbooks_have_the_same_five_headings(runbook: Path) -> None:
    """A person woken at night finds the same things in the same order, none of them empty."""
    sections = re.split(r"^## (.+)$", runbook.read_text(), flags=re.MULTILINE)[1:]
    assert sections[::2] == HEADINGS
    assert all(text.strip() for text in sections[1::2])


@each_runbook
def test_runbooks_tell_how_to_look(runbook: Path) -> None:
    """By a query, and by a command that is not one line of Prometheus."""
    assert blocks(runbook, "promql")
    assert blocks(runbook, "sh")


@each_runbook
def test_links_of_runbooks_lead_somewhere(runbook: Path) -> None:
    """Each link to another file of the repository names one that is there."""
    links = LINK.findall(runbook.read_text())
    assert [link for link in links if not (runbook.parent / link).exists()] == []


@each_runbook
def test_queries_of_runbooks_read_what_the_exporter_has(runbook: Path) -> None:
    """Each metric exists, with each label that it is selected by, or a rule records it."""
    known = exported()
    for query in blocks(runbook, "promql"):
        for name, matchers in rules.selectors(promql_parser.parse(query)):
            if name in known:
                assert {matcher.name for matcher in matchers} <= known[name], query
            else:
                assert not name or name in recorded() or OTHERS.fullmatch(name), query


def test_what_stands_in_capitals_is_replaced_by_a_label() -> None:
    """No value of a query is in capitals but for placeholders and states."""
    states = {state for known in vocabularies().values() for state in known.listed}
    for query in queries():
        for word in re.findall(r'="([A-Z_]+)"', query):
            assert word in states or PLACEHOLDER.fullmatch(f'"{word}"'), query


@pytest.mark.tool("promtool")
def test_prometheus_itself_can_read_the_queries(tool: str, tmp_path: Path) -> None:
    """As rules, they pass the check of Prometheus."""
    made = [{"record": f"runbook:{n}", "expr": query} for n, query in enumerate(queries())]
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": made}]}))
    done = subprocess.run(  # noqa: S603 - the tool that was found
        [tool, "check", "rules", str(file)], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"{len(made)} rules found" in done.stdout
