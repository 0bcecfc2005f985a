"""What happens by itself: two minutes by a script, so that a demo shows it all, then by chance."""

import contextlib
import random
from collections.abc import Callable

from exporter.simulator import scp_operations
from exporter.simulator.errors import Refused
from exporter.simulator.fleet import Node, Region
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.run_lifecycle import RunLifecycle
from exporter.simulator.runs import RUN_SIZES, Project, Run
from exporter.simulator.scp_models import (
    ClusterFabricDetailsRequest,
    GpuNodeCreateRequest,
    GpuNodeDetailsRequest,
)
from exporter.simulator.world import World

SCRIPT_ENDS = 100.0
CALM_NODES = 64  # the fleet in which something happens every PACE seconds; larger ones see more
PACE = 15.0
FASTEST = 1.0
STAYS_STOPPED = 20.0
STAYS_FAILED = 45.0
FABRIC_LIVES = 180.0
NEXT_RUN_AFTER = 15.0


class Life:
    """Lets things happen to the fleet and to runs; what a drill holds it leaves alone."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = random.Random(f"{world.seed} life")
        self._runs = RunLifecycle(world)
        nodes = sum(len(region.nodes) for region in world.regions.values())
        self._pace = max(FASTEST, PACE * min(1.0, CALM_NODES / max(nodes, 1)))

    def begin(self) -> None:
        """Plan all that will happen."""
        for at, happening in (
            (8.0, self.stop_and_start),
            (16.0, self.fail_and_recover),
            (26.0, self.end_run),
            (34.0, self.change_nat),
            (42.0, self.wake_one),
            (50.0, self.try_a_fabric),
            (64.0, self.change_lock),
            (76.0, self.fail_run),
            (88.0, self.move_one),
        ):
            self._world.timeline.after(at, happening)
        self._world.timeline.after(SCRIPT_ENDS, self._go_on)

    def _go_on(self) -> None:
        happenings: list[Callable[[], None]] = [
            self.stop_and_start,
            self.fail_and_recover,
            self.wake_one,
            self.change_nat,
            self.change_lock,
            self.move_one,
            self.try_a_fabric,
            self.end_run,
            self.end_run,
            self.end_run,
            self.fail_run,
        ]
        self._rng.choice(happenings)()
        self._world.timeline.after(self._pace * self._rng.uniform(0.5, 1.5), self._go_on)

    def stop_and_start(self) -> None:
        """Stop a node, and start it again some time later."""
        for region, node in self._pick("RUNNING"):
            Lifecycle(self._world, region).stop([node])
            self._later(STAYS_STOPPED, "STOPPED", self._start, region, node)

    def fail_and_recover(self) -> None:
        """Let a node fail, and come back some time later."""
        for region, node in self._pick("RUNNING"):
            Lifecycle(self._world, region).put(node, "ERROR")
            self._later(STAYS_FAILED, "ERROR", self._recover, region, node)

    def wake_one(self) -> None:
        """Start a node that was stopped, and bring one back that had failed."""
        for region, node in self._pick("STOPPED"):
            self._start(region, node)
        for region, node in self._pick("ERROR"):
            self._recover(region, node)

    def change_nat(self) -> None:
        """Give a node a public address, or take it away."""
        for region, node in self._pick("RUNNING"):
            address = None if node.nat_ip else region.addresses.next_nat()
            Lifecycle(self._world, region).set_nat(node, address)

    def change_lock(self) -> None:
        """Lock or unlock a node."""
        for _, node in self._pick("RUNNING"):
            node.locked = not node.locked
            self._world.touch(node)

    def move_one(self) -> None:
        """Move a node to another fabric of its pool, where there is one and it isn't missed."""
        for region, node in self._pick("RUNNING"):
            source = node.fabric
            targets = [
                fabric
                for fabric in region.fabrics.values()
                if fabric.pool is source.pool and fabric is not source and not fabric.edits
            ]
            if targets and len(source.nodes) > scp_operations.LEAST_NODES:
                Lifecycle(self._world, region).move([node], self._rng.choice(targets))

    def try_a_fabric(self) -> None:
        """Create a small fabric, and terminate it after a while."""
        region = self._rng.choice(list(self._world.regions.values()))
        body = self._request(region, f"trial{self._rng.randrange(1000, 10_000)}")
        # A trial whose name is taken is left out.
        with contextlib.suppress(Refused):
            nodes = scp_operations.create(self._world, region, body)
            self._world.timeline.after(FABRIC_LIVES, lambda: self._end_trial(region, nodes))

    def end_run(self) -> None:
        """Let a run end well, and another one begin."""
        for run in self._pick_run():
            self._runs.complete(run)
            self._begin_another(run.project)

    def fail_run(self) -> None:
        """Let a run fail, and another one begin."""
        for run in self._pick_run():
            self._runs.fail(run, self._rng.randrange(len(run.nodes)), self._rng.choice((1, 137)))
            self._begin_another(run.project)

    def _begin_another(self, project: Project) -> None:
        ranks = self._rng.choice(RUN_SIZES)

        def begin() -> None:
            self._runs.start(project, ranks)

        self._world.timeline.after(NEXT_RUN_AFTER, begin)

    def _end_trial(self, region: Region, nodes: list[Node]) -> None:
        present = [node for node in nodes if node.id in region.nodes and not node.held]
        Lifecycle(self._world, region).terminate(present)

    def _start(self, region: Region, node: Node) -> None:
        Lifecycle(self._world, region).start([node])

    def _recover(self, region: Region, node: Node) -> None:
        Lifecycle(self._world, region).put(node, "RUNNING")

    def _pick(self, state: str) -> list[tuple[Region, Node]]:
        """Pick one free node in that state, if there is any."""
        regions = list(self._world.regions.values())
        self._rng.shuffle(regions)
        for region in regions:
            nodes = [it for it in region.nodes.values() if it.state == state and not it.held]
            if nodes:
                return [(region, self._rng.choice(nodes))]
        return []

    def _pick_run(self) -> list[Run]:
        """Pick one run for which nothing is planned, if there is any."""
        runs = [
            run
            for project in self._world.projects.values()
            for run in project.runs.values()
            if run.running and run.type != "NOTEBOOK" and run.plans == 0
        ]
        return [self._rng.choice(runs)] if runs else []

    def _later(
        self,
        seconds: float,
        state: str,
        then: Callable[[Region, Node], None],
        region: Region,
        node: Node,
    ) -> None:
        """Do `then` after so long, if the node is in that state by then and no drill holds it."""

        def due() -> None:
            if node.state == state and node.id in region.nodes and not node.held:
                then(region, node)

        self._world.timeline.after(seconds, due)

    @staticmethod
    def _request(region: Region, name: str) -> GpuNodeCreateRequest:
        pool = next(iter(region.pools.values()))
        product = next(iter(region.products))
        return GpuNodeCreateRequest(
            cluster_fabric_details=ClusterFabricDetailsRequest(
                cluster_fabric_id=None, cluster_fabric_name=name, node_pool_id=pool.id
            ),
            image_id=next(iter(region.images)),
            os_user_id="mlops",
            os_user_password="",
            region_id=region.place.region,
            server_details=[
                GpuNodeDetailsRequest(
                    gpu_node_name=f"{name}-{number:03d}", nat_enabled=False, server_type_id=product
                )
                for number in (1, 2)
            ],
            subnet_id=pool.subnet_id,
            tags=None,
            vpc_id=region.vpc_id,
        )
