"""The list calls of Samsung Cloud Platform, Multi-node GPU Cluster 1.2."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from exporter.clouds.http import Caller, request
from exporter.clouds.paging import Listing, PageSize, single, walk
from exporter.clouds.rows import R, Reader
from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    GpuNode,
    Image,
    NodePool,
    Product,
)

NODES_PATH = "/v1/gpu-nodes"
FABRICS_PATH = "/v1/cluster-fabrics"
POOLS_PATH = "/v1/cluster-fabrics/node-pools"
PRODUCTS_PATH = "/v1/gpu-nodes/products"
IMAGES_PATH = "/v1/gpu-nodes/images"
VERSIONS_PATH = "/"


@dataclass(slots=True)
class PagedList(Generic[R]):
    """A list whose pages are counted from 0 and asked for by `page` and `size`."""

    path: str
    reader: Reader[R]
    size: PageSize

    async def all(self, caller: Caller) -> Listing[R]:
        """Return every object of the list."""

        async def fetch(index: int, size: int | None) -> bytes:
            query = {"page": index} if size is None else {"page": index, "size": size}
            return await caller.get(request(self.path, query))

        return await walk(fetch, self.reader, self.size)


@dataclass(slots=True)
class SingleList(Generic[R]):
    """A list that comes in one answer."""

    path: str
    reader: Reader[R]
    query: Mapping[str, str | int] | None = None
    signed: bool = True

    async def all(self, caller: Caller) -> Listing[R]:
        """Return every object of the list."""
        return await self.where(caller)

    async def where(self, caller: Caller, **query: str) -> Listing[R]:
        """Return the objects that match a query."""
        what = request(self.path, {**(self.query or {}), **query}, signed=self.signed)
        return await single(lambda: caller.get(what), self.reader)


def gpu_nodes(page_size: int) -> PagedList[GpuNode]:
    """List GPU nodes."""
    return PagedList(NODES_PATH, Reader(GpuNode, "gpu_nodes"), PageSize(page_size))


def cluster_fabrics(page_size: int) -> PagedList[ClusterFabric]:
    """List cluster fabrics with their members."""
    return PagedList(FABRICS_PATH, Reader(ClusterFabric, "cluster_fabrics"), PageSize(page_size))


def node_pools() -> SingleList[NodePool]:
    """List node pools: all, or where a server refuses that, those of one fabric."""
    return SingleList(POOLS_PATH, Reader(NodePool, "node_pools"))


def products() -> SingleList[Product]:
    """List the server types that can be rented."""
    return SingleList(PRODUCTS_PATH, Reader(Product, "products"))


def images(region: str) -> SingleList[Image]:
    """List the images of a region, which has to be named."""
    return SingleList(IMAGES_PATH, Reader(Image, "images"), {"region_id": region})


def api_versions() -> SingleList[ApiVersion]:
    """List the versions of the API, which takes no authentication."""
    return SingleList(VERSIONS_PATH, Reader(ApiVersion, "versions"), signed=False)
