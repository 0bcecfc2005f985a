"""The models of SCP Multi-node GPU Cluster 1.2, by the names and in the order of its API page."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_ROWS = 10_000
# What a number in a query looks like: no sign but minus, no blanks, no fractions.
_NUMBER = re.compile(r"-?\d{1,18}")


def is_number(value: object) -> object:
    """Let a query's text pass only where it is a plain whole number."""
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        raise ValueError("Input should be a valid integer")
    return value


def _unlike_control(text: str) -> str:
    if not text.isprintable():
        raise ValueError("Input should be printable text")
    return text


DateTime = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Text = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_unlike_control)]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, hide_input_in_errors=True)


class AsyncResponse(_Answer):
    """What an operation that takes its time answers at once; several ids stand with commas."""

    account_id: str
    request_id: str
    resource_id: str


class ClusterFabricDetailsRequest(_Request):
    """The fabric to create nodes in: a new one where the id is null."""

    cluster_fabric_id: str | None
    cluster_fabric_name: str = Field(pattern=r"^[a-z][a-z0-9-]{2,14}$")
    node_pool_id: Text


class ClusterFabricDetailsResponse(_Answer):
    """A fabric within a node pool."""

    cluster_fabric_id: str
    cluster_fabric_name: str
    product_id: str | None


class GpuNodeDetailsResponse(_Answer):
    """A node within a fabric."""

    gpu_node_id: str
    gpu_node_name: str
    policy_ip: str
    product_type_id: str
    server_type: str | None = None
    state: str


class ClusterFabricShowResponse(_Answer):
    """A cluster fabric."""

    account_id: str
    cluster_name: str
    created_at: DateTime
    created_by: str
    description: str
    gpu_node_details: list[GpuNodeDetailsResponse] | None = None
    id: str
    modified_at: DateTime
    modified_by: str
    node_pool_id: str
    pirp_id: str | None = None
    product_id: str
    region_id: str
    server_type: str | None = None
    state: str
    used_server_count: int | None = None


class ClusterFabricListResponse(_Answer):
    """A page of cluster fabrics."""

    cluster_fabrics: list[ClusterFabricShowResponse]
    count: int | None


class ClusterFabricMemberModifyRequestBody(_Request):
    """Nodes to move from one fabric to another of the same pool."""

    after_cluster_fabric_id: Text
    before_cluster_fabric_id: Text
    gpu_node_id_list: list[Text] = Field(min_length=1)


class GpuNodeActionResponse(_Answer):
    """What an operation on one node answers."""

    gpu_node_id: str


class GpuNodeAssignPublicNatIpRequest(_Request):
    """The public address to assign; the page's example leaves it empty."""

    public_ip_address_id: str


class GpuNodeDetailsRequest(_Request):
    """A node to create."""

    gpu_node_name: str = Field(pattern=r"^[a-z][a-z0-9-]{2,62}$")
    ip_address: str | None = None
    nat_enabled: bool
    public_ip_address_id: str | None = None
    server_type_id: Text


class Tag(_Request):
    """A tag."""

    key: str | None = None
    value: str | None = None


class GpuNodeCreateRequest(_Request):
    """Nodes to create, in a new fabric or in one that exists."""

    cluster_fabric_details: ClusterFabricDetailsRequest
    image_id: Text
    init_script: str | None = None
    lock_enabled: bool = False
    os_user_id: Text
    os_user_password: str = Field(repr=False)
    region_id: Text
    server_details: list[GpuNodeDetailsRequest] = Field(min_length=1)
    subnet_id: Text
    tags: list[Tag] | None
    vpc_id: Text


class GpuNodeImageShowResponse(_Answer):
    """An image."""

    created_at: str
    id: str
    name: str
    os_distro: str
    priority: int | str
    scp_image_type: str
    scp_os_version: str


class GpuNodeImageListResponse(_Answer):
    """All images."""

    images: list[GpuNodeImageShowResponse]


class GpuNodeShowResponse(_Answer):
    """A GPU node."""

    account_id: str
    cluster_fabric_id: str | None = None
    cluster_fabric_name: str
    created_at: DateTime
    created_by: str
    gpu_node_name: str
    id: str
    image_id: str
    image_version: str
    init_script: str
    lock_enabled: bool = False
    modified_at: DateTime
    modified_by: str
    network_id: str
    node_pool_id: str
    os_type: str
    pfs_ip: list[str] | None = None
    policy_ip: str
    policy_nat: str | None = None
    policy_use_nat: bool = False
    product_type_id: str
    region_id: str
    root_account: str
    server_type: str
    state: str
    time_zone: str
    vpc_id: str


class ZonedGpuNodeShowResponse(GpuNodeShowResponse):
    """A GPU node as version 1.3 shows it."""

    zone: str


class GpuNodeListResponse(_Answer):
    """A page of GPU nodes."""

    count: int | None
    gpu_nodes: list[GpuNodeShowResponse]


class GpuNodeOperationRequest(_Request):
    """Nodes to start or stop."""

    gpu_node_ids: list[Text] = Field(min_length=1)


class GpuNodeTerminateRequest(_Request):
    """Nodes to terminate."""

    gpu_node_ids: list[Text] = Field(min_length=1)


class GpuNodeProductAttr(_Answer):
    """What a server of a product consists of."""

    compute_class_type_name: str
    compute_class_type_value: str
    cpu_value: str
    disk_unit: str
    disk_value: str
    gpu_model: str
    memory_value: str


class GpuNodeProductShowResponse(_Answer):
    """A product."""

    created_at: DateTime
    created_by: str
    description: str
    id: str
    modified_at: DateTime
    modified_by: str
    name: str
    product_attrs: GpuNodeProductAttr
    state: str
    type: str


class GpuNodeProductListResponse(_Answer):
    """All products."""

    products: list[GpuNodeProductShowResponse]


class NodePoolShowResponse(_Answer):
    """A node pool."""

    cluster_fabric_details: list[ClusterFabricDetailsResponse] = []
    node_pool_id: str


class NodePoolListResponse(_Answer):
    """All node pools."""

    count: int | None
    node_pools: list[NodePoolShowResponse]


class VersionLink(_Answer):
    """Where a version is found."""

    href: str
    rel: str


class ApiVersion(_Answer):
    """A version of the API."""

    id: str
    status: Literal["CURRENT", "SUPPORTED", "DEPRECATED", "PLANNED"]
    not_before: str | None
    links: list[VersionLink]


class VersionsResponse(_Answer):
    """The version document."""

    versions: list[ApiVersion]
