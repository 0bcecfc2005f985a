"""Lists of SCP: pages, filters, sorting, and what is refused."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from exporter.simulator import fleet
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import Client, SetClock

PLACES = ["/".join(place) for place in fleet.PLACES]


@pytest.fixture
async def crowded(clock: SetClock) -> AsyncIterator[Client]:
    """Give a client of a region with 101 nodes."""
    async with (
        Simulator(101, seed=2, clock=clock, alive=False, places=fleet.PLACES[:1]) as simulator,
        aiohttp.ClientSession() as session,
    ):
        yield Client(simulator, clock, session)


def ids(reply: object, name: str = "gpu_nodes") -> list[str]:
    """Return the ids of the rows in a list's document."""
    assert isinstance(reply, dict)
    return [row["id"] for row in reply[name]]


@pytest.mark.parametrize("place", PLACES)
async def test_every_region_answers_on_its_own(client: Client, place: str) -> None:
    """Each of the seven pairs lists nodes and fabrics of its own, which fit together."""
    nodes = (await client.scp("/v1/gpu-nodes?size=1000", place=place)).json
    fabrics = (await client.scp("/v1/cluster-fabrics?size=1000", place=place)).json
    pools = (await client.scp("/v1/cluster-fabrics/node-pools", place=place)).json
    assert nodes["count"] == len(nodes["gpu_nodes"]) > 0
    assert {row["region_id"] for row in nodes["gpu_nodes"]} == {place[2:]}
    fabric_rows, pool_rows = fabrics["cluster_fabrics"], pools["node_pools"]
    members = [node["gpu_node_id"] for row in fabric_rows for node in row["gpu_node_details"]]
    pooled = [it["cluster_fabric_id"] for row in pool_rows for it in row["cluster_fabric_details"]]
    assert sorted(members) == sorted(ids(nodes))
    assert sorted(pooled) == sorted(ids(fabrics, "cluster_fabrics"))


@pytest.mark.parametrize("place", ["e/kr-south1", "x/kr-west1", "e/", "e"])
async def test_there_are_no_other_regions(client: Client, place: str) -> None:
    """What is no pair of environment and region gets the gateway's 404."""
    reply = await client.scp("/v1/gpu-nodes", place=place)
    assert (reply.status, reply.json["error"]) == (404, "Not Found")


@pytest.mark.parametrize("size", [1, 7, 20, 100, 101, 1000])
async def test_pages_make_up_the_list(crowded: Client, size: int) -> None:
    """A walk over pages of any size finds all 101 nodes, each once; after it pages are empty."""
    found: list[str] = []
    for page in range(-(-101 // size)):
        found += ids((await crowded.scp(f"/v1/gpu-nodes?page={page}&size={size}")).json)
    assert len(found) == len(set(found)) == 101
    beyond = (await crowded.scp(f"/v1/gpu-nodes?page=200&size={size}")).json
    assert (beyond["count"], beyond["gpu_nodes"]) == (101, [])


async def test_a_page_has_20_rows_by_default(crowded: Client) -> None:
    """Without parameters the first 20 rows come, and the count of all."""
    reply = (await crowded.scp("/v1/gpu-nodes")).json
    assert (len(reply["gpu_nodes"]), reply["count"]) == (20, 101)


@pytest.mark.parametrize("field", ["created_at", "gpu_node_name", "state", "id"])
async def test_rows_are_sorted(crowded: Client, field: str) -> None:
    """`sort` orders by a field, both ways, over all pages."""
    rising = (await crowded.scp(f"/v1/gpu-nodes?size=200&sort={field}%3Aasc")).json["gpu_nodes"]
    falling = (await crowded.scp(f"/v1/gpu-nodes?size=200&sort={field}:desc")).json["gpu_nodes"]
    values = [row[field] for row in rising]
    assert values == sorted(values)
    assert [row[field] for row in falling] == values[::-1]


@pytest.mark.parametrize(
    ("parameter", "field"),
    [
        ("gpu_node_name", "gpu_node_name"),
        ("state", "state"),
        ("ip", "policy_ip"),
        ("ip", "policy_nat"),
        ("vpc_id", "vpc_id"),
        ("cluster_fabric_name", "cluster_fabric_name"),
        ("cluster_fabric_id", "cluster_fabric_id"),
    ],
)
async def test_nodes_are_filtered(crowded: Client, parameter: str, field: str) -> None:
    """A filter gives exactly the rows whose field has the value, and counts them."""
    rows = (await crowded.scp("/v1/gpu-nodes?size=200")).json["gpu_nodes"]
    value = next(row[field] for row in rows if row[field])
    reply = (await crowded.scp(f"/v1/gpu-nodes?size=200&{parameter}={value}")).json
    expected = [row for row in rows if row[field] == value]
    assert (reply["gpu_nodes"], reply["count"]) == (expected, len(expected))
    assert (await crowded.scp(f"/v1/gpu-nodes?{parameter}=nothing-like-it")).json["count"] == 0


@pytest.mark.parametrize(
    ("parameter", "field"),
    [("cluster_fabric_name", "cluster_name"), ("state", "state"), ("node_pool_id", "node_pool_id")],
)
async def test_fabrics_are_filtered(crowded: Client, parameter: str, field: str) -> None:
    """A filter gives exactly the fabrics whose field has the value."""
    rows = (await crowded.scp("/v1/cluster-fabrics?size=200")).json["cluster_fabrics"]
    value = rows[-1][field]
    reply = (await crowded.scp(f"/v1/cluster-fabrics?size=200&{parameter}={value}")).json
    assert reply["cluster_fabrics"] == [row for row in rows if row[field] == value]


async def test_states_are_compared_without_regard_to_case(crowded: Client) -> None:
    """`state=running` finds what is RUNNING."""
    reply = (await crowded.scp("/v1/gpu-nodes?state=running&size=1")).json
    assert reply["gpu_nodes"][0]["state"] == "RUNNING"


async def test_pools_are_found_by_fabric_subnet_and_id(client: Client) -> None:
    """Each of the three parameters finds its pool; a wrong value finds none."""
    region = next(iter(client.simulator.world.regions.values()))
    fabric = next(iter(region.fabrics.values()))
    for query in (
        f"cluster_fabric_id={fabric.id}",
        f"subnet_id={fabric.pool.subnet_id}",
        f"node_pool_id={fabric.pool.id}",
    ):
        path = f"/v1/cluster-fabrics/node-pools?{query}"
        pools = (await client.scp(path)).json["node_pools"]
        assert [pool["node_pool_id"] for pool in pools] == [fabric.pool.id]
        assert (await client.scp(f"{path}x")).json == {"count": 0, "node_pools": []}


async def test_products_are_found_by_type_and_image(client: Client) -> None:
    """All products are of one type and take every image."""
    image = (await client.scp("/v1/gpu-nodes/images?region_id=kr-west1")).json["images"][0]["id"]
    products = (await client.scp("/v1/gpu-nodes/products")).json["products"]
    for query, found in (
        (f"image_id={image}&type=SCALE", products),
        ("type=OTHER", []),
        ("image_id=x", []),
    ):
        assert (await client.scp(f"/v1/gpu-nodes/products?{query}")).json["products"] == found


@pytest.mark.parametrize("path", ["/v1/gpu-nodes", "/v1/cluster-fabrics"])
@pytest.mark.parametrize(
    "query",
    [
        "size=-1", "size=0", "size=1000000000", "size=", "size=abc", "size=1.5", "size=%00",
        "size=" + "9" * 5000, "page=-1", "page=", "page=1e3", "page=null",
        "sort=unknown", "sort=created_at:up", "sort=:", "sort=password:asc",
    ],
)  # fmt: skip
async def test_bad_parameters_are_validation_errors(client: Client, path: str, query: str) -> None:
    """Sizes, pages and orders that are none get 400 in the service's shape."""
    reply = await client.scp(f"{path}?{query}")
    assert reply.status == 400
    error = reply.json["errors"][0]
    assert set(error) == {
        "code", "title", "detail", "status", "request_id", "global_request_id",
        "links", "related_resources", "response",
    }  # fmt: skip
    assert (error["code"], error["status"]) == ("ValidationError", 400)


@pytest.mark.parametrize(
    "query",
    ["page=999999999999999999", "unknown=1", "state=%FF%FE", "size=1&size=2", "&&=", "ip=%"],
)
async def test_odd_parameters_do_no_harm(client: Client, query: str) -> None:
    """Pages far out, unknown names and odd encodings are answered."""
    assert (await client.scp(f"/v1/gpu-nodes?{query}")).status == 200


@pytest.mark.parametrize("query", ["", "?region_id=", "?region_id=kr-east1", "?region_id=x"])
async def test_images_are_of_the_region_that_is_named(client: Client, query: str) -> None:
    """Without `region_id`, or with another region's, images are refused with 400."""
    reply = await client.scp(f"/v1/gpu-nodes/images{query}")
    assert reply.status == 400
    if not query:
        assert reply.detail == "Field required"


@pytest.mark.parametrize(
    "path", ["/v1/gpu-nodes/unknown", "/v1/cluster-fabrics/unknown", "/v1/nothing", "/v2/gpu-nodes"]
)
async def test_unknown_things_are_not_found(client: Client, path: str) -> None:
    """An unknown id or path gets 404 in the service's shape."""
    reply = await client.scp(path)
    assert (reply.status, reply.json["errors"][0]["code"]) == (404, "NotFound")


async def test_a_wrong_method_is_not_allowed(client: Client) -> None:
    """A path that exists, asked by another method, gets 405 and says what is allowed."""
    reply = await client.scp("/v1/gpu-nodes", "PATCH", {})
    assert (reply.status, reply.headers["Allow"]) == (405, "DELETE, GET, POST")


async def test_a_changed_node_is_shown_as_it_is(client: Client) -> None:
    """A row that was shown before is not shown again once its node has changed."""
    row = (await client.scp("/v1/gpu-nodes?size=1")).json["gpu_nodes"][0]
    verb = "unlock" if row["lock_enabled"] else "lock"
    await client.scp(f"/v1/gpu-nodes/{row['id']}/{verb}", "PUT")
    again = (await client.scp(f"/v1/gpu-nodes/{row['id']}")).json
    assert again["lock_enabled"] is not row["lock_enabled"]
    assert again["modified_at"] == "2027-01-15T08:00:00Z"
