"""The objects of one SCP region: nodes, fabrics, pools, images, products."""

from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import NamedTuple


class Place(NamedTuple):
    """An environment and a region in it; the same region name stands in several environments."""

    environment: str
    region: str


PLACES = (
    Place("e", "kr-west1"),
    Place("e", "kr-east1"),
    Place("s", "kr-west1"),
    Place("s", "kr-east1"),
    Place("g", "kr-south1"),
    Place("g", "kr-south2"),
    Place("g", "kr-south3"),
)


@dataclass(frozen=True, slots=True)
class Product:
    """A server type on offer."""

    id: str
    name: str
    compute_class: str
    vcpus: int
    memory_gb: int
    disk_gb: int
    gpu_model: str
    state: str
    created_at: float


@dataclass(frozen=True, slots=True)
class Image:
    """An operating system image for bare-metal GPU servers."""

    id: str
    name: str
    distro: str
    version: str
    priority: int
    created_at: float


@dataclass(frozen=True, slots=True)
class Pool:
    """A node pool: what nodes may move within."""

    id: str
    subnet_id: str


@dataclass(slots=True)
class Fabric:
    """A cluster fabric: one RDMA cluster, alive as long as it has a node.

    `edits` counts the changes of membership under way; `held` keeps the state a drill set.
    """

    id: str
    name: str
    pool: Pool
    product: Product
    pirp_id: str
    created_by: str
    created_at: float
    modified_at: float
    state: str = "RUNNING"
    nodes: dict[str, "Node"] = field(default_factory=dict)
    edits: int = 0
    held: bool = False


@dataclass(slots=True)
class Node:
    """A GPU node: a bare-metal server of eight GPUs.

    `changes` numbers its states, so that what was planned for one state is dropped in the next;
    `held` keeps the state a drill set; `rendered` caches the node's JSON by spelling.
    """

    id: str
    name: str
    fabric: Fabric
    product: Product
    image: Image
    vpc_id: str
    subnet_id: str
    policy_ip: str
    pfs_ips: tuple[str, str]
    root_account: str
    created_by: str
    created_at: float
    modified_at: float
    state: str = "RUNNING"
    init_script: str = ""
    nat_ip: str | None = None
    locked: bool = False
    changes: int = 0
    held: bool = False
    rendered: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Addresses:
    """Addresses a region hands out, one after another, none twice.

    Private ranges inside; 198.18.0.0/15, which is reserved for benchmarks, for public NAT.
    """

    policy: int
    pfs: int
    nat: int

    @classmethod
    def of_place(cls, number: int) -> "Addresses":
        """Give the region of that number ranges of its own: 65,000 nodes, 18,000 of them public."""
        return cls(
            policy=int(IPv4Address(f"10.{16 + number}.0.0")) + 10,
            pfs=int(IPv4Address(f"10.{128 + 2 * number}.0.0")) + 10,
            nat=int(IPv4Address("198.18.0.0")) + number * 18_000 + 10,
        )

    def next_policy(self) -> str:
        """Hand out a private address."""
        self.policy += 1
        return str(IPv4Address(self.policy))

    def next_pfs(self) -> tuple[str, str]:
        """Hand out a pair of addresses on the parallel file storage network."""
        self.pfs += 2
        return str(IPv4Address(self.pfs)), str(IPv4Address(self.pfs + 1))

    def next_nat(self) -> str:
        """Hand out a public address."""
        self.nat += 1
        return str(IPv4Address(self.nat))


@dataclass(slots=True)
class Region:
    """All that one region of one environment holds."""

    place: Place
    account_id: str
    vpc_id: str
    addresses: Addresses
    pools: dict[str, Pool] = field(default_factory=dict)
    products: dict[str, Product] = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=dict)
    fabrics: dict[str, Fabric] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)

    def add(self, node: Node) -> None:
        """List the node, here and with its fabric."""
        self.nodes[node.id] = node
        node.fabric.nodes[node.id] = node
        self.fabrics[node.fabric.id] = node.fabric
