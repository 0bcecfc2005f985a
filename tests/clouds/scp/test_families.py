"""The API page's example answers, field for field, as they stand on the page of metrics."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import asdict

from exporter.clouds.rows import Reader, read_row
from exporter.clouds.scp import families
from exporter.clouds.scp.collectors import GpuModels
from exporter.clouds.scp.models import ApiVersion, ClusterFabric, GpuNode, Image, NodePool, Product
from exporter.families import Binding, Table
from tests.clouds.hostile import FIXTURES, fixture
from tests.clouds.pages import written

LABELS = {"account": "prod", "environment": "e", "region": "kr-west1"}
DERIVED: dict[str, dict[str, Callable[[Any], str]]] = {
    "gpu_nodes": {"gpu_model": GpuModels().of},
    "api_versions": {"requested": lambda version: str(version.version == "1.2").lower()},
}
LISTS: list[tuple[str, Reader[Any], Table[Any]]] = [
    ("gpu-nodes", Reader(GpuNode, "gpu_nodes"), families.GPU_NODES),
    ("cluster-fabrics", Reader(ClusterFabric, "cluster_fabrics"), families.CLUSTER_FABRICS),
    ("node-pools", Reader(NodePool, "node_pools"), families.NODE_POOLS),
    ("products", Reader(Product, "products"), families.PRODUCTS),
    ("images", Reader(Image, "images"), families.IMAGES),
    ("versions", Reader(ApiVersion, "versions"), families.API_VERSIONS),
]


def lines_of(reader: Reader[Any], table: Table[Any], body: bytes) -> list[str]:
    """Return the lines of an answer, without zeros."""
    page = reader.page(body)
    assert not page.nameless
    assert not [record.invalid for record in page.records if record.invalid]
    derived = DERIVED.get(table.name, {})
    binding = Binding(LABELS, families.vocabularies(), current_state_only=True, derived=derived)
    lines = written(table, [record.item for record in page.records], binding)
    return [line for line in lines if not line.endswith(" 0.0")]


@pytest.mark.parametrize(("name", "reader", "table"), LISTS, ids=lambda value: str(value)[:20])
def test_an_example_is_written_as_expected(
    name: str, reader: Reader[Any], table: Table[Any]
) -> None:
    """Each example answer parses whole, and every label and value is the one that is meant."""
    expected = (FIXTURES / "scp" / f"{name}.prom").read_text().splitlines()
    assert lines_of(reader, table, fixture(f"scp/{name}.json")) == expected


@pytest.mark.parametrize(
    ("model", "one", "many", "rows"),
    [
        (GpuNode, "gpu-node", "gpu-nodes", "gpu_nodes"),
        (ClusterFabric, "cluster-fabric", "cluster-fabrics", "cluster_fabrics"),
    ],
)
def test_a_show_operation_gives_what_the_list_gives(
    model: type[Any], one: str, many: str, rows: str
) -> None:
    """The answer of a single object is read by the model of the list's rows."""
    shown = read_row(model, fixture(f"scp/{one}.json"))
    (listed,) = Reader(model, rows).page(fixture(f"scp/{many}.json")).records
    assert shown is not None
    assert not shown.invalid
    assert shown.item == listed.item


SECRETS = ("init script", "rootaccount", "90dddfc2b1e04edba54ba2b41539a9ac", "description")


@pytest.mark.parametrize(("name", "reader", "table"), LISTS, ids=lambda value: str(value)[:20])
def test_what_is_never_exported_is_not_even_read(
    name: str, reader: Reader[Any], table: Table[Any]
) -> None:
    """Scripts, accounts of the system, people and descriptions stay outside."""
    lines = "".join(lines_of(reader, table, fixture(f"scp/{name}.json")))
    (first, *_) = reader.page(fixture(f"scp/{name}.json")).records
    held = json.dumps(asdict(first.item), default=asdict)
    for secret in SECRETS:
        assert secret not in lines
        assert secret not in held
