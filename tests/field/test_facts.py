"""What the vendors leave unsaid: the true fleet is seen whatever is the case."""

import re
from typing import get_args

import pytest

from exporter.simulator.facts import Facts
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.run_lifecycle import RunLifecycle
from exporter.simulator.server import Simulator
from exporter.simulator.truth import TrueObject
from tests.clocks import START_WALL
from tests.field.conftest import ONE_REGION, Open
from tests.field.rig import Field, labels_of

CHOICES = [
    (name, choice)
    for name, info in Facts.model_fields.items()
    for choice in get_args(info.annotation)
    if choice != info.default or name == "scp_count"
]
"""Every choice of every fact; the defaults, which are one and the same fleet, once."""

NINE_HOURS = 32_400.0
_SEEN: dict[str, list[str]] = {}


async def live(field: Field) -> None:
    """Let things happen between two polls: a node fails, one goes, a run ends, one begins."""
    world, drills = field.simulator.world, field.simulator.drills
    region = world.regions[ONE_REGION[0]]
    Lifecycle(world, region).terminate([list(region.nodes.values())[-1]])
    drills.fail_node()
    drills.end_run()
    field.simulator.advance(25.0)
    RunLifecycle(world).start(next(iter(world.projects.values())), 3)
    await field.pass_time(31)


async def seen_with(field_of: Open, **facts: str) -> tuple[list[str], Simulator]:
    """Return the objects' lines of two polls of a fleet that is always the same."""
    chosen = Facts.model_validate(facts)
    async with field_of(26, facts=chosen, clock=lambda: START_WALL) as field:
        await field.start(nsml=True, polling="interval: 30s, catalog_interval: 30s")
        await live(field)
        return await field.objects(), field.simulator


async def seen_by_default(field_of: Open) -> list[str]:
    """Return the lines of the clouds as their pages describe them."""
    if not _SEEN:
        _SEEN["lines"], _ = await seen_with(field_of)
    return _SEEN["lines"]


def states(lines: list[str], family: str, *ids: str) -> dict[tuple[str, ...], str]:
    """Return the state that is 1, by the ids of the object."""
    ones = [line for line in lines if line.startswith(family + "{") and line.endswith(" 1.0")]
    named = [labels_of(line) for line in ones]
    return {tuple(labels[each] for each in ids): labels["state"] for labels in named}


def true_states(items: list[TrueObject], prefix: str = "") -> dict[tuple[str, ...], str]:
    """Return the states of what there truly is."""
    return {(it.id,): it.state.removeprefix(prefix) for it in items if it.state is not None}


EXPIRED = {("scp_versions", "expired"), ("scp_versions", "withdrawn")}
"""In these the version that the exporter asks for is refused."""


SAID_OTHERWISE = {
    ("scp_versions", "successor"): r"scp_api_version_",
    ("scp_versions", "deprecated"): r"scp_api_version_",
    # The current version has no day there.
    ("scp_not_before", "compact"): r"scp_api_version_not_before_timestamp_seconds\{",
    ("scp_fabric_state", "ACTIVE"): r"scp_cluster_fabric_(state|modified_timestamp_seconds)\{",
    ("scp_terminated", "listed"): r"scp_(gpu_node|cluster_fabric)",
    ("nsml_run_times", "utc"): r"nsml_run_(created|updated)_timestamp_seconds\{",
    ("nsml_starting_ranks", "pending"): r"nsml_run_node",
    ("nsml_ended_nodes", "empty"): r"nsml_run_node",
    ("nsml_ended_nodes", "missing"): r"nsml_run_node",
}
"""Choices that change what can be known, and the families of which they change it."""


@pytest.mark.parametrize(("name", "choice"), [pair for pair in CHOICES if pair not in EXPIRED])
async def test_the_fleet_is_seen_as_it_is(field_of: Open, name: str, choice: str) -> None:
    """Every node, fabric, run and rank with its state, and no other.

    How a thing is spelt, counted or cut into pages changes no line of the page, and what
    says something else changes its own families alone.
    """
    lines, simulator = await seen_with(field_of, **{name: choice})
    check_scp(lines, simulator)
    check_nsml(lines, simulator)
    differing = set(lines) ^ set(await seen_by_default(field_of))
    own = SAID_OTHERWISE.get((name, choice))
    assert bool(differing) == bool(own)
    assert [line for line in differing if not re.match(own or "", line)] == []


def check_scp(lines: list[str], simulator: Simulator) -> None:
    """Hold the nodes and fabrics of a page against the truth."""
    [region] = simulator.truth().scp
    assert states(lines, "scp_gpu_node_state", "gpu_node_id") == true_states([*region.gpu_nodes])
    fabrics = states(lines, "scp_cluster_fabric_state", "cluster_fabric_id")
    assert fabrics == true_states(region.cluster_fabrics)


def check_nsml(lines: list[str], simulator: Simulator) -> None:
    """Hold the runs of a page, and their nodes, against the truth; old ones are not shown."""
    projects = simulator.truth().nsml.projects
    told = {tuple(run.id.split("/")): run for project in projects for run in project.runs}
    shown = states(lines, "nsml_run_state", "project_id", "run_name")
    assert shown == {key: str(told[key].state).removeprefix("RUN_STATE_") for key in shown}
    assert {key for key, run in told.items() if run.state == "RUN_STATE_IN_PROGRESS"} < set(shown)
    ranks = [node for key in shown for node in told[key].nodes]
    hidden = {"PENDING"} if simulator.facts.nsml_starting_ranks == "absent" else set()
    hidden |= {"COMPLETED"} if simulator.facts.nsml_ended_nodes != "listed" else set()
    known = true_states(ranks, "NODE_STATE_")
    expected = {key: state for key, state in known.items() if state not in hidden}
    assert states(lines, "nsml_run_node_state", "node_id") == expected


async def test_run_times_of_another_zone_are_off_by_just_that(field_of: Open) -> None:
    """They name no zone; were they in UTC, each would be nine hours early, and nothing else."""
    lines, _ = await seen_with(field_of, nsml_run_times="utc")
    early, right = (
        {
            line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
            for line in those
            if re.match(r"nsml_run_(created|updated)_timestamp", line)
        }
        for those in (lines, await seen_by_default(field_of))
    )
    assert early == {series: value - NINE_HOURS for series, value in right.items()}
    assert right


async def test_a_terminated_node_that_stays_listed_is_terminated(field_of: Open) -> None:
    """Nothing but the lines of that node, its fabric and their counts differs."""
    lines, simulator = await seen_with(field_of, scp_terminated="listed")
    [node] = [node for node in simulator.truth().scp[0].gpu_nodes if node.state == "TERMINATED"]
    assert states(lines, "scp_gpu_node_state", "gpu_node_id")[node.id,] == "TERMINATED"
    differing = set(lines) ^ set(await seen_by_default(field_of))
    fabric = str(node.cluster_fabric_id)
    assert [line for line in differing if node.id not in line and fabric not in line] == []


@pytest.mark.parametrize(("name", "choice"), sorted(EXPIRED))
async def test_a_version_that_is_refused_is_told_by_the_versions(
    field_of: Open, name: str, choice: str
) -> None:
    """Nothing can be read but the list of versions, which needs none, and says why."""
    lines, _ = await seen_with(field_of, **{name: choice})
    families = {line.partition("{")[0] for line in lines if line.startswith("scp_")}
    assert families == {"scp_api_version_info", "scp_api_version_not_before_timestamp_seconds"}
    asked = [line for line in lines if 'requested="true"' in line]
    assert [labels_of(line)["status"] for line in asked] == ["DEPRECATED"] * (choice == "expired")
