"""Drills: break one thing on purpose, as it would break in the field, and mend it again."""

from collections.abc import Iterator

from exporter.simulator.faults import Faults, Reset
from exporter.simulator.fleet import Fabric, Node, Place, Region
from exporter.simulator.keys import Cloud
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.run_lifecycle import RunLifecycle
from exporter.simulator.runs import Run
from exporter.simulator.world import World


class UnknownTarget(LookupError):  # noqa: N818  # says what is unknown
    """A drill on something that isn't there."""


class Drills:
    """What can be broken, and mended. Without an id, a node or run in order is taken.

    Whatever a drill did to a node or fabric stays until another drill mends it.
    """

    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults
        self._vanished: dict[str, tuple[Region, Node]] = {}
        self._killed: dict[Place, int] = {}

    def fail_node(self, node_id: str | None = None, state: str = "ERROR") -> str:
        """Put a node into a state and keep it there; return its id."""
        region, node = self._node(node_id)
        node.held = True
        Lifecycle(self._world, region).put(node, state)
        return node.id

    def recover_node(self, node_id: str) -> str:
        """Put a node back to RUNNING, and let it go."""
        region, node = self._node(node_id)
        node.held = False
        Lifecycle(self._world, region).put(node, "RUNNING")
        return node.id

    def vanish_node(self, node_id: str | None = None) -> str:
        """Take a node off the list, without a word; return its id."""
        region, node = self._node(node_id)
        Lifecycle(self._world, region).remove(node)
        self._vanished[node.id] = region, node
        return node.id

    def return_node(self, node_id: str) -> str:
        """Put a vanished node back on the list."""
        if node_id not in self._vanished:
            raise UnknownTarget("No such node has vanished")
        region, node = self._vanished.pop(node_id)
        if node.fabric.id not in region.fabrics:
            self._world.change(node.fabric, "RUNNING")
        region.add(node)
        Lifecycle(self._world, region).put(node, "RUNNING")
        return node.id

    def hold_fabric(self, fabric_id: str | None = None, state: str = "ERROR") -> str:
        """Put a fabric into a state and keep it there; return its id."""
        _, fabric = self._fabric(fabric_id)
        fabric.held = True
        self._world.change(fabric, state)
        return fabric.id

    def release_fabric(self, fabric_id: str) -> str:
        """Let a fabric's state follow from its nodes again."""
        region, fabric = self._fabric(fabric_id)
        fabric.held = False
        Lifecycle(self._world, region).settle(fabric)
        return fabric.id

    def kill_region(self, environment: str, region: str) -> str:
        """Have every connection to a region broken."""
        place = self._place(environment, region)
        if place not in self._killed:
            self._killed[place] = self._faults.add(Reset(environment=environment, region=region)).id
        return "/".join(place)

    def revive_region(self, environment: str, region: str) -> str:
        """Have a killed region answer again."""
        place = self._place(environment, region)
        number = self._killed.pop(place, None)
        if number is not None:
            self._faults.clear(number)
        return "/".join(place)

    def fail_run(
        self, project_id: str | None = None, run_name: str | None = None, exit_code: int = 1
    ) -> str:
        """Let a rank of a run fail, and the run with it seconds later; return project/run."""
        run = self._run(project_id, run_name)
        RunLifecycle(self._world).fail(run, exit_code=exit_code)
        return run.key

    def fail_run_node(
        self,
        project_id: str | None = None,
        run_name: str | None = None,
        rank: int = 0,
        exit_code: int = 1,
    ) -> str:
        """Let one rank of a run fail while the others hang on; return project/run."""
        run = self._run(project_id, run_name)
        if rank not in range(len(run.nodes)):
            raise UnknownTarget("The run has no such rank")
        RunLifecycle(self._world).fail_rank(run, rank, exit_code)
        return run.key

    def end_run(self, project_id: str | None = None, run_name: str | None = None) -> str:
        """Let a run end well; return project/run."""
        run = self._run(project_id, run_name)
        RunLifecycle(self._world).complete(run)
        return run.key

    def rotate_keys(self, cloud: Cloud) -> str:
        """Replace the keys of a cloud: the old ones are refused from now on."""
        self._world.keys.rotate(cloud)
        return cloud

    def _node(self, node_id: str | None) -> tuple[Region, Node]:
        found = self._free_nodes() if node_id is None else self._nodes_of(node_id)
        one = next(found, None)
        if one is None:
            raise UnknownTarget("There is no such GPU node")
        return one

    def _free_nodes(self) -> Iterator[tuple[Region, Node]]:
        for region in self._world.regions.values():
            for node in region.nodes.values():
                if node.state == "RUNNING" and not node.held:
                    yield region, node

    def _nodes_of(self, node_id: str) -> Iterator[tuple[Region, Node]]:
        for region in self._world.regions.values():
            if node_id in region.nodes:
                yield region, region.nodes[node_id]

    def _fabric(self, fabric_id: str | None) -> tuple[Region, Fabric]:
        for region in self._world.regions.values():
            for fabric in region.fabrics.values():
                if fabric_id == fabric.id or (fabric_id is None and not fabric.held):
                    return region, fabric
        raise UnknownTarget("There is no such cluster fabric")

    def _run(self, project_id: str | None, run_name: str | None) -> Run:
        for project in self._world.projects.values():
            for run in project.runs.values():
                if (
                    project_id in {None, project.id}
                    and run_name in {None, run.name}
                    and run.running
                    and (run_name or run.plans == 0)
                ):
                    return run
        raise UnknownTarget("There is no such run in progress")

    def _place(self, environment: str, region: str) -> Place:
        place = Place(environment, region)
        if place not in self._world.regions:
            raise UnknownTarget("There is no such region")
        return place
