"""The 16 operations of the API page, each against the page's own example."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.simulator.fleet import Fabric, Node, Region
from exporter.simulator.scp_routes import ROUTES
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import Client

EXAMPLES: dict[str, Any] = json.loads((Path(__file__).parent / "scp_examples.json").read_text())
NULLABLE = ("policy_nat",)
LISTS = ("/v1/gpu-nodes", "/v1/gpu-nodes/products", "/v1/cluster-fabrics")
NAMELESS = {f"GET {path}" for path in (*LISTS, "/v1/cluster-fabrics/node-pools")}


def has_shape(example: object, actual: object) -> bool:
    """Say whether a value has the field names and types of an example, all the way down."""
    if isinstance(example, dict):
        return (
            isinstance(actual, dict)
            and example.keys() == actual.keys()
            and all(
                has_shape(value, actual[name]) or (actual[name] is None and name in NULLABLE)
                for name, value in example.items()
            )
        )
    if isinstance(example, list):
        return isinstance(actual, list) and all(
            has_shape(example[0], each) for each in actual if example
        )
    return type(example) is type(actual)


def region_of(simulator: Simulator) -> Region:
    """Return the region that the client calls by default."""
    return next(iter(simulator.world.regions.values()))


def node_in(simulator: Simulator, state: str, *, locked: bool = False) -> Node:
    """Return a node of the region in that state, public, locked or not."""
    node = next(iter(region_of(simulator).nodes.values()))
    node.locked = locked
    node.nat_ip = "198.18.0.1"
    simulator.world.change(node, state)
    return node


def two_fabrics(simulator: Simulator) -> tuple[Fabric, Fabric]:
    """Return two fabrics of the region, put into one pool."""
    first, second, *_ = region_of(simulator).fabrics.values()
    second.pool = first.pool
    return first, second


def creation(simulator: Simulator, servers: int = 2) -> dict[str, Any]:
    """Return the page's own request to create nodes, with ids that exist."""
    region = region_of(simulator)
    pool = next(iter(region.pools.values()))
    body = json.loads(json.dumps(EXAMPLES["POST /v1/gpu-nodes"]["request"]))
    details = {"cluster_fabric_id": None, "cluster_fabric_name": "new001", "node_pool_id": pool.id}
    server = body["server_details"][0] | {"server_type_id": next(iter(region.products))}
    body["server_details"] = [
        server | {"gpu_node_name": f"new001-{number:03d}", "ip_address": None}
        for number in range(1, servers + 1)
    ]
    return {
        **body,
        "cluster_fabric_details": details,
        "image_id": next(iter(region.images)),
        "region_id": region.place.region,
        "subnet_id": pool.subnet_id,
        "vpc_id": region.vpc_id,
    }


def request_for(simulator: Simulator, operation: str) -> tuple[str, str, object]:
    """Return method, path and body of a good request for an operation of the page."""
    region = region_of(simulator)
    fabrics = two_fabrics(simulator)
    method, _, path = operation.partition(" ")
    state = "STOPPED" if path.endswith("start") else "RUNNING"
    node = node_in(simulator, state)
    if method == "POST" and path.endswith("public-nat-ip"):
        node.nat_ip = None
    bodies: dict[str, object] = {
        "POST /v1/gpu-nodes": creation(simulator),
        "POST /v1/cluster-fabrics/modify-members": {
            "after_cluster_fabric_id": fabrics[node.fabric is fabrics[0]].id,
            "before_cluster_fabric_id": node.fabric.id,
            "gpu_node_id_list": [node.id],
        },
        "POST /v1/gpu-nodes/{gpu_node_id}/public-nat-ip": {"public_ip_address_id": ""},
    }
    ids = {"gpu_node_ids": [node.id]} if "request" in EXAMPLES[operation] else None
    path = path.format(gpu_node_id=node.id, cluster_fabric_id=node.fabric.id)
    if path.endswith("images"):
        path += f"?region_id={region.place.region}"
    return method, path, bodies.get(operation, ids)


def test_the_table_holds_the_operations_of_the_page() -> None:
    """There are 16 operations, with the methods, paths and status codes of the page."""
    table = {f"{route.method} {route.path}": route.status for route in ROUTES}
    assert table == {name: example["status"] for name, example in EXAMPLES.items()}
    assert len(table) == 16


@pytest.mark.parametrize("operation", EXAMPLES)
async def test_an_operation_answers_as_the_page_shows(client: Client, operation: str) -> None:
    """Status, field names and types of the answer are those of the page's example."""
    example = EXAMPLES[operation]
    method, path, body = request_for(client.simulator, operation)
    if body is not None and operation != "POST /v1/gpu-nodes":
        assert has_shape(example["request"], body)
    reply = await client.scp(path, method, body)
    assert reply.status == example["status"], reply.text
    assert has_shape(example["response"], reply.json)
    assert reply.headers["scp-request-id"].startswith("req-")


@pytest.mark.parametrize("operation", [name for name in EXAMPLES if name not in NAMELESS])
@pytest.mark.parametrize("place", ["s/kr-east1", "g/kr-south2"])
async def test_an_object_of_another_region_is_not_found(
    client: Client, operation: str, place: str
) -> None:
    """Ids of one region mean nothing in another: 404, or 400 where the region itself is named."""
    method, path, body = request_for(client.simulator, operation)
    reply = await client.scp(path, method, body, place=place)
    assert reply.status == (400 if "region_id" in f"{path}{body}" else 404)
    assert reply.json["errors"][0]["detail"]


@pytest.mark.parametrize("operation", [name for name in EXAMPLES if "request" in EXAMPLES[name]])
@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b"{}", b'"text"', b"\xff\xfe"])
async def test_a_bad_body_is_a_validation_error(
    client: Client, operation: str, body: bytes
) -> None:
    """Wrong JSON and missing fields get 400 in the service's shape."""
    method, path, _ = request_for(client.simulator, operation)
    reply = await client.scp(path, method, body)
    assert (reply.status, reply.json["errors"][0]["code"]) == (400, "ValidationError")


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/v1/gpu-nodes", "DELETE"),
        ("/v1/gpu-nodes/start", "POST"),
        ("/v1/gpu-nodes/stop", "POST"),
    ],
)
@pytest.mark.parametrize("ids", [[], [1], [None], ["unknown"], ["x" * 300], ["\u0000"], "text"])
async def test_bad_ids_are_refused(client: Client, path: str, method: str, ids: object) -> None:
    """A list of ids that is empty, of another type or unknown gets 400 or 404."""
    reply = await client.scp(path, method, {"gpu_node_ids": ids})
    assert reply.status == (404 if ids == ["unknown"] else 400)


async def test_a_locked_node_can_not_be_terminated(client: Client) -> None:
    """The error names the node, and nothing is terminated, not even the unlocked one."""
    node = node_in(client.simulator, "RUNNING", locked=True)
    other = next(it for it in region_of(client.simulator).nodes.values() if it is not node)
    other.locked = False
    body = {"gpu_node_ids": [other.id, node.id]}
    reply = await client.scp("/v1/gpu-nodes", "DELETE", body)
    assert reply.status == 400
    assert "locked" in reply.detail
    assert node.name in reply.detail
    assert other.state != "TERMINATING"
    assert (await client.scp(f"/v1/gpu-nodes/{node.id}/unlock", "PUT")).status == 200
    assert (await client.scp("/v1/gpu-nodes", "DELETE", body)).status == 202


@pytest.mark.parametrize(
    ("path", "method", "state"),
    [
        ("/v1/gpu-nodes/start", "POST", "RUNNING"),
        ("/v1/gpu-nodes/stop", "POST", "STOPPED"),
        ("/v1/gpu-nodes/stop", "POST", "STOPPING"),
        ("/v1/gpu-nodes", "DELETE", "CREATING"),
        ("/v1/gpu-nodes", "DELETE", "TERMINATING"),
    ],
)
async def test_a_node_in_the_wrong_state_is_left_alone(
    client: Client, path: str, method: str, state: str
) -> None:
    """What a node can't do in its state is refused with 400, which names the state."""
    node = node_in(client.simulator, state)
    reply = await client.scp(path, method, {"gpu_node_ids": [node.id]})
    assert reply.status == 400
    assert state in reply.detail
    assert node.state == state


async def test_nat_is_neither_given_nor_taken_twice(client: Client) -> None:
    """A second address is refused, and so is the release of none."""
    node = node_in(client.simulator, "RUNNING")
    path = f"/v1/gpu-nodes/{node.id}/public-nat-ip"
    assert (await client.scp(path, "POST", {"public_ip_address_id": "x"})).status == 400
    node.nat_ip = None
    assert (await client.scp(path, "DELETE")).status == 400


async def test_nodes_move_only_within_their_pool(client: Client) -> None:
    """A move to a fabric of another pool, to the same fabric, or of strangers is refused."""
    first, second = two_fabrics(client.simulator)
    node = next(iter(first.nodes.values()))
    stranger = next(iter(second.nodes.values()))
    path = "/v1/cluster-fabrics/modify-members"

    async def move(before: Fabric, after: Fabric, moved: Node) -> int:
        body = {
            "before_cluster_fabric_id": before.id,
            "after_cluster_fabric_id": after.id,
            "gpu_node_id_list": [moved.id],
        }
        return (await client.scp(path, "POST", body)).status

    assert await move(first, first, node) == 400
    assert await move(first, second, stranger) == 400
    pools = region_of(client.simulator).pools
    pools["other"] = type(first.pool)("other", "subnet")
    second.pool = pools["other"]
    assert await move(first, second, node) == 400
    second.pool = first.pool
    assert await move(first, second, node) == 202


async def test_a_new_fabric_needs_two_nodes(client: Client) -> None:
    """One node makes no fabric; one more in a fabric that exists is fine."""
    alone = creation(client.simulator, servers=1)
    reply = await client.scp("/v1/gpu-nodes", "POST", alone)
    assert (reply.status, reply.detail) == (
        400,
        "A new cluster fabric needs two GPU nodes at least",
    )
    fabric = next(iter(region_of(client.simulator).fabrics.values()))
    alone["cluster_fabric_details"] = {
        "cluster_fabric_id": fabric.id,
        "cluster_fabric_name": fabric.name,
        "node_pool_id": fabric.pool.id,
    }
    alone["subnet_id"] = fabric.pool.subnet_id
    size = len(fabric.nodes)
    assert (await client.scp("/v1/gpu-nodes", "POST", alone)).status == 202
    assert (len(fabric.nodes), fabric.state) == (size + 1, "EDITING")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"region_id": "kr-east1"}, 400),
        ({"vpc_id": "unknown"}, 404),
        ({"subnet_id": "unknown"}, 404),
        ({"image_id": "unknown"}, 404),
        ({"tags": "text"}, 400),
        ({"lock_enabled": "yes"}, 400),
        ({"server_details": []}, 400),
        ({"cluster_fabric_details": None}, 400),
    ],
)
async def test_a_creation_with_a_wrong_part_is_refused(
    client: Client, change: dict[str, object], status: int
) -> None:
    """An unknown part gets 404, a mistyped one 400; the password is never repeated."""
    before = len(region_of(client.simulator).nodes)
    body = {**creation(client.simulator), **change, "os_user_password": "hunter2hunter2"}
    reply = await client.scp("/v1/gpu-nodes", "POST", body)
    assert reply.status == status
    assert "hunter2" not in reply.text
    assert len(region_of(client.simulator).nodes) == before


@pytest.mark.parametrize(
    "change",
    [
        {"ip_address": "not an address"},
        {"ip_address": "10.16.0.11"},
        {"gpu_node_name": "new001-001"},
        {"gpu_node_name": "Bad Name"},
        {"server_type_id": 5},
    ],
)
async def test_new_nodes_differ_from_those_that_exist(
    client: Client, change: dict[str, object]
) -> None:
    """A name or address that is taken, or is none, is refused."""
    body = creation(client.simulator)
    body["server_details"][1] |= change
    assert (await client.scp("/v1/gpu-nodes", "POST", body)).status == 400


async def test_fabric_names_are_taken_once_and_pools_are_kept(client: Client) -> None:
    """A new fabric of a name that exists is refused, and so is an old one in another pool."""
    body = creation(client.simulator)
    fabric = next(iter(region_of(client.simulator).fabrics.values()))
    body["cluster_fabric_details"]["cluster_fabric_name"] = fabric.name
    assert (await client.scp("/v1/gpu-nodes", "POST", body)).status == 400
    fabric.pool = type(fabric.pool)("elsewhere", "subnet")
    body["cluster_fabric_details"]["cluster_fabric_id"] = fabric.id
    assert (await client.scp("/v1/gpu-nodes", "POST", body)).status == 400


async def test_a_creation_answers_all_ids_with_commas(client: Client) -> None:
    """The ids in `resource_id` are those of the nodes that are then shown, CREATING."""
    reply = await client.scp("/v1/gpu-nodes", "POST", creation(client.simulator, servers=3))
    ids = reply.json["resource_id"].split(",")
    assert len(ids) == 3
    for node_id in ids:
        shown = (await client.scp(f"/v1/gpu-nodes/{node_id}")).json
        assert (shown["state"], shown["policy_use_nat"]) == ("CREATING", True)
