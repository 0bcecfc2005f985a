"""The changing operations of SCP: checked at once, carried out in simulated time."""

from collections.abc import Iterable, Sequence
from ipaddress import AddressValueError, IPv4Address
from typing import TypeVar

from exporter.simulator import scp_models as models
from exporter.simulator.calls import Answer
from exporter.simulator.errors import Refused
from exporter.simulator.fleet import Fabric, Node, Pool, Product, Region
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.routes import Asked, B, Nothing
from exporter.simulator.seeding import hex_id
from exporter.simulator.world import World

T = TypeVar("T")
LEAST_NODES = 2
AT_REST = ("RUNNING", "STOPPED")
TERMINABLE = ("RUNNING", "STOPPED", "ERROR", "UNKNOWN")


def create_nodes(region: Region, asked: Asked[Nothing, models.GpuNodeCreateRequest]) -> Answer:
    """Create nodes, in a new fabric (of two nodes at least) or in one that exists."""
    nodes = create(asked.world, region, asked.body)
    return _accepted(region, asked, (node.id for node in nodes))


def create(world: World, region: Region, body: models.GpuNodeCreateRequest) -> list[Node]:
    """Create the nodes of a request, which come up in time; raise Refused for a bad one."""
    pool = _check_site(region, body)
    details = body.server_details
    _known(region.images, body.image_id, "Image")
    products = [_known(region.products, each.server_type_id, "Server type") for each in details]
    _check_new(region, details)
    fabric = _fabric(world, region, body, pool, products[0])
    nodes = [_node(world, region, fabric, body, each) for each in details]
    Lifecycle(world, region).create(nodes)
    return nodes


def terminate_nodes(
    region: Region, asked: Asked[Nothing, models.GpuNodeTerminateRequest]
) -> Answer:
    """Terminate nodes, none of which may be locked."""
    nodes = _nodes(region, asked.body.gpu_node_ids)
    locked = [node.name for node in nodes if node.locked]
    if locked:
        raise Refused(400, f"GPU nodes are locked and can't be deleted: {', '.join(locked)}")
    _check_states(nodes, TERMINABLE)
    Lifecycle(asked.world, region).terminate(nodes)
    return _accepted(region, asked, (node.id for node in nodes))


def start_nodes(region: Region, asked: Asked[Nothing, models.GpuNodeOperationRequest]) -> Answer:
    """Start stopped nodes."""
    nodes = _nodes(region, asked.body.gpu_node_ids)
    _check_states(nodes, ("STOPPED",))
    Lifecycle(asked.world, region).start(nodes)
    return _accepted(region, asked, (node.id for node in nodes))


def stop_nodes(region: Region, asked: Asked[Nothing, models.GpuNodeOperationRequest]) -> Answer:
    """Stop running nodes."""
    nodes = _nodes(region, asked.body.gpu_node_ids)
    _check_states(nodes, ("RUNNING",))
    Lifecycle(asked.world, region).stop(nodes)
    return _accepted(region, asked, (node.id for node in nodes))


def lock_node(region: Region, asked: Asked[Nothing, Nothing]) -> Answer:
    """Protect a node from being terminated."""
    return _set_lock(region, asked, locked=True)


def unlock_node(region: Region, asked: Asked[Nothing, Nothing]) -> Answer:
    """Lift a node's protection."""
    return _set_lock(region, asked, locked=False)


def assign_nat(
    region: Region, asked: Asked[Nothing, models.GpuNodeAssignPublicNatIpRequest]
) -> Answer:
    """Give a node a public address."""
    (node,) = _nodes(region, [asked.ids["gpu_node_id"]])
    _check_states([node], AT_REST)
    if node.nat_ip is not None:
        raise Refused(400, "The GPU node has a public NAT IP already")
    Lifecycle(asked.world, region).set_nat(node, region.addresses.next_nat())
    return _done(202, node)


def release_nat(region: Region, asked: Asked[Nothing, Nothing]) -> Answer:
    """Take a node's public address away."""
    (node,) = _nodes(region, [asked.ids["gpu_node_id"]])
    _check_states([node], AT_REST)
    if node.nat_ip is None:
        raise Refused(400, "The GPU node has no public NAT IP")
    Lifecycle(asked.world, region).set_nat(node, None)
    return _done(202, node)


def modify_members(
    region: Region, asked: Asked[Nothing, models.ClusterFabricMemberModifyRequestBody]
) -> Answer:
    """Move nodes from one fabric to another of the same node pool."""
    body = asked.body
    source = _known(region.fabrics, body.before_cluster_fabric_id, "Cluster fabric")
    target = _known(region.fabrics, body.after_cluster_fabric_id, "Cluster fabric")
    if source is target:
        raise Refused(400, "The cluster fabrics before and after are the same")
    if source.pool is not target.pool:
        raise Refused(400, "The cluster fabrics are in different node pools")
    nodes = _nodes(region, body.gpu_node_id_list)
    if any(node.fabric is not source for node in nodes):
        raise Refused(400, "A GPU node is not a member of the cluster fabric before")
    _check_states(nodes, AT_REST)
    Lifecycle(asked.world, region).move(nodes, target)
    return _accepted(region, asked, [target.id])


def _known(items: dict[str, T], key: str, kind: str) -> T:
    if key not in items:
        raise Refused(404, f"{kind} not found")
    return items[key]


def _nodes(region: Region, ids: Iterable[str]) -> list[Node]:
    """Return the nodes of those ids, each once; raise Refused (404) for one that isn't there."""
    return [_known(region.nodes, node_id, "GPU node") for node_id in dict.fromkeys(ids)]


def _check_states(nodes: Sequence[Node], allowed: tuple[str, ...]) -> None:
    for node in nodes:
        if node.state not in allowed:
            raise Refused(400, f"The state of GPU node {node.name} is {node.state}")


def _check_site(region: Region, body: models.GpuNodeCreateRequest) -> Pool:
    """Check that region, network and pool of nodes to come belong together; return the pool."""
    if body.region_id != region.place.region:
        raise Refused(400, "region_id is not the region of this endpoint")
    if body.vpc_id != region.vpc_id:
        raise Refused(404, "VPC not found")
    pool = _known(region.pools, body.cluster_fabric_details.node_pool_id, "Node pool")
    if body.subnet_id != pool.subnet_id:
        raise Refused(404, "Subnet not found in the node pool")
    return pool


def _check_new(region: Region, details: Sequence[models.GpuNodeDetailsRequest]) -> None:
    """Check that names and addresses of nodes to come are new, and differ."""
    names = [node.name for node in region.nodes.values()] + [each.gpu_node_name for each in details]
    if len(set(names)) < len(names):
        raise Refused(400, "A GPU node of this name exists already")
    given = [_address(each.ip_address) for each in details if each.ip_address is not None]
    taken = {node.policy_ip for node in region.nodes.values()}
    if len(set(given)) < len(given) or taken & set(given):
        raise Refused(400, "The IP address is in use")


def _address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except AddressValueError as error:
        raise Refused(400, "ip_address is not an IPv4 address") from error


def _fabric(
    world: World, region: Region, body: models.GpuNodeCreateRequest, pool: Pool, product: Product
) -> Fabric:
    """Return the fabric that exists, or a new one, not listed yet."""
    details = body.cluster_fabric_details
    if details.cluster_fabric_id is not None:
        fabric = _known(region.fabrics, details.cluster_fabric_id, "Cluster fabric")
        if fabric.pool is not pool:
            raise Refused(400, "The cluster fabric is in another node pool")
        return fabric
    if len(body.server_details) < LEAST_NODES:
        raise Refused(400, "A new cluster fabric needs two GPU nodes at least")
    if any(each.name == details.cluster_fabric_name for each in region.fabrics.values()):
        raise Refused(400, "A cluster fabric of this name exists already")
    now = world.timeline.wall
    return Fabric(
        id=hex_id(world.chance),
        name=details.cluster_fabric_name,
        pool=pool,
        product=product,
        pirp_id=str(20 + len(region.fabrics)),
        created_by=region.account_id,
        created_at=now,
        modified_at=now,
    )


def _node(
    world: World,
    region: Region,
    fabric: Fabric,
    body: models.GpuNodeCreateRequest,
    details: models.GpuNodeDetailsRequest,
) -> Node:
    now = world.timeline.wall
    return Node(
        id=hex_id(world.chance),
        name=details.gpu_node_name,
        fabric=fabric,
        product=region.products[details.server_type_id],
        image=region.images[body.image_id],
        vpc_id=body.vpc_id,
        subnet_id=body.subnet_id,
        policy_ip=details.ip_address or region.addresses.next_policy(),
        pfs_ips=region.addresses.next_pfs(),
        root_account=body.os_user_id,
        created_by=region.account_id,
        created_at=now,
        modified_at=now,
        state="CREATING",
        init_script=body.init_script or "",
        nat_ip=region.addresses.next_nat() if details.nat_enabled else None,
        locked=body.lock_enabled,
    )


def _set_lock(region: Region, asked: Asked[Nothing, Nothing], *, locked: bool) -> Answer:
    (node,) = _nodes(region, [asked.ids["gpu_node_id"]])
    node.locked = locked
    asked.world.touch(node)
    return _done(200, node)


def _done(status: int, node: Node) -> Answer:
    body = models.GpuNodeActionResponse(gpu_node_id=node.id)
    return Answer(status, body.model_dump_json().encode())


def _accepted(region: Region, asked: Asked[Nothing, B], ids: Iterable[str]) -> Answer:
    body = models.AsyncResponse(
        account_id=region.account_id,
        request_id=f"req-{asked.call.id}",
        resource_id=",".join(ids),
    )
    return Answer(202, body.model_dump_json().encode())
