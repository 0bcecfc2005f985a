"""How the objects of SCP are shown in answers: one model each, and a node's JSON once a change."""

from collections.abc import Callable

from exporter.simulator.facts import Facts
from exporter.simulator.fleet import Fabric, Image, Node, Pool, Product, Region
from exporter.simulator.scp_models import (
    ClusterFabricDetailsResponse,
    ClusterFabricShowResponse,
    GpuNodeDetailsResponse,
    GpuNodeImageShowResponse,
    GpuNodeProductAttr,
    GpuNodeProductShowResponse,
    GpuNodeShowResponse,
    NodePoolShowResponse,
    ZonedGpuNodeShowResponse,
)
from exporter.simulator.spelling import image_time, scp_time

PRODUCT_TYPE = "SCALE"
TIME_ZONE = "Asia/Seoul"

NODE_SORTS: dict[str, Callable[[Node], str | float]] = {
    "created_at": lambda node: node.created_at,
    "modified_at": lambda node: node.modified_at,
    "gpu_node_name": lambda node: node.name,
    "state": lambda node: node.state,
    "id": lambda node: node.id,
}
FABRIC_SORTS: dict[str, Callable[[Fabric], str | float]] = {
    "created_at": lambda fabric: fabric.created_at,
    "modified_at": lambda fabric: fabric.modified_at,
    "cluster_name": lambda fabric: fabric.name,
    "state": lambda fabric: fabric.state,
    "id": lambda fabric: fabric.id,
}


def node_text(node: Node, region: Region, facts: Facts, *, zoned: bool) -> str:
    """Return the JSON of a node, with its zone where the version has one."""
    style = f"{facts.scp_times} {zoned}"
    text = node.rendered.get(style)
    if text is None:
        row = _node_row(node, region, facts)
        if zoned:
            zone = node.fabric.pool.id.rpartition("-")[2]
            row = ZonedGpuNodeShowResponse(**row.model_dump(), zone=zone)
        text = node.rendered[style] = row.model_dump_json()
    return text


def _node_row(node: Node, region: Region, facts: Facts) -> GpuNodeShowResponse:
    return GpuNodeShowResponse(
        account_id=region.account_id,
        cluster_fabric_id=node.fabric.id,
        cluster_fabric_name=node.fabric.name,
        created_at=scp_time(facts, node.created_at),
        created_by=node.created_by,
        gpu_node_name=node.name,
        id=node.id,
        image_id=node.image.id,
        image_version=node.image.name,
        init_script=node.init_script,
        lock_enabled=node.locked,
        modified_at=scp_time(facts, node.modified_at),
        modified_by=node.created_by,
        network_id=node.subnet_id,
        node_pool_id=node.fabric.pool.id,
        os_type=node.image.distro,
        pfs_ip=list(node.pfs_ips),
        policy_ip=node.policy_ip,
        policy_nat=node.nat_ip,
        policy_use_nat=node.nat_ip is not None,
        product_type_id=node.product.id,
        region_id=region.place.region,
        root_account=node.root_account,
        server_type=node.product.name,
        state=node.state,
        time_zone=TIME_ZONE,
        vpc_id=node.vpc_id,
    )


def fabric_text(fabric: Fabric, region: Region, facts: Facts) -> str:
    """Return the JSON of a fabric with its members."""
    return ClusterFabricShowResponse(
        account_id=region.account_id,
        cluster_name=fabric.name,
        created_at=scp_time(facts, fabric.created_at),
        created_by=fabric.created_by,
        description="",
        gpu_node_details=[_member(node) for node in fabric.nodes.values()],
        id=fabric.id,
        modified_at=scp_time(facts, fabric.modified_at),
        modified_by=fabric.created_by,
        node_pool_id=fabric.pool.id,
        pirp_id=fabric.pirp_id,
        product_id=fabric.product.id,
        region_id=region.place.region,
        server_type=fabric.product.name,
        state=fabric.state,
        used_server_count=len(fabric.nodes),
    ).model_dump_json()


def _member(node: Node) -> GpuNodeDetailsResponse:
    return GpuNodeDetailsResponse(
        gpu_node_id=node.id,
        gpu_node_name=node.name,
        policy_ip=node.policy_ip,
        product_type_id=node.product.id,
        server_type=node.product.name,
        state=node.state,
    )


def pool_row(pool: Pool, region: Region, fabric_id: str | None) -> NodePoolShowResponse | None:
    """Return a pool with its fabrics, or None where the fabric asked for is in another."""
    fabrics = [
        ClusterFabricDetailsResponse(
            cluster_fabric_id=fabric.id,
            cluster_fabric_name=fabric.name,
            product_id=fabric.product.id,
        )
        for fabric in region.fabrics.values()
        if fabric.pool is pool
    ]
    if fabric_id and all(fabric.cluster_fabric_id != fabric_id for fabric in fabrics):
        return None
    return NodePoolShowResponse(cluster_fabric_details=fabrics, node_pool_id=pool.id)


def product_row(product: Product, region: Region, facts: Facts) -> GpuNodeProductShowResponse:
    """Return a product."""
    created = scp_time(facts, product.created_at)
    return GpuNodeProductShowResponse(
        created_at=created,
        created_by=region.account_id,
        description=(
            f"vCPU {product.vcpus} │ Memory {product.memory_gb}G │ Disk {product.disk_gb}G"
        ),
        id=product.id,
        modified_at=created,
        modified_by=region.account_id,
        name=product.name,
        product_attrs=GpuNodeProductAttr(
            compute_class_type_name=product.compute_class,
            compute_class_type_value=f"{product.name[:2]}_metal",
            cpu_value=str(product.vcpus),
            disk_unit="GB",
            disk_value=str(product.disk_gb),
            gpu_model=product.gpu_model,
            memory_value=str(product.memory_gb),
        ),
        state=product.state,
        type=PRODUCT_TYPE,
    )


def image_row(image: Image, facts: Facts) -> GpuNodeImageShowResponse:
    """Return an image."""
    priority = image.priority
    return GpuNodeImageShowResponse(
        created_at=image_time(image.created_at),
        id=image.id,
        name=image.name,
        os_distro=image.distro,
        priority=str(priority) if facts.scp_image_priority == "text" else priority,
        scp_image_type="STANDARD",
        scp_os_version=image.version,
    )
