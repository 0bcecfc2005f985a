"""Rows that are not as they should be, among rows that are."""

import pytest

from exporter.simulator.faults import (
    ChildrenGone,
    FieldMissing,
    FieldValue,
    OverlappingPages,
    States,
)
from tests.field.conftest import TWO_REGIONS, Open
from tests.field.rig import (
    NODES,
    Field,
    label_values,
    labels_of,
    node_ids,
)
from tests.simulated import config_text, value, values

BAD = 41
"""Which of the hundred rows is bad."""

MISTYPED: list[object] = [
    None, "", " ", -1, 1e300, True, [], {"id": None}, "x" * 300, 'a"b\\c\nd', "\ud800",
]  # fmt: skip
FIELDS = (
    "id", "gpu_node_name", "state", "cluster_fabric_id", "cluster_fabric_name", "node_pool_id",
    "server_type", "product_type_id", "image_id", "image_version", "os_type", "vpc_id",
    "network_id", "account_id", "policy_ip", "policy_nat", "policy_use_nat", "lock_enabled",
    "pfs_ip", "created_at", "modified_at", "region_id",
)  # fmt: skip


def lines_of_others(lines: list[str], node: str) -> list[str]:
    """Return the lines of single nodes but for one."""
    return [line for line in lines if "gpu_node_id=" in line and node not in line]


@pytest.mark.parametrize("name", FIELDS)
async def test_one_bad_field_of_one_node_in_a_hundred_costs_that_field(
    field_of: Open, name: str
) -> None:
    """Whatever stands there, or nothing: the other 99 are exact, and the poll a success."""
    async with field_of(100) as field:
        await field.start(config_text(field.simulator.url, regions=["kr-west1"], nsml=False)
                          + "    collectors: [gpu_nodes]\n")  # fmt: skip
        before = await field.objects()
        bad = list(field.simulator.world.regions[("e", "kr-west1")].nodes)[BAD]  # type: ignore[index]  # a Place is such a pair
        others = lines_of_others(before, bad)
        assert len(label_values(others, "scp_gpu_node_info", "gpu_node_id")) == 99
        faults = [FieldValue(field=name, values=[each], rows=[BAD]) for each in MISTYPED]
        for fault in (*faults, FieldMissing(field=name, rows=[BAD])):
            standing = field.simulator.faults.add(fault)
            assert await field.app.poll_once()
            after = await field.objects()
            if name == "id":
                after = [line for line in after if line in others or "gpu_node_id" not in line]
            assert lines_of_others(after, bad) == others
            states = [line for line in after if line.startswith("scp_gpu_node_state{")]
            assert sum(line.endswith(" 1.0") for line in states) in {99, 100}
            field.simulator.faults.clear(standing.id)


async def test_bad_fields_are_counted_and_nulls_that_may_be_are_not(field_of: Open) -> None:
    """One count a field and poll; the log names the field once, and shows no value."""
    async with field_of(100) as field:
        await field.start()
        field.simulator.faults.add(FieldValue(field="vpc_id", values=[["odd"]], rows=[BAD]))
        await field.next_poll()
        assert await field.own("invalid_records_total") == 1.0
        await field.next_poll()
        assert await field.own("invalid_records_total") == 2.0
        field.simulator.faults.clear()
        field.simulator.faults.add(FieldValue(field="policy_nat", values=[None], rows=[BAD]))
        await field.next_poll()
        assert await field.own("invalid_records_total") == 2.0
        assert await field.own("target_objects") == 100.0


async def test_a_node_without_an_id_is_left_out_and_counted(field_of: Open) -> None:
    """It can't be told from others; all of those are there."""
    async with field_of(100) as field:
        await field.start()
        field.simulator.faults.add(FieldValue(field="id", values=[None], rows=[BAD]))
        await field.next_poll()
        assert await field.outcome() == (1.0, "")
        assert await field.own("invalid_records_total") == 1.0
        found = label_values(await field.objects(), "scp_gpu_node_info", "gpu_node_id")
        assert len(found) == 99
        assert set(found) < set(node_ids(field.simulator))


async def test_equal_names_are_no_equal_series(field_of: Open) -> None:
    """Two nodes of one name; two fabrics of one name in two regions."""
    async with field_of(12, places=TWO_REGIONS) as field:
        rename = FieldValue(path="/v1/gpu-nodes$", field="gpu_node_name", values=["twin"])
        field.simulator.faults.add(rename)
        await field.start(regions=["kr-west1", "kr-east1"])
        lines = await field.objects()
        ids = label_values(lines, "scp_gpu_node_info", "gpu_node_id")
        expected = node_ids(field.simulator) + node_ids(field.simulator, "kr-east1")
        assert ids == sorted(expected)
        assert set(label_values(lines, "scp_gpu_node_info", "gpu_node_name")) == {"twin"}
        fabrics = label_values(lines, "scp_cluster_fabric_info", "cluster_fabric_name")
        assert len(set(fabrics)) < len(fabrics)


async def test_a_node_on_two_pages_is_shown_once_and_counted(field: Field) -> None:
    """Every page begins with the last row of the one before."""
    field.simulator.faults.add(OverlappingPages(path="/v1/gpu-nodes$"))
    await field.start(polling="interval: 30s, page_size: 3")
    ids = label_values(await field.objects(), "scp_gpu_node_info", "gpu_node_id")
    assert ids == node_ids(field.simulator)
    assert await field.own("duplicate_records_total")
    assert await field.outcome() == (1.0, "")


@pytest.mark.parametrize("series", ["all", "current"])
@pytest.mark.parametrize("state", ["MAINTENANCE", "Running ", "RUNNING*", "실행 중", "", None, 5])
async def test_any_state_is_exactly_one(field: Field, state: str | int | None, series: str) -> None:
    """One series a node is 1, and the sums over the states are the number of nodes."""
    rows = [1, 4, 5]
    field.simulator.faults.add(States(path="/v1/gpu-nodes$", values=[state], rows=rows))
    text = config_text(field.simulator.url, regions=["kr-west1"], nsml=False)
    await field.start(f"metrics: {{state_series: {series}}}\n{text}")
    lines = await field.objects()
    ones = [
        line for line in lines if line.startswith("scp_gpu_node_state{") and line.endswith(" 1.0")
    ]
    nodes = node_ids(field.simulator)
    assert label_values(ones, "scp_gpu_node_state", "gpu_node_id") == nodes
    page = await field.page()
    assert sum(values(page, "scp_gpu_nodes")) == len(nodes)
    assert sum(values(page, "scp_gpu_node_state")) == len(nodes)
    label = {"MAINTENANCE": "MAINTENANCE", "Running ": "RUNNING", "RUNNING*": "RUNNING_"}
    expected = label.get(str(state), "____" if state == "실행 중" else "NOT_REPORTED")
    assert len([line for line in ones if labels_of(line)["state"] == expected]) >= len(rows)
    unrecognized = len(rows) if expected in {"MAINTENANCE", "RUNNING_", "____"} else 0
    assert (await field.own("unrecognized_values_total") or 0) == unrecognized


async def test_a_run_whose_nodes_are_gone_is_a_run_without_nodes(field: Field) -> None:
    """Its 404 is no failure, and its counts are zeros, for they are known."""
    await field.start(nsml=True)
    lines = await field.objects()
    names = label_values(lines, "nsml_run_node_info", "run_name")
    run = {
        "run_name": names[0],
        "project_id": label_values(lines, "nsml_run_node_info", "project_id")[0],
    }
    path = "/projects/{project_id}/runs/{run_name}/nodes$".format(**run)
    field.simulator.faults.add(ChildrenGone(path=path))
    await field.next_poll(collector="run_nodes")
    page = await field.page()
    assert await field.outcome(collector="run_nodes") == (1.0, "")
    assert values(page, "nsml_run_node_info", **run) == []
    assert set(values(page, "nsml_run_nodes", **run)) == {0.0}
    assert values(page, "nsml_run_node_info")


async def test_a_fabric_that_is_gone_is_no_failure_of_its_pool(field: Field) -> None:
    """It was listed, and then it is 404: the poll is a success, by the pool's other fabrics."""
    field.simulator.choose(scp_node_pools="live")
    await field.start(polling="interval: 30s, catalog_interval: 30s")
    before = values(await field.page(), "scp_node_pool_info")
    field.simulator.faults.add(ChildrenGone(cloud="scp", requests=1))
    await field.next_poll(collector="node_pools")
    assert await field.outcome(collector="node_pools") == (1.0, "")
    page = await field.page()
    assert values(page, "scp_node_pool_info") == before
    assert value(page, "gpu_cluster_exporter_target_up", **NODES) == 1.0


@pytest.mark.parametrize(
    ("collector", "family"),
    [("run_nodes", "nsml_run_node_info"), ("node_pools", "scp_node_pool_info")],
)
async def test_a_cloud_that_knows_none_of_what_it_lists_is_not_believed(
    field: Field, collector: str, family: str
) -> None:
    """A 404 for every single one tells of an API that changed: nothing is gone."""
    field.simulator.choose(scp_node_pools="live")
    await field.start(nsml=True, polling="interval: 30s, catalog_interval: 30s")
    before = values(await field.page(), family)
    field.simulator.faults.add(ChildrenGone())
    await field.next_poll(collector=collector)
    assert await field.outcome(collector=collector) == (0.0, "not_found")
    assert before
    assert values(await field.page(), family) == before
