"""The rows of Samsung Cloud Platform's answers, named as the labels that they become.

Only what is exported or discovered is read: init scripts, accounts and passwords never
enter the process's memory as values.
"""

import re
from datetime import UTC
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, field

from exporter.clouds.fields import Count, Id, Text, UtcTime, normal_state, unix_time
from exporter.clouds.rows import Row

_SERVER_TYPE = re.compile(r"g\d+c\d+(?P<letter>[a-z])(?P<gpus>\d{1,4})_metal")
_GPU_MODELS = {"h": "H100", "b": "B300"}
_AVAILABLE = ("AVAILABLE", "ACTIVE")


@lru_cache(maxsize=1024)
def gpus_of(server_type: str | None) -> int | None:
    """Return the number of GPUs that a server type's name states, or None."""
    match = _SERVER_TYPE.fullmatch(server_type or "")
    return int(match["gpus"]) if match else None


@lru_cache(maxsize=1024)
def gpu_model_of(server_type: str | None) -> str:
    """Return the GPU model that a server type's letter stands for, or the empty text."""
    match = _SERVER_TYPE.fullmatch(server_type or "")
    return _GPU_MODELS.get(match["letter"], "") if match else ""


class GpuNode(Row, frozen=True):
    """A bare-metal server: a row of GET /v1/gpu-nodes."""

    state_field: ClassVar[str] = "state"

    gpu_node_id: Id | None = field(default=None, name="id")
    gpu_node_name: Text = ""
    account_id: Text = ""
    cluster_fabric_id: Text | None = None
    cluster_fabric_name: Text = ""
    node_pool_id: Text = ""
    server_type: Text = ""
    product_type_id: Text = ""
    image_id: Text = ""
    image_version: Text = ""
    os_type: Text = ""
    vpc_id: Text = ""
    network_id: Text = ""
    policy_ip: Text = ""
    policy_nat: Text | None = None
    policy_use_nat: bool | None = None
    lock_enabled: bool | None = None
    pfs_ip: list[str] | None = None
    state: str = ""
    created_at: UtcTime = None
    modified_at: UtcTime = None

    @property
    def key(self) -> tuple[str, ...]:
        """The node's id."""
        return (self.gpu_node_id,) if self.gpu_node_id else ()

    @property
    def state_name(self) -> str:
        """The node's state."""
        return normal_state(self.state)

    @property
    def gpus(self) -> int | None:
        """The number of its GPUs; None where the server type's name does not state it."""
        return gpus_of(self.server_type)

    @property
    def pfs_addresses(self) -> int | None:
        """The number of its addresses on the parallel file storage; None while they are null."""
        return None if self.pfs_ip is None else len(self.pfs_ip)


class FabricMember(Struct, frozen=True, gc=False):
    """A node as its cluster fabric lists it."""

    state: str = ""


class ClusterFabric(Row, frozen=True):
    """An RDMA cluster of GPU nodes: a row of GET /v1/cluster-fabrics."""

    state_field: ClassVar[str] = "state"

    cluster_fabric_id: Id | None = field(default=None, name="id")
    cluster_fabric_name: Text = field(default="", name="cluster_name")
    account_id: Text = ""
    node_pool_id: Text = ""
    server_type: Text | None = None
    product_id: Text = ""
    pirp_id: Text | None = None
    state: str = ""
    used_server_count: Count | None = None
    gpu_node_details: list[FabricMember] | None = None
    created_at: UtcTime = None
    modified_at: UtcTime = None

    @property
    def key(self) -> tuple[str, ...]:
        """The fabric's id."""
        return (self.cluster_fabric_id,) if self.cluster_fabric_id else ()

    @property
    def state_name(self) -> str:
        """The fabric's state."""
        return normal_state(self.state)

    @property
    def member_states(self) -> tuple[str, ...] | None:
        """The states of the fabric's nodes; None while their list is null."""
        if self.gpu_node_details is None:
            return None
        return tuple([normal_state(member.state) for member in self.gpu_node_details])


class PoolFabric(Struct, frozen=True, gc=False):
    """A cluster fabric as its node pool lists it."""

    cluster_fabric_id: Text = ""
    cluster_fabric_name: Text = ""
    product_id: Text | None = None


class NodePool(Row, frozen=True):
    """The servers among which nodes may move: a row of GET /v1/cluster-fabrics/node-pools."""

    id_field: ClassVar[str] = "node_pool_id"

    node_pool_id: Id | None = None
    cluster_fabric_details: list[PoolFabric] | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The pool's id."""
        return (self.node_pool_id,) if self.node_pool_id else ()

    @property
    def fabrics(self) -> list[PoolFabric]:
        """The pool's fabrics, each once, those without an id left out."""
        details = self.cluster_fabric_details or ()
        by_id = {fabric.cluster_fabric_id: fabric for fabric in details}
        return [fabric for fabric_id, fabric in by_id.items() if fabric_id]

    @property
    def fabric_count(self) -> int | None:
        """The number of fabrics in the pool; None while their list is null."""
        return None if self.cluster_fabric_details is None else len(self.fabrics)


class ProductAttributes(Struct, frozen=True, gc=False):
    """What a server of a product consists of."""

    compute_class_type_name: Text = ""
    cpu_value: Text = ""
    disk_unit: Text = ""
    disk_value: Text = ""
    gpu_model: Text = ""
    memory_value: Text = ""


class Product(Row, frozen=True):
    """A server type that can be rented: a row of GET /v1/gpu-nodes/products."""

    state_field: ClassVar[str] = "state"

    product_id: Id | None = field(default=None, name="id")
    product_name: Text = field(default="", name="name")
    type: Text = ""
    state: str = ""
    product_attrs: ProductAttributes = ProductAttributes()

    @property
    def key(self) -> tuple[str, ...]:
        """The product's id."""
        return (self.product_id,) if self.product_id else ()

    @property
    def state_name(self) -> str:
        """The product's state."""
        return normal_state(self.state)

    @property
    def available(self) -> bool | None:
        """Whether the product can be rented; None where its state is not reported."""
        return self.state_name in _AVAILABLE if self.state.strip() else None

    @property
    def compute_class(self) -> str:
        """The name of the compute class."""
        return self.product_attrs.compute_class_type_name

    @property
    def disk(self) -> str:
        """The size of the disk, in `disk_unit`."""
        return self.product_attrs.disk_value

    @property
    def disk_unit(self) -> str:
        """The unit of the disk's size."""
        return self.product_attrs.disk_unit

    @property
    def gpu_model(self) -> str:
        """The model of the server's GPUs."""
        return self.product_attrs.gpu_model

    @property
    def memory(self) -> str:
        """The size of the memory, as the API writes it."""
        return self.product_attrs.memory_value

    @property
    def vcpus(self) -> str:
        """The number of virtual CPUs, as the API writes it."""
        return self.product_attrs.cpu_value


class Image(Row, frozen=True):
    """A system that a node can be made with: a row of GET /v1/gpu-nodes/images."""

    image_id: Id | None = field(default=None, name="id")
    image_name: Text = field(default="", name="name")
    os_distro: Text = ""
    os_version: Text = field(default="", name="scp_os_version")
    image_type: Text = field(default="", name="scp_image_type")
    created_at: UtcTime = None

    @property
    def key(self) -> tuple[str, ...]:
        """The image's id."""
        return (self.image_id,) if self.image_id else ()


class ApiVersion(Row, frozen=True):
    """A version of the API: a row of the version document."""

    version_id: Id | None = field(default=None, name="id")
    status: Text = ""
    not_before: Text | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The version, however it is written."""
        return (self.version,) if self.version else ()

    @property
    def version(self) -> str:
        """The version's number, such as `1.2`."""
        return (self.version_id or "").lower().removeprefix("v")

    @property
    def not_before_time(self) -> float | None:
        """The Unix time of the Not Before date, written `2026-03-31` or `20260331`."""
        try:
            return unix_time(self.not_before or "", UTC)
        except ValueError:  # the API page writes `-` for none
            return None
