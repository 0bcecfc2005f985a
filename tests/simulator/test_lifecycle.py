"""The state machines of nodes and fabrics, in simulated time."""

from collections.abc import Callable

import pytest

from exporter.simulator.fleet import Fabric, Node, Region
from exporter.simulator.life import Life
from exporter.simulator.lifecycle import LASTS, TERMINATED_LISTED, Lifecycle
from exporter.simulator.scp_operations import create
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import START, SetClock


@pytest.fixture
def still() -> Simulator:
    """Give a simulator that only moves when it is pushed."""
    simulator = Simulator(64, seed=7, speed=1.0, clock=SetClock(), alive=False)
    for node in region_of(simulator).nodes.values():
        simulator.world.change(node, "RUNNING")
    return simulator


def region_of(simulator: Simulator) -> Region:
    """Return the first region."""
    return next(iter(simulator.world.regions.values()))


def parts(simulator: Simulator) -> tuple[Lifecycle, Fabric, list[Node]]:
    """Return a region's lifecycle and a fabric of it with its nodes."""
    region = region_of(simulator)
    fabric = next(iter(region.fabrics.values()))
    return Lifecycle(simulator.world, region), fabric, list(fabric.nodes.values())


def states(simulator: Simulator, key: str) -> list[str | None]:
    """Return the states that the history tells of an object."""
    return [change.state for change in simulator.world.history.of(key, START)]


def new_fabric(simulator: Simulator) -> tuple[Fabric, list[Node]]:
    """Create a fabric of two nodes."""
    region = region_of(simulator)
    nodes = create(simulator.world, region, Life._request(region, "fresh"))
    return nodes[0].fabric, nodes


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (Lifecycle.stop, ["RUNNING", "STOPPING", "STOPPED"]),
        (Lifecycle.start, ["RUNNING", "STARTING", "RUNNING"]),
        (Lifecycle.terminate, ["RUNNING", "TERMINATING", None]),
    ],
)
def test_nodes_pass_through_a_transitional_state(
    still: Simulator, act: Callable[[Lifecycle, list[Node]], None], expected: list[str | None]
) -> None:
    """An operation shows its transitional state for a while, then its outcome."""
    lifecycle, _, nodes = parts(still)
    act(lifecycle, nodes[:1])
    assert nodes[0].state == expected[1]
    still.advance(LASTS[str(expected[1])] - 0.1)
    assert nodes[0].state == expected[1]
    still.advance(0.2)
    assert states(still, nodes[0].id)[-3:] == expected


def test_a_new_fabric_is_creating_until_its_last_node_runs(still: Simulator) -> None:
    """Nodes come up one after another; the fabric is CREATING, then RUNNING."""
    fabric, (first, second) = new_fabric(still)
    assert {fabric.state, first.state, second.state} == {"CREATING"}
    still.advance(LASTS["CREATING"] + 0.1)
    assert (first.state, second.state, fabric.state) == ("RUNNING", "CREATING", "CREATING")
    still.advance(10)
    assert (second.state, fabric.state) == ("RUNNING", "RUNNING")
    assert states(still, fabric.id) == ["CREATING", "RUNNING"]


def test_a_fabric_goes_with_its_last_node(still: Simulator) -> None:
    """While its last nodes end, a fabric is DELETING; then both are gone from the lists."""
    lifecycle, fabric, nodes = parts(still)
    region = region_of(still)
    lifecycle.terminate(nodes[1:])
    assert fabric.state == "RUNNING"
    lifecycle.terminate(nodes[:1])
    assert fabric.state == "DELETING"
    still.advance(60)
    assert fabric.id not in region.fabrics
    assert not region.nodes.keys() & {node.id for node in nodes}
    assert states(still, fabric.id)[-2:] == ["DELETING", None]


def test_a_terminated_node_can_stay_listed_for_a_while(still: Simulator) -> None:
    """Where the fact is so, a node is TERMINATED before it leaves the list."""
    still.choose(scp_terminated="listed")
    lifecycle, _, nodes = parts(still)
    lifecycle.terminate(nodes[:1])
    still.advance(LASTS["TERMINATING"])
    assert nodes[0].state == "TERMINATED"
    still.advance(TERMINATED_LISTED)
    assert nodes[0].id not in region_of(still).nodes


def test_a_nat_change_edits_the_node(still: Simulator) -> None:
    """The address is there only when EDITING is over, and the node is as it was before."""
    lifecycle, _, nodes = parts(still)
    node = nodes[0]
    for address in ("198.18.255.1", None):
        before = node.nat_ip
        lifecycle.set_nat(node, address)
        assert (node.state, node.nat_ip) == ("EDITING", before)
        still.advance(LASTS["EDITING"])
        assert (node.state, node.nat_ip) == ("RUNNING", address)


def test_a_move_edits_node_and_fabrics(still: Simulator) -> None:
    """The node changes its fabric when EDITING is over; both fabrics are EDITING meanwhile."""
    lifecycle, source, nodes = parts(still)
    target = list(region_of(still).fabrics.values())[1]
    lifecycle.move(nodes[:1], target)
    assert (nodes[0].fabric, nodes[0].state) == (source, "EDITING")
    assert {source.state, target.state} == {"EDITING"}
    still.advance(30)
    assert (nodes[0].fabric, nodes[0].state) == (target, "RUNNING")
    assert nodes[0].id in target.nodes
    assert nodes[0].id not in source.nodes
    assert {source.state, target.state} == {"RUNNING"}


def test_a_fabric_that_all_nodes_moved_out_of_goes(still: Simulator) -> None:
    """The last node that moves away takes the fabric with it."""
    lifecycle, source, nodes = parts(still)
    target = list(region_of(still).fabrics.values())[1]
    lifecycle.move(nodes, target)
    still.advance(60)
    assert source.id not in region_of(still).fabrics
    assert all(node.fabric is target for node in nodes)


def test_a_fabric_that_nodes_move_into_outlives_its_own(still: Simulator) -> None:
    """The nodes under way find their fabric, though its last own node ends before they come."""
    lifecycle, _, nodes = parts(still)
    target = list(region_of(still).fabrics.values())[1]
    for node in list(target.nodes.values()):
        lifecycle.remove(node)
        if len(target.nodes) == 1:
            lifecycle.move(nodes[:1], target)
    assert (target.nodes, target.state) == ({}, "DELETING")
    still.advance(60)
    assert (list(target.nodes.values()), target.state) == (nodes[:1], "RUNNING")
    assert target.id in region_of(still).fabrics


def test_a_failure_cancels_what_was_under_way(still: Simulator) -> None:
    """A node that fails while it starts stays failed."""
    lifecycle, _, nodes = parts(still)
    lifecycle.start(nodes[:1])
    still.drills.fail_node(nodes[0].id)
    still.advance(3600)
    assert nodes[0].state == "ERROR"


def test_a_lock_cancels_nothing(still: Simulator) -> None:
    """To lock a node while it stops changes its time of change, and it stops all the same."""
    lifecycle, _, nodes = parts(still)
    lifecycle.stop(nodes[:1])
    nodes[0].locked = True
    still.world.touch(nodes[0])
    still.advance(LASTS["STOPPING"])
    assert nodes[0].state == "STOPPED"


def test_speed_decides_how_long_a_state_lasts() -> None:
    """At speed 4 a stop takes a quarter of its time."""
    clock = SetClock()
    simulator = Simulator(14, speed=4.0, clock=clock, alive=False)
    lifecycle, _, nodes = parts(simulator)
    lifecycle.stop(nodes[:1])
    clock.time += LASTS["STOPPING"] / 4 - 0.1
    simulator.truth()
    assert nodes[0].state == "STOPPING"
    clock.time += 0.2
    simulator.truth()
    assert nodes[0].state == "STOPPED"
    assert nodes[0].modified_at == pytest.approx(START + LASTS["STOPPING"] / 4)
