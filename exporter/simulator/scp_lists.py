"""The reading operations of SCP: lists with filters, sorting and pages, and single objects."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from exporter.simulator import scp_rows as rows
from exporter.simulator.calls import Answer, as_json
from exporter.simulator.errors import Refused
from exporter.simulator.facts import Facts
from exporter.simulator.faults import NodePoolsRefused
from exporter.simulator.fleet import Fabric, Node, Region
from exporter.simulator.paging import Window, cut
from exporter.simulator.routes import Asked, Nothing
from exporter.simulator.scp_models import MOST_ROWS, is_number
from exporter.simulator.scp_versions import served

T = TypeVar("T")
USUAL_SIZE = 20
Number = Annotated[int, BeforeValidator(is_number)]


class _Query(BaseModel):
    model_config = ConfigDict(frozen=True)


class PageQuery(_Query):
    """The parameters of a list in pages."""

    size: Number = Field(default=USUAL_SIZE, ge=1, le=MOST_ROWS)
    page: Number = Field(default=0, ge=0)
    sort: str | None = Field(default=None, examples=["created_at:desc"])


class NodeQuery(PageQuery):
    """The parameters of the list of nodes."""

    gpu_node_name: str | None = None
    state: str | None = None
    ip: str | None = None
    vpc_id: str | None = None
    cluster_fabric_name: str | None = None
    cluster_fabric_id: str | None = None


class FabricQuery(PageQuery):
    """The parameters of the list of fabrics."""

    cluster_fabric_name: str | None = None
    state: str | None = None
    node_pool_id: str | None = None


class PoolQuery(_Query):
    """The parameters of the list of node pools."""

    subnet_id: str | None = None
    cluster_fabric_id: str | None = None
    node_pool_id: str | None = None


class ProductQuery(_Query):
    """The parameters of the list of products."""

    type: str | None = None
    image_id: str | None = None


class ImageQuery(_Query):
    """The parameters of the list of images."""

    region_id: str


def list_nodes(region: Region, asked: Asked[NodeQuery, Nothing]) -> Answer:
    """List the nodes that match, a page of them."""
    query = asked.query
    tests: list[tuple[str | None, Callable[[Node, str], bool]]] = [
        (query.gpu_node_name, lambda node, text: node.name == text),
        (query.state, lambda node, text: node.state.upper() == text.upper()),
        (query.ip, lambda node, text: text in {node.policy_ip, node.nat_ip}),
        (query.vpc_id, lambda node, text: node.vpc_id == text),
        (query.cluster_fabric_name, lambda node, text: node.fabric.name == text),
        (query.cluster_fabric_id, lambda node, text: node.fabric.id == text),
    ]
    found = _sorted(_matching(region.nodes.values(), tests), query.sort, rows.NODE_SORTS)
    show = _node_shower(region, asked)
    return _page(asked, found, "gpu_nodes", show)


def show_node(region: Region, asked: Asked[Nothing, Nothing]) -> Answer:
    """Show one node."""
    node = region.nodes.get(asked.ids["gpu_node_id"])
    if node is None:
        raise Refused(404, "GPU node not found")
    return Answer(200, _node_shower(region, asked)(node).encode())


def list_fabrics(region: Region, asked: Asked[FabricQuery, Nothing]) -> Answer:
    """List the fabrics that match, a page of them."""
    query = asked.query
    tests: list[tuple[str | None, Callable[[Fabric, str], bool]]] = [
        (query.cluster_fabric_name, lambda fabric, text: fabric.name == text),
        (query.state, lambda fabric, text: fabric.state.upper() == text.upper()),
        (query.node_pool_id, lambda fabric, text: fabric.pool.id == text),
    ]
    found = _sorted(_matching(region.fabrics.values(), tests), query.sort, rows.FABRIC_SORTS)
    facts = asked.world.facts
    return _page(asked, found, "cluster_fabrics", lambda it: rows.fabric_text(it, region, facts))


def show_fabric(region: Region, asked: Asked[Nothing, Nothing]) -> Answer:
    """Show one fabric."""
    fabric = region.fabrics.get(asked.ids["cluster_fabric_id"])
    if fabric is None:
        raise Refused(404, "Cluster fabric not found")
    return Answer(200, rows.fabric_text(fabric, region, asked.world.facts).encode())


def list_pools(region: Region, asked: Asked[PoolQuery, Nothing]) -> Answer:
    """List the node pools that match, with their fabrics."""
    query = asked.query
    live = asked.world.facts.scp_node_pools == "live" or asked.call.struck_by(NodePoolsRefused)
    if live and not (query.subnet_id or query.cluster_fabric_id or query.node_pool_id):
        raise Refused(400, "One of subnet_id, cluster_fabric_id, node_pool_id is required")
    pools = [
        row
        for pool in region.pools.values()
        if (row := rows.pool_row(pool, region, query.cluster_fabric_id))
        and query.subnet_id in {None, "", pool.subnet_id}
        and query.node_pool_id in {None, "", pool.id}
    ]
    count = _count(asked.world.facts, len(pools), len(pools))
    return as_json(200, {**count, "node_pools": [pool.model_dump() for pool in pools]})


def list_products(region: Region, asked: Asked[ProductQuery, Nothing]) -> Answer:
    """List the products, all of one type, each of which takes every image."""
    query, facts = asked.query, asked.world.facts
    some = query.type in {None, "", rows.PRODUCT_TYPE} and (
        not query.image_id or query.image_id in region.images
    )
    products = region.products.values() if some else ()
    shown = [rows.product_row(product, region, facts).model_dump() for product in products]
    return as_json(200, {"products": shown})


def list_images(region: Region, asked: Asked[ImageQuery, Nothing]) -> Answer:
    """List the images of the region, which has to be named."""
    if asked.query.region_id != region.place.region:
        raise Refused(400, "region_id is not the region of this endpoint")
    facts = asked.world.facts
    images = [rows.image_row(image, facts).model_dump() for image in region.images.values()]
    return as_json(200, {"images": images})


def _node_shower(
    region: Region, asked: Asked[NodeQuery, Nothing] | Asked[Nothing, Nothing]
) -> Callable[[Node], str]:
    facts = asked.world.facts
    zoned = served(asked.call, facts, asked.world.timeline.wall) == "1.3"
    return lambda node: rows.node_text(node, region, facts, zoned=zoned)


def _matching(
    items: Iterable[T], tests: Iterable[tuple[str | None, Callable[[T, str], bool]]]
) -> Sequence[T]:
    """Keep the items that pass every test whose parameter was given."""
    found = list(items)
    for text, test in tests:
        if text:
            found = [item for item in found if test(item, text)]
    return found


def _sorted(
    items: Sequence[T], sort: str | None, keys: dict[str, Callable[[T], str | float]]
) -> Sequence[T]:
    if not sort:
        return items
    field, _, direction = sort.partition(":")
    if field not in keys or direction not in {"", "asc", "desc"}:
        raise Refused(400, "sort is a field and asc or desc, as created_at:desc")
    return sorted(items, key=keys[field], reverse=direction == "desc")


def _page(
    asked: Asked[NodeQuery, Nothing] | Asked[FabricQuery, Nothing],
    items: Sequence[T],
    name: str,
    show: Callable[[T], str],
) -> Answer:
    facts, query = asked.world.facts, asked.query
    if facts.scp_order == "changing" and not query.sort:
        items = asked.world.order.sample(items, len(items))
    window = Window(query.page, query.size, USUAL_SIZE, facts.scp_size)
    shown = [show(item) for item in cut(items, window, asked.call)]
    count = json.dumps(_count(facts, len(items), len(shown)))[1:-1]
    head = f"{count}," if count else ""
    return Answer(200, f'{{{head}"{name}":[{",".join(shown)}]}}'.encode())


def _count(facts: Facts, total: int, on_page: int) -> dict[str, int | None]:
    if facts.scp_count == "absent":
        return {}
    counts = {"total": total, "page": on_page, "null": None}
    return {"count": counts[facts.scp_count]}
