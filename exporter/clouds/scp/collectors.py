"""The collectors of one account in one region of Samsung Cloud Platform."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from exporter.clouds.http import Caller
from exporter.clouds.outcomes import (
    BadRequest,
    Failure,
    NotFound,
    first_problem,
    longest_wait,
    raise_where_nothing_answered,
)
from exporter.clouds.paging import REMEMBERED_SECONDS, Listing
from exporter.clouds.rows import Record
from exporter.clouds.scp import api, families
from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    GpuNode,
    NodePool,
    Product,
    gpu_model_of,
)
from exporter.collectors import Collector, ListCollector, Pace, sighting
from exporter.families import Table
from exporter.snapshots import Sighting, TargetId


@dataclass(slots=True)
class GpuModels:
    """The GPU model of each server type, as the products last read name it, however old."""

    by_server_type: dict[str, str] = field(default_factory=dict)
    generation: int = 0

    def learn(self, listing: Listing[Product]) -> None:
        """Take over what a list of products says."""
        products = [record.item for record in listing.records.values()]
        models = {item.product_name: item.gpu_model for item in products if item.gpu_model}
        known = models if listing.complete else self.by_server_type | models
        if known != self.by_server_type:
            self.by_server_type = known
            self.generation += 1

    def of(self, node: GpuNode) -> str:
        """Return the model of a node's GPUs."""
        return self.by_server_type.get(node.server_type) or gpu_model_of(node.server_type)


@dataclass(frozen=True, slots=True)
class Paces:
    """How often each kind of target of an account is polled."""

    state: Pace
    catalog: Pace


@dataclass(slots=True)
class NodePoolCollector:
    """Node pools: asked for at once, or, from a server that refuses this, fabric by fabric.

    A 400 is remembered for an hour. So long the target has the catalog's pace, and its
    requests give way to those for nodes and fabrics.
    """

    target: TargetId
    paces: Paces
    fabrics: api.PagedList[ClusterFabric]
    pools: api.SingleList[NodePool] = field(default_factory=api.node_pools)
    _per_fabric: bool = False
    _refused_at: float = 0.0
    _last: Mapping[tuple[str, ...], Record[NodePool]] = field(default_factory=dict)

    @property
    def pace(self) -> Pace:
        """How often it is polled: seldom, where that takes a call per fabric."""
        return self.paces.catalog if self._per_fabric else self.paces.state

    @property
    def urgent(self) -> bool:
        """Whether its requests go before others: not where they are that many."""
        return not self._per_fabric

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The one table."""
        return (families.NODE_POOLS,)

    @property
    def derived(self) -> Mapping[str, Callable[[Any], str]]:
        """No labels."""
        return {}

    async def poll(self, caller: Caller) -> Sighting:
        """Ask for the pools, in the way that the server answers."""
        listing: Listing[NodePool] | None = None
        try:
            now = caller.client.clock.monotonic()
            if self._per_fabric and now - self._refused_at < REMEMBERED_SECONDS:
                listing = await self._by_fabric(caller)
            else:
                listing = await self._at_once(caller)
        finally:
            whole = listing is not None and listing.complete
            self.pools.reader.end_poll(whole=whole)
            self.fabrics.reader.end_poll(whole=whole)
        return sighting(families.NODE_POOLS, listing)

    async def _at_once(self, caller: Caller) -> Listing[NodePool]:
        try:
            listing = await self.pools.all(caller)
        except BadRequest as refused:
            if refused.status != 400:  # noqa: PLR2004
                raise
        else:
            self._per_fabric = False
            return listing
        listing = await self._by_fabric(caller)
        self._per_fabric, self._refused_at = True, caller.client.clock.monotonic()
        return listing

    async def _by_fabric(self, caller: Caller) -> Listing[NodePool]:
        caller.urgent = False
        fabrics = await self.fabrics.all(caller)
        caller.announce(len(fabrics.records))
        merged: Listing[NodePool] = Listing(complete=fabrics.complete)
        failures: list[Failure] = []
        missing: list[NotFound] = []
        answered = 0
        for (fabric_id,) in fabrics.records:
            try:
                _merge(merged, await self.pools.where(caller, cluster_fabric_id=fabric_id))
                answered += 1
            except NotFound as gone:
                missing.append(gone)
            except Failure as failure:
                failures.append(failure)
                if failure.for_all:
                    break
        raise_where_nothing_answered(answered, failures, missing)
        merged.complete = merged.complete and not failures
        if merged.complete:
            self._last = merged.records
        else:
            # What a pool has of a fabric that could not be read is as it was.
            shared = merged.records.keys() & self._last.keys()
            before: Listing[NodePool] = Listing({key: self._last[key] for key in shared})
            _merge(before, merged)
            merged.records = before.records
        merged.wait = longest_wait(failures)
        merged.problem = first_problem(failures)
        return merged


def _merge(merged: Listing[NodePool], part: Listing[NodePool]) -> None:
    """Add the pools of one fabric, and to pools that are there the fabrics they lack."""
    merged.unreadable |= part.unreadable
    merged.complete = merged.complete and part.complete
    for key, record in part.records.items():
        known = merged.records.get(key)
        if known is not None and known is not record:
            details = (known.item.cluster_fabric_details, record.item.cluster_fabric_details)
            both = [fabric for listed in details for fabric in listed or ()]
            item = replace(record.item, cluster_fabric_details=both)
            record = Record(key, item, (*known.invalid, *record.invalid))  # noqa: PLW2901
        merged.records[key] = record


def collectors(  # noqa: PLR0913 - what an account in a region is made of
    names: tuple[str, ...],
    *,
    account: str,
    environment: str,
    region: str,
    api_version: str,
    page_size: int,
    paces: Paces,
    models: GpuModels | None = None,
) -> list[Collector]:
    """Return the collectors of these names for one account in one region.

    `models` is what is known of its products from before.
    """
    models = models or GpuModels()

    def requested(version: ApiVersion) -> str:
        return str(version.version == api_version).lower()

    def target(name: str) -> TargetId:
        return TargetId("scp", account, environment, region, name)

    def fabric_list() -> api.PagedList[ClusterFabric]:
        return api.cluster_fabrics(page_size)

    state, catalog = paces.state, paces.catalog
    makers: dict[str, Callable[[], Collector]] = {
        "gpu_nodes": lambda: ListCollector(
            target("gpu_nodes"),
            families.GPU_NODES,
            state,
            api.gpu_nodes(page_size),
            derived={"gpu_model": models.of},
            generation=lambda: models.generation,
        ),
        "cluster_fabrics": lambda: ListCollector(
            target("cluster_fabrics"), families.CLUSTER_FABRICS, state, fabric_list()
        ),
        "node_pools": lambda: NodePoolCollector(target("node_pools"), paces, fabric_list()),
        "products": lambda: ListCollector(
            target("products"),
            families.PRODUCTS,
            catalog,
            api.products(),
            on_listing=models.learn,
        ),
        "images": lambda: ListCollector(
            target("images"), families.IMAGES, catalog, api.images(region)
        ),
        "api_versions": lambda: ListCollector(
            target("api_versions"),
            families.API_VERSIONS,
            catalog,
            api.api_versions(),
            derived={"requested": requested},
        ),
    }
    return [makers[name]() for name in names]
