"""The fleet that a seed gives."""

from collections import Counter

import pytest

from exporter.simulator.fleet import PLACES, Node
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import SetClock


def fleet(nodes: int, seed: int = 0) -> Simulator:
    """Make a simulator that stands still."""
    return Simulator(nodes, seed=seed, clock=SetClock(), alive=False)


def all_nodes(simulator: Simulator) -> list[Node]:
    """Return the nodes of all regions."""
    return [node for region in simulator.world.regions.values() for node in region.nodes.values()]


@pytest.mark.parametrize("nodes", [0, 1, 2, 13, 14, 15, 64, 1000])
def test_there_are_as_many_nodes_as_asked_for(nodes: int) -> None:
    """The number of nodes over all regions is the one given."""
    assert len(all_nodes(fleet(nodes))) == nodes


@pytest.mark.parametrize("nodes", [14, 15, 64, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_every_region_has_whole_fabrics(nodes: int, seed: int) -> None:
    """From 14 nodes on every region has some, in fabrics of 2 to 32."""
    regions = fleet(nodes, seed).world.regions
    assert list(regions) == list(PLACES)
    for region in regions.values():
        assert region.fabrics
        assert all(2 <= len(fabric.nodes) <= 32 for fabric in region.fabrics.values())


def test_equal_seeds_give_equal_truths_and_others_do_not() -> None:
    """Seed and clock decide everything: objects, ids, states, keys."""
    assert fleet(64, 3).truth() == fleet(64, 3).truth()
    assert fleet(64, 3).credentials == fleet(64, 3).credentials
    assert fleet(64, 3).truth() != fleet(64, 4).truth()
    assert fleet(64, 3).credentials != fleet(64, 4).credentials


def test_nothing_is_handed_out_twice() -> None:
    """Ids and addresses of 2,000 nodes are all different."""
    nodes = all_nodes(fleet(2000))
    for values in (
        [node.id for node in nodes],
        [node.policy_ip for node in nodes],
        [node.nat_ip for node in nodes if node.nat_ip],
        [address for node in nodes for address in node.pfs_ips],
    ):
        assert len(set(values)) == len(values)


@pytest.mark.parametrize("seed", range(5))
def test_a_fleet_has_something_of_everything(seed: int) -> None:
    """64 nodes show locked and unlocked ones, some public, most running, one stopped at least."""
    nodes = all_nodes(fleet(64, seed))
    states = Counter(node.state for node in nodes)
    assert states["RUNNING"] >= 55
    assert states["STOPPED"] >= 1
    assert {node.locked for node in nodes} == {True, False}
    assert 0 < sum(node.nat_ip is not None for node in nodes) < 64
    assert {node.product.name for node in nodes} == {"g2c96h8_metal", "g3c128b8_metal"}


def test_nsml_has_two_projects_with_runs_of_every_kind() -> None:
    """Two projects share runs in progress and ended, of many nodes and, for a notebook, of one."""
    projects = fleet(64).world.projects.values()
    runs = [run for project in projects for run in project.runs.values()]
    assert len(projects) == 2
    assert {run.status for run in runs} == {"RUN_STATE_IN_PROGRESS", "RUN_STATE_COMPLETED"}
    assert [len(run.nodes) for run in runs if run.type == "NOTEBOOK"] == [1]
    assert sum(len(run.nodes) > 1 and run.running for run in runs) >= 3
    names = Counter(run.name for run in runs)
    assert names["1"] == 2
