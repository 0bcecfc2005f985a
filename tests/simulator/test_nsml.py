"""The simulated NSML."""

import re

import pytest

from exporter.simulator.runs import Run
from tests.simulator.cloud_client import Client

# The example of the API page, with ids of the same length.
NODE = {
    "nodeId": "abcdef0lonwq7kabcdef",
    "projectId": "abcdefygz0iujnabcdef",
    "projectName": "project",
    "runName": "2",
    "state": "NODE_STATE_RUNNING",
    "resourceType": "[Notebook] 4vCPU, 16GB Mem",
    "containerImage": "nvcr.io/nvidia/tensorflow:21.02-tf1-py3",
    "rank": 0,
    "exitCode": -1,
    "host": "203.0.113.166",
    "sshPort": 15001,
    "tcpPorts": [15002, 15003],
    "command": "",
    "createTime": "2024-09-03T01:38:26",
    "updateTime": "2024-09-03T01:39:51",
}


def runs(client: Client) -> list[Run]:
    """Return all runs."""
    projects = client.simulator.world.projects.values()
    return [run for project in projects for run in project.runs.values()]


def path_of(run: Run) -> str:
    """Return the path of a run."""
    return f"/projects/{run.project.id}/runs/{run.name}"


async def test_a_node_has_the_fields_of_the_page(client: Client) -> None:
    """The nodes of every run have the names and types of the page's example, in its order."""
    for run in runs(client):
        reply = (await client.nsml(f"{path_of(run)}/nodes?pageSize=100")).json
        assert set(reply) == {"nodes", "totalCount"}
        assert reply["totalCount"] == len(reply["nodes"]) == len(run.nodes)
        for row in reply["nodes"]:
            assert list(row) == list(NODE)
            assert [type(value) for value in row.values()] == [type(it) for it in NODE.values()]


async def test_the_lists_have_their_documented_fields(client: Client) -> None:
    """Projects and runs carry the fields that are known of them."""
    projects = (await client.nsml("/projects")).json
    assert set(projects) == {"projects", "totalCount"}
    assert set(projects["projects"][0]) == {
        "projectId", "projectName", "status", "runCount", "nodeCount", "createdDate", "updatedDate",
    }  # fmt: skip
    listed = (await client.nsml("/projects/runs?pageSize=100")).json
    assert set(listed) == {"runList", "totalCount"}
    assert set(listed["runList"][0]) == {
        "runName", "runType", "projectId", "projectName", "status", "creator", "createTime",
        "updateTime",
    }  # fmt: skip
    assert len(listed["runList"]) == len(runs(client))
    assert all(row["runName"].isdigit() for row in listed["runList"])


async def test_a_run_is_shown_as_it_is_listed(client: Client) -> None:
    """The detail of a run is its row of the list."""
    row = (await client.nsml("/projects/runs")).json["runList"][0]
    path = f"/projects/{row['projectId']}/runs/{row['runName']}"
    assert (await client.nsml(path)).json == row


async def test_times_name_no_zone_and_differ(client: Client) -> None:
    """A node's time is UTC, a run's Korean: one moment is written nine hours apart."""
    run = runs(client)[0]
    shown = (await client.nsml(path_of(run))).json["createTime"]
    node = (await client.nsml(f"{path_of(run)}/nodes")).json["nodes"][0]["createTime"]
    assert run.created_at == run.nodes[0].created_at
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", shown)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", node)
    assert (int(shown[11:13]) - int(node[11:13])) % 24 == 9
    client.simulator.choose(nsml_run_times="utc")
    assert (await client.nsml(path_of(run))).json["createTime"] == node.replace("T", " ")


async def test_ended_nodes_have_an_exit_code(client: Client) -> None:
    """A node that runs has the exit code -1, one of a completed run 0."""
    for run in runs(client):
        rows = (await client.nsml(f"{path_of(run)}/nodes")).json["nodes"]
        assert {row["exitCode"] for row in rows} == ({-1} if run.running else {0})


@pytest.mark.parametrize("size", [1, 3, 100])
async def test_pages_count_from_one(client: Client, size: int) -> None:
    """A walk from page 1 finds every run once; a page after the last is empty."""
    found = []
    for page in range(1, -(-len(runs(client)) // size) + 1):
        rows = (await client.nsml(f"/projects/runs?page={page}&pageSize={size}")).json["runList"]
        found += [(row["projectId"], row["runName"]) for row in rows]
    assert len(found) == len(set(found)) == len(runs(client))
    beyond = (await client.nsml(f"/projects/runs?page=99&pageSize={size}")).json
    assert beyond == {"runList": [], "totalCount": len(runs(client))}


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "pageSize=0", "pageSize=1000000000", "pageSize="]
)
async def test_bad_parameters_are_refused(client: Client, query: str) -> None:
    """A page or size that is none gets 400 with the code for it."""
    reply = await client.nsml(f"/projects/runs?{query}")
    assert (reply.status, reply.json["error"]["errorCode"]) == (400, "100")


@pytest.mark.parametrize(
    "path",
    ["/projects/unknown/runs/1", "/projects/unknown/runs/1/nodes", "/nothing", "", "/projects/x"],
)
async def test_unknown_things_are_not_found(client: Client, path: str) -> None:
    """An unknown project, run or path gets 404 with the code for it."""
    reply = await client.nsml(path)
    assert (reply.status, reply.json["error"]["errorCode"]) == (404, "300")


async def test_a_run_of_another_project_is_not_found(client: Client) -> None:
    """A run's name means nothing outside its project."""
    first, second = client.simulator.world.projects.values()
    del second.runs["1"]
    assert (await client.nsml(f"/projects/{first.id}/runs/1")).status == 200
    assert (await client.nsml(f"/projects/{second.id}/runs/1")).status == 404


async def test_hosts_and_ports_are_nobody_elses(client: Client) -> None:
    """No two nodes share an address with its port."""
    ends = [(node.host, port) for run in runs(client) for node in run.nodes for port in node.ports]
    assert len(set(ends)) == len(ends)
