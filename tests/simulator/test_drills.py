"""Drills: one thing is broken on purpose, and mended again."""

import aiohttp
import pytest

from exporter.simulator.drills import UnknownTarget
from exporter.simulator.fleet import Node
from exporter.simulator.runs import Run
from tests.simulator.cloud_client import Client

NODES = "/v1/gpu-nodes"


async def drill(client: Client, kind: str, **order: object) -> str:
    """Order a drill over HTTP, and return whom it hit."""
    reply = await client.own("/_drills", "POST", {"kind": kind, **order})
    assert (reply.status, reply.json["kind"]) == (200, kind)
    target: str = reply.json["target"]
    return target


def node_of(client: Client, node_id: str) -> Node:
    """Return a listed node by its id."""
    regions = client.simulator.world.regions.values()
    return next(region.nodes[node_id] for region in regions if node_id in region.nodes)


def run_of(client: Client, key: str) -> Run:
    """Return a run by its project's id and its name."""
    project_id, _, name = key.partition("/")
    return client.simulator.world.projects[project_id].runs[name]


async def test_a_node_fails_until_it_is_recovered(client: Client) -> None:
    """Without an id a running node is taken, another one each time; any state can be set."""
    first, second = [await drill(client, "fail_node") for _ in range(2)]
    third = await drill(client, "fail_node", state="MAINTENANCE")
    assert len({first, second, third}) == 3
    assert node_of(client, first).state == "ERROR"
    assert (await client.scp(f"{NODES}/{third}")).json["state"] == "MAINTENANCE"
    assert await drill(client, "recover_node", node_id=first) == first
    assert node_of(client, first).state == "RUNNING"


async def test_a_node_vanishes_and_returns(client: Client) -> None:
    """A vanished node leaves the list without TERMINATING, and comes back as it was."""
    node_id = await drill(client, "vanish_node")
    assert (await client.scp(f"{NODES}/{node_id}")).status == 404
    await drill(client, "return_node", node_id=node_id)
    assert (await client.scp(f"{NODES}/{node_id}")).json["state"] == "RUNNING"
    again = await client.own("/_drills", "POST", {"kind": "return_node", "node_id": node_id})
    assert again.status == 404


async def test_a_whole_fabric_vanishes_and_returns(client: Client) -> None:
    """The fabric goes with its last node, and comes back with the first."""
    fabric = next(iter(next(iter(client.simulator.world.regions.values())).fabrics.values()))
    ids = list(fabric.nodes)
    for node_id in ids:
        client.simulator.drills.vanish_node(node_id)
    assert (await client.scp(f"/v1/cluster-fabrics/{fabric.id}")).status == 404
    client.simulator.drills.return_node(ids[0])
    shown = (await client.scp(f"/v1/cluster-fabrics/{fabric.id}")).json
    assert (shown["used_server_count"], shown["state"]) == (1, "RUNNING")


async def test_a_fabric_is_held_and_released(client: Client) -> None:
    """A held fabric keeps its state whatever its nodes do; released, it follows them again."""
    fabric_id = await drill(client, "hold_fabric")
    path = f"/v1/cluster-fabrics/{fabric_id}"
    member = (await client.scp(path)).json["gpu_node_details"][0]["gpu_node_id"]
    await drill(client, "fail_node", node_id=member)
    assert (await client.scp(path)).json["state"] == "ERROR"
    await drill(client, "release_fabric", fabric_id=fabric_id)
    assert (await client.scp(path)).json["state"] == "RUNNING"


async def test_a_region_is_killed_and_revived(client: Client) -> None:
    """A killed region breaks every connection, the others answer; killed twice is killed once."""
    for _ in range(2):
        assert (
            await drill(client, "kill_region", environment="e", region="kr-west1") == "e/kr-west1"
        )
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.scp(NODES)
    assert (await client.scp(NODES, place="s/kr-west1")).status == 200
    await drill(client, "revive_region", environment="e", region="kr-west1")
    assert (await client.scp(NODES)).status == 200
    await drill(client, "revive_region", environment="e", region="kr-west1")


async def test_a_run_fails(client: Client) -> None:
    """A rank fails with the code, and the run seconds later; the next drill takes another run."""
    key = await drill(client, "fail_run", exit_code=42)
    run = run_of(client, key)
    assert [node.exit_code for node in run.nodes] == [42] + [-1] * (len(run.nodes) - 1)
    client.simulator.advance(10)
    assert run.status == "RUN_STATE_FAILED"
    assert await drill(client, "fail_run") != key


async def test_a_rank_fails_while_the_others_hang_on(client: Client) -> None:
    """The run goes on without the rank, for as long as it takes."""
    runs = [run for it in client.simulator.world.projects.values() for run in it.runs.values()]
    run = next(run for run in runs if run.running and len(run.nodes) > 1)
    order = {"project_id": run.project.id, "run_name": run.name, "rank": 1, "exit_code": 9}
    assert await drill(client, "fail_run_node", **order) == run.key
    client.simulator.advance(3600)
    assert [node.exit_code for node in run.nodes][:3] == [-1, 9, -1][: len(run.nodes)]
    assert run.running


async def test_a_run_ends_well(client: Client) -> None:
    """The run is completed, every rank with 0."""
    key = await drill(client, "end_run")
    client.simulator.advance(60)
    assert run_of(client, key).status == "RUN_STATE_COMPLETED"
    assert {node.exit_code for node in run_of(client, key).nodes} == {0}


@pytest.mark.parametrize("cloud", ["scp", "nsml"])
async def test_keys_are_rotated(client: Client, cloud: str) -> None:
    """The old keys of that cloud are refused at once, the new ones accepted."""
    old = dict(client.simulator.credentials)
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    stale = client.scp_headers("GET", url), client.nsml_headers("GET", "/nsml/v1/projects")
    await drill(client, "rotate_keys", cloud=cloud)
    changed = {name for name, key in client.simulator.credentials.items() if key != old[name]}
    assert {name[:3] for name in changed} == {"SCP" if cloud == "scp" else "NCP"}
    scp = await client.send("GET", url, stale[0])
    nsml = await client.send("GET", f"{client.simulator.url}/nsml/v1/projects", stale[1])
    assert (scp.status, nsml.status) == ((401, 200) if cloud == "scp" else (200, 401))
    assert (await client.scp(NODES)).status == (await client.nsml("/projects")).status == 200


@pytest.mark.parametrize(
    "order",
    [
        {"kind": "fail_node", "node_id": "unknown"},
        {"kind": "recover_node", "node_id": "unknown"},
        {"kind": "hold_fabric", "fabric_id": "unknown"},
        {"kind": "kill_region", "environment": "e", "region": "kr-south1"},
        {"kind": "fail_run", "run_name": "unknown"},
        {"kind": "fail_run_node", "rank": 1000},
        {"kind": "fail_run_node", "rank": -1},
    ],
)
async def test_an_unknown_target_is_not_found(client: Client, order: dict[str, object]) -> None:
    """A drill on something that isn't there gets 404 and says so."""
    reply = await client.own("/_drills", "POST", order)
    assert reply.status == 404
    assert "no such" in reply.json["error"]


@pytest.mark.parametrize("order", [{}, {"kind": "x"}, {"kind": "rotate_keys", "cloud": "x"}, []])
async def test_what_is_no_drill_is_refused(client: Client, order: object) -> None:
    """An unknown kind or value gets 400."""
    assert (await client.own("/_drills", "POST", order)).status == 400


def test_from_python_an_unknown_target_is_a_lookup_error(client: Client) -> None:
    """The drills are methods too, and say what is wrong."""
    with pytest.raises(UnknownTarget, match="no such GPU node"):
        client.simulator.drills.fail_node("unknown")
