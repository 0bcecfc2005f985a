"""Facts that the documentation leaves open: the simulator can behave every way."""

from typing import get_args

import pytest
from pydantic import ValidationError

from exporter.simulator.facts import Facts
from exporter.simulator.run_lifecycle import RunLifecycle
from exporter.simulator.runs import Run
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import Client, Reply

NODES = "/v1/gpu-nodes?size=3"


def run_of(client: Client, *, running: bool) -> Run:
    """Return a run that goes on, or is over."""
    projects = client.simulator.world.projects.values()
    runs = [run for project in projects for run in project.runs.values()]
    return next(run for run in runs if run.running is running and len(run.nodes) > 1)


async def nodes_of(client: Client, run: Run, query: str = "") -> Reply:
    """Ask for the nodes of a run."""
    return await client.nsml(f"/projects/{run.project.id}/runs/{run.name}/nodes{query}")


@pytest.mark.parametrize("fact", Facts.model_fields)
async def test_every_fact_has_choices_of_which_the_first_is_the_default(
    client: Client, fact: str
) -> None:
    """Each fact can be chosen over HTTP, each of its ways, and both clouds go on answering."""
    field = Facts.model_fields[fact]
    choices = get_args(field.annotation)
    assert len(choices) >= 2
    assert field.default == choices[0]
    assert field.description
    for choice in choices:
        reply = await client.own("/_facts", "PATCH", {fact: choice})
        assert (reply.status, reply.json[fact]) == (200, choice)
        assert getattr(client.simulator.facts, fact) == choice
        assert (await client.nsml("/projects")).status == 200
        assert (await client.scp("/")).status == 200


@pytest.mark.parametrize("body", [{"unknown": "x"}, {"scp_count": "other"}, [], "text"])
async def test_what_is_no_fact_is_refused(client: Client, body: object) -> None:
    """An unknown fact or choice is refused, and nothing changes."""
    assert (await client.own("/_facts", "PATCH", body)).status == 400
    assert client.simulator.facts == Facts()
    assert (await client.own("/_facts")).json == Facts().model_dump()
    with pytest.raises(ValidationError):
        client.simulator.choose(unknown="x")


def test_facts_are_chosen_at_the_start_too() -> None:
    """A simulator can be made with its facts."""
    simulator = Simulator(14, alive=False, facts=Facts(scp_fabric_state="ACTIVE"))
    fabrics = [it for region in simulator.truth().scp for it in region.cluster_fabrics]
    assert {fabric.state for fabric in fabrics} == {"ACTIVE"}
    simulator.choose(scp_fabric_state="RUNNING")
    fabrics = [it for region in simulator.truth().scp for it in region.cluster_fabrics]
    assert {fabric.state for fabric in fabrics} == {"RUNNING"}


@pytest.mark.parametrize(
    ("choice", "expected"), [("page", {"count": 3}), ("null", {"count": None}), ("absent", {})]
)
@pytest.mark.parametrize("name", ["gpu_nodes", "node_pools"])
async def test_count(client: Client, choice: str, expected: dict[str, object], name: str) -> None:
    """`count` is of the page, null, or left out."""
    client.simulator.choose(scp_count=choice)
    paths = {"gpu_nodes": NODES, "node_pools": "/v1/cluster-fabrics/node-pools"}
    reply = (await client.scp(paths[name])).json
    if expected.get("count"):
        expected = {"count": len(reply[name])}
    assert {key: value for key, value in reply.items() if key != name} == expected


@pytest.mark.parametrize(
    ("choice", "size", "rows"),
    [
        ("honoured", 150, 150),
        ("capped", 150, 100),
        ("capped", 30, 30),
        ("ignored", 150, 20),
        ("everything", 5, 200),
    ],
)
async def test_size(choice: str, size: int, rows: int, client: Client) -> None:
    """A size is honoured, capped, ignored, or every row comes whatever the size."""
    region = next(iter(client.simulator.world.regions.values()))
    model = next(iter(region.nodes.values()))
    region.nodes.update({str(number): model for number in range(200 - len(region.nodes))})
    client.simulator.choose(scp_size=choice)
    assert len((await client.scp(f"/v1/gpu-nodes?size={size}")).json["gpu_nodes"]) == rows


async def test_size_refused(client: Client) -> None:
    """A size above 100 is refused with 400, one of 100 is not."""
    client.simulator.choose(scp_size="refused")
    assert (await client.scp("/v1/gpu-nodes?size=101")).status == 400
    assert (await client.scp("/v1/gpu-nodes?size=100")).status == 200


async def test_order(client: Client) -> None:
    """The same request gives the same rows in another order; with `sort` in one."""
    client.simulator.choose(scp_order="changing")
    orders = set()
    for _ in range(5):
        rows = (await client.scp("/v1/gpu-nodes")).json["gpu_nodes"]
        orders.add(tuple(row["id"] for row in rows))
    assert len(orders) == 5
    assert len({frozenset(order) for order in orders}) == 1


async def test_node_pools_live(client: Client) -> None:
    """Without a parameter node pools are refused, with a fabric's id they are found."""
    client.simulator.choose(scp_node_pools="live")
    fabric_id = next(iter(next(iter(client.simulator.world.regions.values())).fabrics))
    path = "/v1/cluster-fabrics/node-pools"
    assert (await client.scp(path)).status == 400
    reply = await client.scp(f"{path}?cluster_fabric_id={fabric_id}")
    assert len(reply.json["node_pools"]) == 1


@pytest.mark.parametrize(
    ("choice", "current", "old"),
    [
        ("page", "v1.2", "CURRENT"),
        ("successor", "v1.3", "SUPPORTED"),
        ("deprecated", "v1.3", "DEPRECATED"),
        ("expired", "v1.3", "DEPRECATED"),
        ("withdrawn", "v1.3", None),
    ],
)
async def test_versions(client: Client, choice: str, current: str, old: str | None) -> None:
    """The version document tells which is current; 1.2 answers until its day has come."""
    client.simulator.choose(scp_versions=choice)
    listed = {it["id"]: it["status"] for it in (await client.scp("/")).json["versions"]}
    assert (listed[current], listed.get("v1.2")) == ("CURRENT", old)
    status = (await client.scp(NODES)).status
    assert status == (400 if choice in {"expired", "withdrawn"} else 200)


async def test_the_successor_adds_a_zone_for_those_who_ask_for_no_version(client: Client) -> None:
    """Without a version header the newest version answers: its rows have one field more."""
    client.simulator.choose(scp_versions="successor")
    assert "zone" not in (await client.scp(NODES)).json["gpu_nodes"][0]
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    headers = client.scp_headers("GET", url)
    del headers["Scp-Api-Version"]
    reply = await client.send("GET", url, headers)
    assert reply.json["gpu_nodes"][0]["zone"].startswith("krw1")


async def test_not_before(client: Client) -> None:
    """Dates of versions come with dashes, or without and a dash for none."""
    dashed = [it["not_before"] for it in (await client.scp("/")).json["versions"]]
    client.simulator.choose(scp_not_before="compact")
    compact = [it["not_before"] for it in (await client.scp("/")).json["versions"]]
    assert dashed == ["2026-02-23", "2026-03-31", "2025-12-31"]
    assert compact == ["-", "20260331", "20251231"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("zulu", "2027-01-15T08:00:00Z"),
        ("naive", "2027-01-15T08:00:00"),
        ("fraction", "2027-01-15T08:00:00.000000Z"),
        ("spaced", "2027-01-15 08:00:00"),
    ],
)
async def test_times(client: Client, choice: str, expected: str) -> None:
    """Times of nodes and fabrics are written in one of four ways."""
    region = next(iter(client.simulator.world.regions.values()))
    node = next(iter(region.nodes.values()))
    for item in (node, node.fabric):
        client.simulator.world.touch(item)
    client.simulator.choose(scp_times=choice)
    shown = (await client.scp(f"/v1/gpu-nodes/{node.id}")).json
    fabric = (await client.scp(f"/v1/cluster-fabrics/{node.fabric.id}")).json
    assert (shown["modified_at"], fabric["modified_at"]) == (expected, expected)


async def test_image_priority(client: Client) -> None:
    """The priority of an image is a number, or text."""
    path = "/v1/gpu-nodes/images?region_id=kr-west1"
    assert (await client.scp(path)).json["images"][0]["priority"] == 10
    client.simulator.choose(scp_image_priority="text")
    assert (await client.scp(path)).json["images"][0]["priority"] == "10"


async def test_bad_signature_as_text(client: Client) -> None:
    """The 401 for a bad signature can come as plain text."""
    client.simulator.choose(scp_bad_signature="text")
    client.clock = lambda: 0.0
    reply = await client.scp(NODES)
    assert (reply.status, reply.text) == (401, "HmacValidFail")


@pytest.mark.parametrize(("choice", "expected"), [("page", 2), ("absent", None)])
async def test_nsml_total(client: Client, choice: str, expected: int | None) -> None:
    """`totalCount` is of the page, or left out."""
    client.simulator.choose(nsml_total=choice)
    assert (await client.nsml("/projects/runs?pageSize=2")).json.get("totalCount") == expected


async def test_nsml_page_size_capped(client: Client) -> None:
    """A page size above 100 gives 100 rows."""
    run = run_of(client, running=True)
    run.nodes *= 200
    client.simulator.choose(nsml_page_size="capped")
    assert len((await nodes_of(client, run, "?pageSize=150")).json["nodes"]) == 100


async def test_nsml_tcp_ports(client: Client) -> None:
    """The ports come under the table's misspelt name."""
    client.simulator.choose(nsml_tcp_ports="tcpProts")
    row = (await nodes_of(client, run_of(client, running=True))).json["nodes"][0]
    assert "tcpPorts" not in row
    assert len(row["tcpProts"]) == 2


async def test_nsml_run_detail_wrapped(client: Client) -> None:
    """One run comes within an object."""
    client.simulator.choose(nsml_run_detail="wrapped")
    run = run_of(client, running=True)
    reply = (await client.nsml(f"/projects/{run.project.id}/runs/{run.name}")).json
    assert reply["run"]["runName"] == run.name


@pytest.mark.parametrize(("choice", "listed"), [("absent", 0), ("pending", 4)])
async def test_nsml_starting_ranks(client: Client, choice: str, listed: int) -> None:
    """Ranks that have not started are not listed, or pending."""
    client.simulator.choose(nsml_starting_ranks=choice)
    project = next(iter(client.simulator.world.projects.values()))
    run = RunLifecycle(client.simulator.world).start(project, 4)
    rows = (await nodes_of(client, run)).json["nodes"]
    assert [row["state"] for row in rows] == ["NODE_STATE_PENDING"] * listed


@pytest.mark.parametrize(("choice", "status", "rows"), [("empty", 200, 0), ("missing", 404, None)])
async def test_nsml_ended_nodes(client: Client, choice: str, status: int, rows: int | None) -> None:
    """Nodes of a run that is over are an empty list, or a 404; those of others are listed."""
    client.simulator.choose(nsml_ended_nodes=choice)
    reply = await nodes_of(client, run_of(client, running=False))
    assert reply.status == status
    assert rows is None or len(reply.json["nodes"]) == rows
    assert (await nodes_of(client, run_of(client, running=True))).json["nodes"]


@pytest.mark.parametrize(("choice", "code"), [("flat", "300"), ("flat_number", 300)])
async def test_nsml_errors(client: Client, choice: str, code: str | int) -> None:
    """Errors come without the outer object, with the code as text or as a number."""
    client.simulator.choose(nsml_errors=choice)
    assert (await client.nsml("/nothing")).json["errorCode"] == code


async def test_nsml_content_type(client: Client) -> None:
    """Good JSON can come as plain text."""
    client.simulator.choose(nsml_content_type="text/plain")
    reply = await client.nsml("/projects")
    assert reply.headers["Content-Type"] == "text/plain"
    assert reply.json["projects"]
