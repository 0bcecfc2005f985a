"""Writing lines anew: what stays is exactly what would be written, and only what has to be is."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields, replace

from exporter.clouds.nsml import families as nsml
from exporter.clouds.nsml.models import Project, Run, RunMembers, RunNode
from exporter.clouds.rows import Row
from exporter.clouds.scp import families as scp
from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    FabricMember,
    GpuNode,
    Image,
    NodePool,
    PoolFabric,
    Product,
    ProductAttributes,
)
from exporter.families import Binding, ObjectFamily, Table
from exporter.sites import vocabularies
from exporter.writers import ObjectWriter

texts = st.sampled_from(
    ["", "a", "b", "RUNNING", "g2c96h8_metal", "g1c8b4_metal", "v1.2", "2027-01-01"]
)
numbers = st.sampled_from([0, 1, 137])
times = st.sampled_from([None, 0.0, 1.0, 1_700_000_000.5])
attributes = st.builds(ProductAttributes, gpu_model=texts, cpu_value=texts)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "pfs_ip": st.sampled_from([None, [], ["192.0.2.1"]]),
    "gpu_node_details": st.none() | st.lists(st.builds(FabricMember, state=texts), max_size=2),
    "cluster_fabric_details": st.none()
    | st.lists(st.builds(PoolFabric, cluster_fabric_id=texts, product_id=texts), max_size=2),
    "product_attrs": attributes,
    "policy_use_nat": st.sampled_from([None, False, True]),
    "lock_enabled": st.sampled_from([None, False, True]),
    "states": st.tuples(texts),
    "tcp_ports": st.sampled_from([None, [], [22], [22, 80]]),
    "tcp_prots": st.sampled_from([None, [], [22], [22, 80]]),
}
KINDS: list[tuple[type[Row], Table[Any]]] = [
    (GpuNode, scp.GPU_NODES),
    (ClusterFabric, scp.CLUSTER_FABRICS),
    (NodePool, scp.NODE_POOLS),
    (Product, scp.PRODUCTS),
    (Image, scp.IMAGES),
    (ApiVersion, scp.API_VERSIONS),
    (Project, nsml.PROJECTS),
    (Run, nsml.RUNS),
    (RunNode, nsml.RUN_NODES),
    (RunMembers, nsml.RUN_MEMBERS),
]


DERIVED: dict[str, dict[str, Callable[[Any], str]]] = {
    "gpu_nodes": {"gpu_model": lambda node: node.server_type[-9:]},
    "api_versions": {"requested": lambda version: str(version.version == "1.2").lower()},
}


def writer_of(table: Table[Any], *, current: bool = False) -> ObjectWriter[Any]:
    """Return a writer of a table, whose derived labels follow from a field."""
    derived = DERIVED.get(table.name, {})
    binding = Binding(
        {"account": "prod"}, vocabularies(), current_state_only=current, derived=derived
    )
    return ObjectWriter(
        [each for each in table.families if isinstance(each, ObjectFamily)], binding
    )


def value_of(field: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - of msgspec
    """Return values of a field."""
    if field.name in VALUES:
        return VALUES[field.name]
    kind = str(field.type)
    if "Time" in kind:
        return times
    nothing = st.none() if "Optional" in kind or "None" in kind else st.nothing()
    return nothing | (numbers if "int" in kind else texts)


def rows_of(model: type[Row]) -> st.SearchStrategy[Any]:
    """Return objects of a model."""
    return st.builds(model, **{field.name: value_of(field) for field in fields(model)})


@pytest.mark.parametrize("current", [False, True])
@pytest.mark.parametrize(("model", "table"), KINDS, ids=lambda value: getattr(value, "name", ""))
@settings(max_examples=60)
@given(st.data())
def test_lines_written_anew_are_those_of_the_object(
    model: type[Row],
    table: Table[Any],
    current: bool,  # noqa: FBT001 - a parameter
    data: st.DataObject,
) -> None:
    """Whatever an object was before, and whichever fields changed, its lines are its own."""
    writer = writer_of(table, current=current)
    item = data.draw(rows_of(model))
    lines = writer.lines(item)
    for _ in range(3):
        other = data.draw(rows_of(model))
        names = data.draw(st.sets(st.sampled_from([field.name for field in fields(model)])))
        now = replace(item, **{name: getattr(other, name) for name in names})
        known, (lines, places) = lines, writer.lines_anew(lines, item, now)
        assert lines == writer.lines(now)
        assert {at for at, line in enumerate(lines) if line != known[at]} <= set(places)
        item = now


def changes() -> Iterator[tuple[str, object, set[str]]]:
    """Yield a changed field of a node, and the families that have to be written for it."""
    yield "state", "ERROR", {"scp_gpu_node_state"}
    yield "modified_at", 2.0, {"scp_gpu_node_modified_timestamp_seconds"}
    yield "lock_enabled", False, {"scp_gpu_node_lock_enabled"}
    yield "policy_ip", "192.0.2.9", {"scp_gpu_node_info"}
    yield "pfs_ip", ["192.0.2.9"], set()


@pytest.mark.parametrize(("field", "value", "families"), list(changes()), ids=str)
def test_only_lines_that_show_something_else_are_written(
    field: str, value: object, families: set[str]
) -> None:
    """All others are the very same bytes as before, so that nothing compares them again."""
    writer = writer_of(scp.GPU_NODES)
    before = GpuNode(
        gpu_node_id="a", state="RUNNING", modified_at=1.0, lock_enabled=True,
        policy_ip="192.0.2.1", pfs_ip=["192.0.2.2"],
    )  # fmt: skip
    lines = writer.lines(before)
    now, _ = writer.lines_anew(lines, before, replace(before, **{field: value}))
    kept = [new is old for new, old in zip(now, lines, strict=True)]
    assert {name for name, same in zip(writer.names, kept, strict=True) if not same} == families


def test_what_is_remembered_of_changes_is_bounded() -> None:
    """However many sets of fields change together, the memory does not grow with them."""
    writer = writer_of(scp.GPU_NODES)
    before = GpuNode(gpu_node_id="a")
    lines = writer.lines(before)
    names = [
        field.name for field in fields(GpuNode) if "text" in str(field.type) or field.default == ""
    ]
    for number in range(1, 1 << min(len(names), 11)):
        picked = {name: "x" for place, name in enumerate(names) if number >> place & 1}
        writer.lines_anew(lines, before, replace(before, **picked))
    assert len(writer._doubtful) <= 1024
