"""Holds a page of /metrics against the truth.

A value is right when it was the truth at some instant within the poll that saw the object,
or, after a partial poll, within the time for which values are kept; an absence likewise.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from drill.truth import Labels, Lies, Window, objects_of, states_within
from exporter.simulator.truth import TrueObject, Truth

PREFIX = "gpu_cluster_exporter_target_"
COLLECTORS = {
    "scp_gpu_node_state": ("gpu_nodes", ("gpu_node_id",)),
    "scp_cluster_fabric_state": ("cluster_fabrics", ("cluster_fabric_id",)),
    "nsml_run_state": ("runs", ("project_id", "run_name")),
    "nsml_run_node_state": ("run_nodes", ("project_id", "run_name", "node_id")),
}
ALWAYS_LISTED = ("scp_gpu_node_state", "scp_cluster_fabric_state")
"""The families whose objects are shown for as long as they exist: runs go after a time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the drill's configuration says of time, in seconds."""

    timeout: float
    stale_after: float


@dataclass(slots=True)
class Findings:
    """What was seen on the pages that should not be there."""

    pages: int = 0
    values: int = 0
    wrong: list[str] = field(default_factory=list)
    false_zeros: list[str] = field(default_factory=list)
    failed_scrapes: list[str] = field(default_factory=list)


class PageView:
    """A page, read once."""

    def __init__(self, text: str) -> None:
        self._families = {
            family.name: family.samples for family in text_string_to_metric_families(text)
        }

    def _samples(self, family: str) -> list[Sample]:
        return self._families.get(family, [])

    def target(self, name: str, place: str, collector: str) -> float | None:
        """Return a value of one target's own series."""
        environment, region = place.split("/") if "/" in place else ("", "")
        wanted = {"environment": environment, "region": region, "collector": collector}
        for sample in self._samples(PREFIX + name):
            if wanted.items() <= sample.labels.items():
                return float(sample.value)
        return None

    def current(self, family: str) -> Iterator[tuple[str, Labels, str]]:
        """Yield place, ids and state of each series that is 1."""
        _, ids = COLLECTORS[family]
        for sample in self._samples(family):
            if sample.value == 1:
                labels = sample.labels
                place = f"{labels['environment']}/{labels['region']}" if "region" in labels else ""
                yield place or "nsml", tuple(labels[name] for name in ids), labels["state"]

    def total(self, family: str, place: str) -> float:
        """Return the sum of a count family in one region."""
        environment, region = place.split("/")
        return sum(
            sample.value
            for sample in self._samples(family)
            if (sample.labels["environment"], sample.labels["region"]) == (environment, region)
        )


def check(
    text: str, truth: Truth, at: float, lies: Lies, limits: Limits, findings: Findings
) -> None:
    """Hold a page that was asked for and answered by the Unix time `at` against the truth."""
    page = PageView(text)
    findings.pages += 1
    for family, objects in objects_of(truth).items():
        by_place: defaultdict[str, dict[Labels, str]] = defaultdict(dict)
        for place, ids, state in page.current(family):
            if ids in by_place[place]:
                findings.wrong.append(f"{family} {ids}: two states are 1")
            by_place[place][ids] = state
        for place in {place for place, _ in objects}:
            known = {ids: thing for (there, ids), thing in objects.items() if there == place}
            _check_place(page, family, place, known, by_place[place], at, lies, limits, findings)


def _check_place(
    page: PageView,
    family: str,
    place: str,
    known: Mapping[Labels, TrueObject],
    shown: Mapping[Labels, str],
    at: float,
    lies: Lies,
    limits: Limits,
    findings: Findings,
) -> None:
    collector, _ = COLLECTORS[family]
    updated = page.target("last_update_timestamp_seconds", place, collector)
    succeeded = page.target("last_success_timestamp_seconds", place, collector)
    if updated is None:
        if shown:
            findings.wrong.append(f"{family} {place}: shown before any poll")
        return
    kept = limits.stale_after + limits.timeout + 1.0
    if at - updated > kept + limits.timeout and shown:
        findings.wrong.append(f"{family} {place}: shown {at - updated:.1f} s after the last poll")
    whole = updated == succeeded
    window = Window(updated if whole else at - kept - limits.timeout, at)
    if lies.within(place, Window(window.start - kept, at)):
        return
    for ids, state in shown.items():
        findings.values += 1
        allowed = states_within(known[ids].history, window) if ids in known else {None}
        if state not in allowed:
            findings.wrong.append(f"{family} {place} {ids}: {state}, true were {allowed}")
    up = page.target("up", place, collector)
    if family in ALWAYS_LISTED and whole and up and at - updated < limits.stale_after:
        _check_absent(family, place, known, shown, window, findings)
        if family == "scp_gpu_node_state":
            _check_zero(page, place, known, window, findings)


def _check_absent(
    family: str,
    place: str,
    known: Mapping[Labels, TrueObject],
    shown: Mapping[Labels, str],
    window: Window,
    findings: Findings,
) -> None:
    for ids, thing in known.items():
        if ids not in shown and None not in states_within(thing.history, window):
            findings.wrong.append(f"{family} {place} {ids}: missing")


def _check_zero(
    page: PageView,
    place: str,
    known: Mapping[Labels, TrueObject],
    window: Window,
    findings: Findings,
) -> None:
    lasting = [
        thing for thing in known.values() if None not in states_within(thing.history, window)
    ]
    if lasting and not page.total("scp_gpu_nodes", place):
        findings.false_zeros.append(place)
