"""What happens by itself."""

from collections.abc import Iterator

import pytest

from exporter.simulator.server import Simulator
from exporter.simulator.truth import Truth
from tests.simulator.cloud_client import SetClock


def node_histories(truth: Truth) -> Iterator[list[str | None]]:
    """Return the states each node went through."""
    for region in truth.scp:
        for node in region.gpu_nodes:
            yield [change.state for change in node.history]


def contains(history: list[str | None], *wanted: str) -> bool:
    """Say whether the wanted states follow each other somewhere in a history."""
    return any(tuple(history[i : i + len(wanted)]) == wanted for i in range(len(history)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("nodes", [14, 64, 500])
def test_two_minutes_show_a_living_fleet(nodes: int, seed: int) -> None:
    """Within two minutes a node stops and starts, one fails and recovers, and a run ends."""
    clock = SetClock()
    simulator = Simulator(nodes, seed=seed, clock=clock)
    clock.time += 120
    truth = simulator.truth()
    histories = list(node_histories(truth))
    stopped = ("RUNNING", "STOPPING", "STOPPED", "STARTING", "RUNNING")
    assert any(contains(history, *stopped) for history in histories)
    assert any(contains(history, "RUNNING", "ERROR", "RUNNING") for history in histories)
    ends = [
        [change.state for change in run.history]
        for project in truth.nsml.projects
        for run in project.runs
    ]
    assert any(contains(end, "RUN_STATE_IN_PROGRESS", "RUN_STATE_COMPLETED") for end in ends)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_seconds_are_calm(seed: int) -> None:
    """Five seconds in, all nodes but a few are RUNNING."""
    clock = SetClock()
    simulator = Simulator(64, seed=seed, clock=clock)
    clock.time += 5
    states = [node.state for region in simulator.truth().scp for node in region.gpu_nodes]
    assert states.count("RUNNING") >= 55


@pytest.mark.parametrize("nodes", [0, 1, 2, 14, 64])
def test_hours_of_life_leaves_the_fleet_about_as_it_was(nodes: int) -> None:
    """The fleet neither dies out nor grows, and keeps its invariants."""
    clock = SetClock()
    simulator = Simulator(nodes, seed=1, clock=clock)
    clock.time += 6 * 3600
    simulator.truth()
    for region in simulator.world.regions.values():
        assert all(fabric.edits >= 0 for fabric in region.fabrics.values())
        assert sum(len(fabric.nodes) for fabric in region.fabrics.values()) == len(region.nodes)
        for node in region.nodes.values():
            assert node.fabric.nodes[node.id] is node
            assert region.fabrics[node.fabric.id] is node.fabric
    left = sum(len(region.nodes) for region in simulator.world.regions.values())
    assert abs(left - nodes) <= 8 + nodes // 4
    assert any(run.running for it in simulator.world.projects.values() for run in it.runs.values())


@pytest.mark.parametrize(("speed", "alive"), [(1.0, False), (0.0, True)])
def test_nothing_happens_without_life_or_time(
    speed: float,
    alive: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    """With `alive` off nothing changes in an hour; with speed 0 nothing does either."""
    clock = SetClock()
    simulator = Simulator(64, clock=clock, speed=speed, alive=alive)
    before = list(node_histories(simulator.truth()))
    clock.time += 3600
    assert list(node_histories(simulator.truth())) == before


def test_life_leaves_alone_what_a_drill_holds() -> None:
    """A node that a drill failed is still failed after an hour of life."""
    clock = SetClock()
    simulator = Simulator(14, clock=clock)
    node_id = simulator.drills.fail_node()
    clock.time += 3600
    simulator.truth()
    states = {
        node_id: node.state
        for region in simulator.world.regions.values()
        for node_id, node in region.nodes.items()
    }
    assert states[node_id] == "ERROR"
