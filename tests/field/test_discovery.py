"""Service discovery through what happens to clouds: from an account's start to its end."""

import json

from exporter.simulator.faults import FieldValue, NullList, Status
from exporter.simulator.lifecycle import Lifecycle
from tests.field.conftest import TWO_REGIONS, Open
from tests.field.rig import Field, node_ids
from tests.simulated import config_text

GPU_NODES = "/sd/gpu-nodes?port=9400"
POLLING = "interval: 30s, stale_after: 90s"
LATER = 150.0
"""Longer than values outlive the last poll."""

FOR_AN_END = 3600.0
"""Longer than it takes the cloud to terminate a node."""


async def listed(field: Field, path: str = GPU_NODES) -> list[str]:
    """Return the ids of the nodes that are listed, sorted."""
    status, body = await field.ask(path)
    assert status == 200, body
    name = "__meta_scp_gpu_node_id" if path.startswith("/sd/gpu") else "__meta_nsml_node_id"
    return sorted(group["labels"][name] for group in json.loads(body))


async def status(field: Field, path: str = GPU_NODES) -> int:
    """Return the status of an answer."""
    return (await field.ask(path))[0]


async def test_nodes_are_listed_from_the_first_whole_poll_on(field: Field) -> None:
    """503 before the configuration, while the cloud is silent, and while its answer is none."""
    assert await status(field) == 503
    field.simulator.faults.add(Status(status=500))
    await field.start()
    assert await status(field) == 503
    field.simulator.faults.clear()
    field.simulator.faults.add(NullList())
    await field.pass_time(120)
    assert await status(field) == 503
    field.simulator.faults.clear()
    await field.pass_time(120)
    assert await listed(field) == node_ids(field.simulator)


async def test_a_terminated_node_goes_and_one_that_failed_stays(field: Field) -> None:
    """With the next poll; a node in any state is listed until the cloud lists it no more."""
    await field.start()
    failed = field.simulator.drills.fail_node()
    world = field.simulator.world
    [region] = world.regions.values()
    node = next(node for node in region.nodes.values() if node.id != failed)
    Lifecycle(world, region).terminate([node])
    await field.next_poll()
    assert node.id in await listed(field)
    field.simulator.advance(FOR_AN_END)
    await field.next_poll()
    assert await listed(field) == node_ids(field.simulator)
    assert node.id not in await listed(field)
    assert failed in await listed(field)
    assert await listed(field, f"{GPU_NODES}&state=ERROR") == [failed]


async def test_an_outage_takes_nothing_away(field: Field) -> None:
    """Long after the page has dropped the nodes' series their addresses are listed."""
    await field.start(polling=POLLING)
    before = await field.ask(GPU_NODES)
    await field.simulator.stop()
    await field.pass_time(LATER)
    assert [line for line in await field.objects() if line.startswith("scp_gpu_node_")] == []
    assert await field.ask(GPU_NODES) == before
    status, body = await field.ask("/api/v1/nodes")
    assert status == 200
    nodes = json.loads(body)["nodes"]
    assert {node["gpu_node_id"] for node in nodes} == set(node_ids(field.simulator))
    assert {node["stale"] for node in nodes} == {True}


async def test_a_dead_region_holds_up_itself_alone(field_of: Open) -> None:
    """Asked for by account and region, the others are listed as they are."""
    async with field_of(places=TWO_REGIONS) as field:
        field.simulator.drills.kill_region("e", "kr-east1")
        await field.start(regions=["kr-west1", "kr-east1"])
        assert await status(field) == 503
        assert await status(field, f"{GPU_NODES}&region=kr-east1") == 503
        west = f"{GPU_NODES}&region=kr-west1"
        assert await listed(field, west) == node_ids(field.simulator)
        gone = field.simulator.drills.vanish_node(node_ids(field.simulator)[0])
        await field.next_poll()
        assert gone not in await listed(field, west)


async def test_a_reload_keeps_what_is_listed_and_drops_what_is_gone(field_of: Open) -> None:
    """Another pace changes nothing in an outage; a region that is no more is refused."""
    async with field_of(places=TWO_REGIONS) as field:
        await field.start(regions=["kr-west1", "kr-east1"], polling=POLLING)
        before = await listed(field)
        assert await status(field, f"{GPU_NODES}&region=kr-east1") == 200
        field.simulator.faults.add(Status(status=500))
        field.configure(
            config_text(
                field.simulator.url,
                regions=["kr-west1"],
                nsml=False,
                polling="interval: 20s, stale_after: 90s",
            )
        )
        assert await field.reloader.reload() == ""
        await field.pass_time(LATER)
        assert await listed(field) == node_ids(field.simulator)
        assert set(await listed(field)) < set(before)
        assert await status(field, f"{GPU_NODES}&region=kr-east1") == 400


async def test_a_record_without_an_address_is_left_out(field: Field) -> None:
    """One that is null or mistyped takes no other with it."""
    field.simulator.faults.add(
        FieldValue(path="/v1/gpu-nodes$", field="policy_ip", values=[None, 7, "-"], rows=[0, 1, 2])
    )
    await field.start()
    assert len(await listed(field)) == len(node_ids(field.simulator)) - 3


async def test_nodes_of_runs_are_listed_while_their_run_cannot_be_read(field: Field) -> None:
    """A run whose nodes can't be read keeps those that it had; the others go on."""
    await field.start(nsml=True, polling=POLLING)
    path = "/sd/run-nodes?port=tcp0"
    before = await listed(field, path)
    assert len(before) > 2
    run = json.loads((await field.ask("/api/v1/runs"))[1])["runs"][0]
    place = f"/projects/{run['project_id']}/runs/{run['run_name']}/nodes"
    field.simulator.faults.add(Status(path=place))
    await field.pass_time(LATER)
    assert await field.outcome(collector="run_nodes") == (0.0, "partial")
    mine = {node["node_id"] for node in run["nodes"]}
    assert mine
    assert mine <= set(await listed(field, path))
