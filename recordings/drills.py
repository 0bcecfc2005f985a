"""The drills on one region of Samsung Cloud Platform: what goes wrong, by the minute.

Fabrics and nodes are named by their place: fabrics the smallest first, nodes by name.
"""

from collections.abc import Callable

from exporter.simulator import scp_operations
from exporter.simulator.faults import FieldValue
from exporter.simulator.fleet import Fabric, Node, Region
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.scp_models import (
    ClusterFabricDetailsRequest,
    GpuNodeCreateRequest,
    GpuNodeDetailsRequest,
)
from recordings.configurations import scp
from recordings.stage import Stage

_SLOW_STATES = ("CREATING", "TERMINATING", "STARTING", "STOPPING")


class Fleet:
    """The only region of a stage, and what can be done to it beside the drills."""

    def __init__(self, stage: Stage) -> None:
        self.world = stage.simulator.world
        self.region: Region = next(iter(self.world.regions.values()))
        self.lifecycle = Lifecycle(self.world, self.region)

    @property
    def fabrics(self) -> list[Fabric]:
        """The fabrics, the smallest first."""
        return sorted(self.region.fabrics.values(), key=lambda each: (len(each.nodes), each.name))

    def nodes(self, fabric: Fabric) -> list[Node]:
        """Return the nodes of a fabric by name."""
        return sorted(fabric.nodes.values(), key=lambda node: node.name)

    def move(self, node: Node, fabric: Fabric) -> None:
        """Make a node a member of another fabric, whatever its state."""
        self.lifecycle.rehome(node, fabric)
        self.world.touch(node)

    def change(self, node: Node, change: Callable[[Node], None]) -> None:
        """Change what is known of a node."""
        change(node)
        self.world.touch(node)

    def create(self, name: str) -> list[Node]:
        """Order a fabric of two nodes."""
        pool = next(iter(self.region.pools.values()))
        product = next(iter(self.region.products))
        body = GpuNodeCreateRequest(
            cluster_fabric_details=ClusterFabricDetailsRequest(
                cluster_fabric_id=None, cluster_fabric_name=name, node_pool_id=pool.id
            ),
            image_id=next(iter(self.region.images)),
            os_user_id="mlops",
            os_user_password="",
            region_id=self.region.place.region,
            server_details=[
                GpuNodeDetailsRequest(
                    gpu_node_name=f"{name}-{number:03d}", nat_enabled=False, server_type_id=product
                )
                for number in (1, 2)
            ],
            subnet_id=pool.subnet_id,
            tags=None,
            vpc_id=self.region.vpc_id,
        )
        return scp_operations.create(self.world, self.region, body)


async def pages(stage: Stage, series: str = "current") -> None:
    """Let nodes fail, move, vanish and come back, in fabrics of two and of three."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    await stage.replica(scp(stage.simulator.url, series=series))
    two, three = fleet.fabrics
    first, second = fleet.nodes(two)
    third = fleet.nodes(three)[0]
    await stage.until(2, "calm")
    drills.fail_node(third.id)
    await stage.until(5, "fault")
    drills.fail_node(first.id, "UNKNOWN")
    await stage.until(8, "fault")
    fleet.move(first, three)
    await stage.until(11, "fault")
    fleet.move(first, two)
    drills.recover_node(third.id)
    await stage.until(14, "fault")
    drills.recover_node(first.id)
    await stage.until(17, "back")
    drills.vanish_node(third.id)
    await stage.until(20, "fault")
    drills.vanish_node(second.id)
    await stage.until(23, "fault")
    drills.return_node(third.id)
    drills.return_node(second.id)
    await stage.until(26, "back")


async def pages_all(stage: Stage) -> None:
    """Do the same with a series for every state."""
    await pages(stage, "all")


async def deletions(stage: Stage) -> None:
    """Delete failed nodes, those of a fabric that is down too, and a fabric that lost one."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    await stage.replica(scp(stage.simulator.url))
    two, three = fleet.fabrics
    await stage.until(2, "calm")
    drills.fail_node(fleet.nodes(two)[0].id)
    drills.fail_node(fleet.nodes(three)[0].id)
    drills.vanish_node(fleet.nodes(three)[1].id)
    await stage.until(6, "fault")
    fleet.lifecycle.terminate([*fleet.nodes(two), *fleet.nodes(three)])
    await stage.until(20, "deleted")


async def plans(stage: Stage) -> None:
    """Do all that is done by plan: stop, start, public address, move, creation, deletion."""
    fleet = Fleet(stage)
    await stage.replica(scp(stage.simulator.url))
    two, three = fleet.fabrics
    first, second = fleet.nodes(two)
    await stage.until(2, "calm")
    fleet.lifecycle.stop([first])
    await stage.until(6, "plan")
    fleet.lifecycle.stop([second])
    await stage.until(9, "plan")
    fleet.lifecycle.start([first, second])
    await stage.until(12, "plan")
    fleet.lifecycle.set_nat(first, fleet.region.addresses.next_nat())
    await stage.until(14, "plan")
    fleet.lifecycle.move([fleet.nodes(three)[0]], two)
    await stage.until(17, "plan")
    made = fleet.create("dune02")
    await stage.until(24, "plan")
    fleet.lifecycle.terminate(made)
    await stage.until(28, "deleted")
    fleet.lifecycle.terminate(fleet.nodes(three)[:1])
    await stage.until(32, "deleted")
    stage.simulator.choose(scp_terminated="listed")
    fleet.lifecycle.terminate([*fleet.nodes(two), *fleet.nodes(three)])
    await stage.until(38, "deleted")


async def slow(stage: Stage) -> None:
    """Break everything for long; have an outage of each kind; then delete all of it."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    exporter = await stage.replica(
        scp(stage.simulator.url, collectors="gpu_nodes, cluster_fabrics, api_versions")
    )
    await stage.until(3, "calm")
    _break_all(stage, fleet)
    await stage.until(68, "fault")
    drills.vanish_node(fleet.nodes(fleet.fabrics[0])[-1].id)
    await stage.until(70, "fault")
    place = fleet.region.place
    drills.kill_region(*place)
    await stage.until(80, "outage")
    await exporter.stop()
    await stage.until(82, "outage")
    await exporter.listen()
    await stage.until(82.5, "outage")
    await exporter.start()
    await stage.until(84, "outage")
    stage.scraping = False
    drills.revive_region(*place)
    await stage.until(88, "outage")
    stage.scraping = True
    await stage.until(90, "back")
    stage.simulator.faults.clear()
    stage.simulator.choose(scp_versions="page")
    fleet.lifecycle.terminate([node for each in fleet.fabrics for node in fleet.nodes(each)])
    await stage.until(96, "deleted")


def _break_all(stage: Stage, fleet: Fleet) -> None:
    """Give every alert its cause: nodes stuck in one fabric, and all else in the other."""
    drills = stage.simulator.drills
    stuck, other = fleet.fabrics
    for node, state in zip(fleet.nodes(stuck), _SLOW_STATES, strict=False):
        drills.fail_node(node.id, state)
    drills.hold_fabric(stuck.id)
    states = ("EDITING", "STOPPED", "MAINTENANCE", "ERROR")
    for node, state in zip(fleet.nodes(other), states, strict=False):
        drills.fail_node(node.id, state)
    last = fleet.nodes(other)[-1]
    types = list(fleet.region.products.values())
    last.product = next(each for each in types if each is not last.product)
    fleet.change(last, lambda node: setattr(node, "locked", False))
    stage.simulator.faults.add(
        FieldValue(path="/v1/cluster-fabrics$", field="used_server_count", values=[7])
    )
    stage.simulator.choose(scp_versions="deprecated")


async def mended(stage: Stage) -> None:
    """Mend what is wrong, before anything is deleted."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    await stage.replica(
        scp(stage.simulator.url, collectors="gpu_nodes, cluster_fabrics, api_versions")
    )
    await stage.until(1, "calm")
    _break_all(stage, fleet)
    await stage.until(34, "fault")
    for fabric in fleet.fabrics:
        for node in fleet.nodes(fabric):
            drills.recover_node(node.id)
            node.locked, node.product = True, fabric.product
            fleet.world.touch(node)
        drills.release_fabric(fabric.id)
    stage.simulator.faults.clear()
    stage.simulator.choose(scp_versions="page")
    await stage.until(38, "back")


async def versions(stage: Stage) -> None:
    """Deprecate the version that is asked for, end it, withdraw it, and list it again."""
    exporter = await stage.replica(
        scp(stage.simulator.url, collectors="api_versions", interval="15s")
    )
    await stage.until(2, "calm")
    stage.simulator.choose(scp_versions="deprecated")
    await stage.until(5, "fault")
    stage.simulator.choose(scp_versions="expired")
    await stage.until(8, "fault")
    stage.simulator.drills.kill_region("e", "kr-west1")
    await stage.until(15, "outage")
    await exporter.stop()
    await stage.until(17, "outage")
    stage.simulator.choose(scp_versions="withdrawn")
    stage.simulator.drills.revive_region("e", "kr-west1")
    await exporter.start()
    await stage.until(20, "fault")
    stage.simulator.drills.kill_region("e", "kr-west1")
    await stage.until(27, "outage")
    stage.simulator.drills.revive_region("e", "kr-west1")
    stage.simulator.choose(scp_versions="page")
    await stage.until(32, "deleted")


async def day(stage: Stage) -> None:
    """Let a node fail, and then nothing be heard of it for more than a day."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    exporter = await stage.replica(scp(stage.simulator.url))
    await stage.until(2, "calm")
    drills.fail_node(fleet.nodes(fleet.fabrics[0])[0].id)
    drills.vanish_node(fleet.nodes(fleet.fabrics[1])[0].id)
    await stage.until(6, "fault")
    drills.kill_region(*fleet.region.place)
    await stage.until(14, "outage")
    await exporter.stop()
    await stage.until(24 * 60 + 10, "outage")


async def removed(stage: Stage) -> None:
    """Take the account out of the configuration while a node of it has failed."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    text = scp(stage.simulator.url)
    exporter = await stage.replica(text)
    await stage.until(1, "calm")
    drills.fail_node(fleet.nodes(fleet.fabrics[0])[0].id)
    drills.vanish_node(fleet.nodes(fleet.fabrics[1])[0].id)
    await stage.until(3, "fault")
    # What the next account would see of the same fleet is not of interest.
    drills.kill_region(*stage.place)
    await exporter.reload(text.replace("account: prod", "account: other"))
    await stage.until(5, "deleted")


async def unseen(stage: Stage) -> None:
    """Let polls see a failed node once more, and values go stale, while nobody scrapes."""
    fleet, drills = Fleet(stage), stage.simulator.drills
    await stage.replica(scp(stage.simulator.url))
    node = fleet.nodes(fleet.fabrics[1])[0].id
    await stage.until(1, "calm")
    drills.fail_node(node)
    await stage.until(3, "fault")
    stage.scraping = False
    await stage.until(6, "outage")
    drills.kill_region(*stage.place)
    await stage.until(13, "outage")
    stage.scraping = True
    await stage.until(15, "outage")
    drills.revive_region(*stage.place)
    await stage.until(18, "back")
    drills.recover_node(node)
    await stage.until(19, "back")
