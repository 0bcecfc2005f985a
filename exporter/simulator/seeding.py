"""The fleet a seed gives: how many nodes where, of what kind, under which names."""

import random
from collections.abc import Iterator, Sequence

from exporter.simulator.fleet import (
    PLACES,
    Addresses,
    Fabric,
    Image,
    Node,
    Place,
    Pool,
    Product,
    Region,
)

DAY = 86_400.0
NODES_PER_POOL = 64
FABRIC_SIZES = (2, 4, 4, 8, 8, 8, 16, 32)
FABRIC_NODES = range(2, 33)
FABRIC_WORDS = (
    "aurora", "basalt", "cobalt", "dune", "ember", "fjord",
    "garnet", "harbor", "indigo", "jasper", "kelp", "lagoon",
)  # fmt: skip
USERS = ("mlops", "research", "platform")
H100 = ("g2c96h8_metal", "GPU H100 Metal-2", 96, 2048, 7680, "H100")
B300 = ("g3c128b8_metal", "GPU B300 Metal-3", 128, 4096, 15360, "B300")
IMAGES = (
    ("Ubuntu 22.04 for BM (GPU)", "UBUNTU", "22.04", 10),
    ("RHEL 8.8 for BM (GPU)", "RHEL", "8.8", 20),
    ("Ubuntu 20.04 for BM (GPU)", "UBUNTU", "20.04", 30),
)
# Something that nobody should ever see outside of the API.
INIT_SCRIPT = "export TOKEN=made-up-init-script-token"
STOPPED_SHARE = 0.03
FAILED_SHARE = 0.01
LOCKED_SHARE = 0.75
NAT_SHARE = 0.2


def hex_id(rng: random.Random) -> str:
    """Make up an id of 32 hexadecimal digits."""
    return f"{rng.getrandbits(128):032x}"


def seed_regions(
    rng: random.Random, nodes: int, now: float, places: Sequence[Place] = PLACES
) -> dict[Place, Region]:
    """Make up the regions of `places` with `nodes` GPU nodes among them."""
    account_id = hex_id(rng)
    regions = {}
    for place, count in zip(places, _shares(rng, nodes, len(places)), strict=True):
        regions[place] = _Sower(rng, place, account_id, now).sow(count)
    _stop_one(regions, nodes)
    return regions


def _shares(rng: random.Random, nodes: int, places: int) -> list[int]:
    """Deal out nodes: a pair to each place first, then the rest by uneven weights."""
    pairs = [2 * (number < nodes // 2) for number in range(places)]
    if nodes < 2 * places:
        pairs[0] += nodes % 2
        return pairs
    weights = [rng.uniform(0.5, 1.5) for _ in range(places)]
    rest = nodes - 2 * places
    extra = [int(rest * weight / sum(weights)) for weight in weights]
    extra[0] += rest - sum(extra)
    return [pair + more for pair, more in zip(pairs, extra, strict=True)]


def _fabric_sizes(rng: random.Random, nodes: int) -> Iterator[int]:
    # Where nodes are few, still more than one fabric.
    most = max(FABRIC_NODES[0], nodes // 2)
    while nodes:
        size = min(nodes, most, rng.choice(FABRIC_SIZES))
        # No fabric starts with a single node, so none may be left over either.
        if nodes - size == 1:
            size += 1 if size + 1 in FABRIC_NODES else -1
        yield size
        nodes -= size


def _stop_one(regions: dict[Place, Region], nodes: int) -> None:
    """Stop one node where chance stopped none: a fleet always has something to show."""
    every = [node for region in regions.values() for node in region.nodes.values()]
    if nodes >= 2 * len(PLACES) and all(node.state != "STOPPED" for node in every):
        every[-1].state = "STOPPED"


class _Sower:
    """Fills one region."""

    def __init__(self, rng: random.Random, place: Place, account_id: str, now: float) -> None:
        self.rng = rng
        self.now = now
        number = PLACES.index(place) if place in PLACES else len(PLACES)
        self.region = Region(place, account_id, hex_id(rng), Addresses.of_place(number))

    def sow(self, nodes: int) -> Region:
        self._pools(1 + max(self.rng.randrange(2), nodes // NODES_PER_POOL))
        self._products()
        self._images()
        for number, size in enumerate(_fabric_sizes(self.rng, nodes)):
            self._fabric(number, size)
        return self.region

    def _past(self, days: float) -> float:
        """Pick a whole second within the last `days`."""
        return float(int(self.now - self.rng.uniform(0.1, 1.0) * days * DAY))

    def _pools(self, count: int) -> None:
        direction, number = self.region.place.region.split("-")[-1][:1], self.region.place.region
        zone = f"kr{direction}{number[-1]}"
        for i in range(count):
            pool = Pool(f"POOL{i + 1:03d}-{zone}{'ab'[i % 2]}", hex_id(self.rng))
            self.region.pools[pool.id] = pool

    def _products(self) -> None:
        for name, compute_class, vcpus, memory, disk, model in (H100, B300):
            product = Product(
                hex_id(self.rng), name, compute_class, vcpus, memory, disk, model,
                "AVAILABLE", self._past(700),
            )  # fmt: skip
            self.region.products[product.id] = product

    def _images(self) -> None:
        for name, distro, version, priority in IMAGES:
            image_id = "IMAGE-" + "".join(
                self.rng.choices("23456789ABCDEFGHJKLMNPQRSTUVWXYZ", k=22)
            )
            image = Image(image_id, name, distro, version, priority, self._past(500))
            self.region.images[image.id] = image

    def _fabric(self, number: int, size: int) -> None:
        created = self._past(200)
        round_, word = divmod(number, len(FABRIC_WORDS))
        fabric = Fabric(
            id=hex_id(self.rng),
            name=f"{FABRIC_WORDS[word]}{round_ + 1:02d}",
            pool=self.rng.choice(list(self.region.pools.values())),
            product=self.rng.choices(list(self.region.products.values()), (3, 1))[0],
            pirp_id=str(20 + number),
            created_by=hex_id(self.rng),
            created_at=created,
            modified_at=created,
        )
        for i in range(size):
            self.region.add(self._node(fabric, i + 1))

    def _node(self, fabric: Fabric, number: int) -> Node:
        addresses = self.region.addresses
        return Node(
            id=hex_id(self.rng),
            name=f"{fabric.name}-{number:03d}",
            fabric=fabric,
            product=fabric.product,
            image=self.rng.choices(list(self.region.images.values()), (5, 2, 1))[0],
            vpc_id=self.region.vpc_id,
            subnet_id=fabric.pool.subnet_id,
            policy_ip=addresses.next_policy(),
            pfs_ips=addresses.next_pfs(),
            root_account=self.rng.choice(USERS),
            created_by=fabric.created_by,
            created_at=fabric.created_at,
            modified_at=fabric.created_at + self.rng.randrange(1, 3600),
            state=self._state(),
            init_script=INIT_SCRIPT,
            nat_ip=addresses.next_nat() if self.rng.random() < NAT_SHARE else None,
            locked=self.rng.random() < LOCKED_SHARE,
        )

    def _state(self) -> str:
        chance = self.rng.random()
        if chance < FAILED_SHARE:
            return "ERROR"
        return "STOPPED" if chance < FAILED_SHARE + STOPPED_SHARE else "RUNNING"
