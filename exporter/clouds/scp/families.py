"""The metric families of Samsung Cloud Platform, one table for each resource."""

from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    GpuNode,
    Image,
    NodePool,
    Product,
)
from exporter.families import Info, Members, State, StateCounts, Table, Value
from exporter.states import Vocabulary

_NODES = "GET /v1/gpu-nodes"
_FABRICS = "GET /v1/cluster-fabrics"
_POOLS = "GET /v1/cluster-fabrics/node-pools"
_PRODUCTS = "GET /v1/gpu-nodes/products"
_IMAGES = "GET /v1/gpu-nodes/images"
_VERSIONS = "GET /, the version document"

_NODE = ("gpu_node_id", "gpu_node_name")
_FABRIC = ("cluster_fabric_id", "cluster_fabric_name")
_PRODUCT = ("product_id", "product_name")

NODE_STATES = (
    "CREATING",
    "RUNNING",
    "STARTING",
    "STOPPING",
    "STOPPED",
    "EDITING",
    "TERMINATING",
    "TERMINATED",
    "ERROR",
    "UNKNOWN",
)
FABRIC_STATES = ("CREATING", "ACTIVE", "RUNNING", "EDITING", "DELETING", "ERROR", "UNKNOWN")


def vocabularies() -> dict[str, Vocabulary]:
    """Return the states of each kind of object, none met yet."""
    kinds = {"gpu_node": NODE_STATES, "cluster_fabric": FABRIC_STATES}
    return {kind: Vocabulary(kind, states) for kind, states in kinds.items()}


GPU_NODES: Table[GpuNode] = Table(
    "gpu_nodes",
    (
        Info(
            name="scp_gpu_node_info",
            help="What is known of a GPU node, as labels of a series that is 1.",
            source=f"{_NODES}; gpu_model also from {_PRODUCTS}",
            labels=(
                *_NODE,
                "account_id",
                *_FABRIC,
                "node_pool_id",
                "server_type",
                "product_type_id",
                "gpu_model",
                "image_id",
                "image_version",
                "os_type",
                "vpc_id",
                "network_id",
                "policy_ip",
                "policy_nat",
            ),
        ),
        State(
            name="scp_gpu_node_state",
            help="The state of a GPU node: 1 for the state that it is in.",
            source=f"{_NODES}, field state",
            labels=_NODE,
            kind="gpu_node",
        ),
        Value(
            name="scp_gpu_node_gpus",
            help="GPUs in the node, as the name of its server type states them.",
            source=f"{_NODES}, field server_type",
            labels=_NODE,
            value="gpus",
        ),
        Value(
            name="scp_gpu_node_lock_enabled",
            help="Whether the node is protected from deletion.",
            source=f"{_NODES}, field lock_enabled",
            labels=_NODE,
            value="lock_enabled",
        ),
        Value(
            name="scp_gpu_node_public_nat_enabled",
            help="Whether the node has a public address by NAT.",
            source=f"{_NODES}, field policy_use_nat",
            labels=_NODE,
            value="policy_use_nat",
        ),
        Value(
            name="scp_gpu_node_pfs_addresses",
            help="Addresses of the node on the network of the parallel file storage.",
            source=f"{_NODES}, length of pfs_ip",
            labels=_NODE,
            value="pfs_addresses",
        ),
        Value(
            name="scp_gpu_node_created_timestamp_seconds",
            help="When the node was created, as Unix time.",
            source=f"{_NODES}, field created_at",
            labels=_NODE,
            value="created_at",
        ),
        Value(
            name="scp_gpu_node_modified_timestamp_seconds",
            help="When the node was last modified, as Unix time.",
            source=f"{_NODES}, field modified_at",
            labels=_NODE,
            value="modified_at",
        ),
        StateCounts(
            name="scp_gpu_nodes",
            help="GPU nodes by state.",
            source=f"{_NODES}, field state",
            labels=(*_FABRIC, "node_pool_id", "server_type"),
            kind="gpu_node",
            states=lambda node: (node.state_name,),
        ),
    ),
)

CLUSTER_FABRICS: Table[ClusterFabric] = Table(
    "cluster_fabrics",
    (
        Info(
            name="scp_cluster_fabric_info",
            help="What is known of a cluster fabric, as labels of a series that is 1.",
            source=_FABRICS,
            labels=(*_FABRIC, "account_id", "node_pool_id", "server_type", "product_id", "pirp_id"),
        ),
        State(
            name="scp_cluster_fabric_state",
            help="The state of a cluster fabric: 1 for the state that it is in.",
            source=f"{_FABRICS}, field state",
            labels=_FABRIC,
            kind="cluster_fabric",
        ),
        Value(
            name="scp_cluster_fabric_used_servers",
            help="Servers that the fabric uses, as the API counts them.",
            source=f"{_FABRICS}, field used_server_count",
            labels=_FABRIC,
            value="used_server_count",
        ),
        StateCounts(
            name="scp_cluster_fabric_nodes",
            help="Members of a cluster fabric by state.",
            source=f"{_FABRICS}, field gpu_node_details",
            labels=_FABRIC,
            kind="gpu_node",
            states=lambda fabric: fabric.member_states,
        ),
        Value(
            name="scp_cluster_fabric_created_timestamp_seconds",
            help="When the fabric was created, as Unix time.",
            source=f"{_FABRICS}, field created_at",
            labels=_FABRIC,
            value="created_at",
        ),
        Value(
            name="scp_cluster_fabric_modified_timestamp_seconds",
            help="When the fabric was last modified, as Unix time.",
            source=f"{_FABRICS}, field modified_at",
            labels=_FABRIC,
            value="modified_at",
        ),
    ),
)

NODE_POOLS: Table[NodePool] = Table(
    "node_pools",
    (
        Info(
            name="scp_node_pool_info",
            help="A node pool, as labels of a series that is 1.",
            source=_POOLS,
            labels=("node_pool_id",),
        ),
        Value(
            name="scp_node_pool_cluster_fabrics",
            help="Cluster fabrics in the node pool.",
            source=f"{_POOLS}, length of cluster_fabric_details",
            labels=("node_pool_id",),
            value="fabric_count",
        ),
        Members(
            name="scp_node_pool_cluster_fabric_info",
            help="A cluster fabric of a node pool, as labels of a series that is 1.",
            source=f"{_POOLS}, field cluster_fabric_details",
            labels=("node_pool_id",),
            part_labels=(*_FABRIC, "product_id"),
            parts="fabrics",
        ),
    ),
)

PRODUCTS: Table[Product] = Table(
    "products",
    (
        Info(
            name="scp_gpu_product_info",
            help="A server type that can be rented, as labels of a series that is 1.",
            source=_PRODUCTS,
            labels=(
                *_PRODUCT,
                "type",
                "gpu_model",
                "compute_class",
                "vcpus",
                "memory",
                "disk",
                "disk_unit",
            ),
        ),
        Value(
            name="scp_gpu_product_available",
            help="Whether the product is AVAILABLE or ACTIVE.",
            source=f"{_PRODUCTS}, field state",
            labels=_PRODUCT,
            value="available",
        ),
    ),
)

IMAGES: Table[Image] = Table(
    "images",
    (
        Info(
            name="scp_gpu_image_info",
            help="An image that a node can be made with, as labels of a series that is 1.",
            source=_IMAGES,
            labels=("image_id", "image_name", "os_distro", "os_version", "image_type"),
        ),
        Value(
            name="scp_gpu_image_created_timestamp_seconds",
            help="When the image was created, as Unix time.",
            source=f"{_IMAGES}, field created_at",
            labels=("image_id",),
            value="created_at",
        ),
    ),
)

API_VERSIONS: Table[ApiVersion] = Table(
    "api_versions",
    (
        Info(
            name="scp_api_version_info",
            help="A version of the API and its status; requested is true for the one asked for.",
            source=_VERSIONS,
            labels=("version", "status", "requested"),
        ),
        Value(
            name="scp_api_version_not_before_timestamp_seconds",
            help="The Not Before date of a version, as Unix time.",
            source=f"{_VERSIONS}, field not_before",
            labels=("version",),
            value="not_before_time",
        ),
    ),
)

TABLES = (GPU_NODES, CLUSTER_FABRICS, NODE_POOLS, PRODUCTS, IMAGES, API_VERSIONS)
