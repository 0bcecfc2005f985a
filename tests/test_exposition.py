"""The page as a whole: what any scraper can read, in both formats."""

import gzip
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strictly
from prometheus_client.parser import text_string_to_metric_families

from exporter import sites
from exporter.clouds.nsml import families as nsml
from exporter.clouds.nsml.models import Project, Run, RunMembers, RunNode
from exporter.clouds.rows import Record, Row, read_row
from exporter.clouds.scp import families as scp
from exporter.clouds.scp.models import ApiVersion, ClusterFabric, GpuNode, Image, NodePool, Product
from exporter.exposition import Exposition
from exporter.families import Binding, Table
from exporter.negotiation import OPENMETRICS, TEXT
from exporter.sheet import Sheet
from exporter.snapshots import Sighting, Snapshot, Snapshots, TargetId
from exporter.telemetry import OWN, PREFIX, Telemetry

FORMATS = [pytest.param(TEXT, id="text"), pytest.param(OPENMETRICS, id="openmetrics")]
STALE_AFTER = 300.0
ODD = 'quote " backslash \\ line\nfeed\r 100%s {brace} \N{GRINNING FACE} 한국 \ud800 \0 # EOF'
TIME = "2024-05-17T00:23:17Z"
TIMES = {"created_at": TIME, "modified_at": TIME}
NSML_TIMES = {"createTime": TIME, "updateTime": TIME}

Rows = list[dict[str, Any]]

NODES: Rows = [
    {
        "id": "n-1", "gpu_node_name": ODD, "state": "RUNNING", "server_type": "g2c96h8_metal",
        "policy_nat": None, "policy_use_nat": False, "lock_enabled": True,
        "pfs_ip": ["192.0.2.1"], **TIMES,
    },
    {"id": "n-2", "gpu_node_name": ODD, "state": "on fire", "cluster_fabric_id": ""},
    {"id": "n-3", "cluster_fabric_id": None, "state": None},
    {"id": "n-4", "cluster_fabric_id": "", "server_type": None, "state": " "},
]  # fmt: skip
FABRICS: Rows = [
    {
        "id": "f-1", "cluster_name": ODD, "state": "ACTIVE", "used_server_count": 2,
        "gpu_node_details": [{"state": "RUNNING"}, {"state": "odd"}], **TIMES,
    },
    {"id": "f-2", "state": "RUNNING*", "gpu_node_details": None},
]  # fmt: skip
POOL_FABRICS: Rows = [
    {"cluster_fabric_id": "f-1", "product_id": None},
    {"cluster_fabric_id": "f-1", "product_id": ""},
]
PROJECT = {
    "projectId": "p", "projectName": ODD, "status": "CREATED", "runCount": 1, "nodeCount": 2,
}  # fmt: skip
RUN = {"projectId": "p", "runName": "2", "status": "RUN_STATE_FAILED", **NSML_TIMES}
RUN_NODE = {"nodeId": "a", "rank": 0, "exitCode": 137, "state": "NODE_STATE_GONE", **NSML_TIMES}

TABLES: list[tuple[Table[Any], type[Row], Rows]] = [
    (scp.GPU_NODES, GpuNode, NODES),
    (scp.CLUSTER_FABRICS, ClusterFabric, FABRICS),
    (scp.NODE_POOLS, NodePool, [{"node_pool_id": "P", "cluster_fabric_details": POOL_FABRICS}]),
    (scp.PRODUCTS, Product, [{"id": "p", "name": "g2c96h8_metal", "state": "AVAILABLE"}]),
    (scp.IMAGES, Image, [{"id": "i", "name": ODD, "created_at": TIME}]),
    (scp.API_VERSIONS, ApiVersion, [{"id": "v1.2", "status": "CURRENT", "not_before": "20260331"}]),
    (nsml.PROJECTS, Project, [PROJECT]),
    (nsml.RUNS, Run, [RUN]),
    (nsml.RUN_NODES, RunNode, [RUN_NODE]),
]


def records(model: type[Row], rows: Rows) -> Iterator[Record[Any]]:
    """Yield the records of rows, read from the JSON that the clouds would send."""
    for row in rows:
        record = read_row(model, json.dumps(row).encode())
        assert record is not None
        yield record


def seen(target: TargetId, table: Table[Any], found: list[Record[Any]]) -> Snapshot:
    """Return the snapshot of a target that saw these records at 0."""
    binding = Binding(
        labels={
            name: value
            for name, value in target.labels.items()
            if name not in {"provider", "collector"} and (value or name == "account")
        },
        vocabularies=sites.vocabularies(),
        expected_states=("FAILED",),
        derived={"gpu_model": lambda _: "H100", "requested": lambda _: "true"},
    )
    snapshot = Snapshot(target, STALE_AFTER, (Sheet(table, binding),))
    snapshot.update(Sighting({table.name: {record.key: record for record in found}}), 0.0)
    return snapshot


def everything() -> Iterator[Snapshot]:
    """Yield every kind of object, those of SCP in two regions under the same ids."""
    for table, model, rows in TABLES:
        found = list(records(model, rows))
        if table in scp.TABLES:
            for region in ("kr-west1", "kr-east1"):
                yield seen(TargetId("scp", "prod", "e", region, table.name), table, found)
        else:
            yield seen(TargetId("nsml", 'res"earch', "", "", table.name), table, found)
    members = RunMembers(project_id="p", run_name="2", states=("RUNNING",))
    target = TargetId("nsml", 'res"earch', "", "", nsml.RUN_MEMBERS.name)
    yield seen(target, nsml.RUN_MEMBERS, [Record(members.key, members)])


@pytest.fixture
def telemetry() -> Telemetry:
    """Give the exporter's own metrics, after a poll of one target that went well."""
    telemetry = Telemetry("abc123")
    requests = telemetry.requests("scp", "prod", "e", "kr-west1")
    requests.request("/v1/gpu-nodes", "200", 0.2)
    requests.skew(-0.4)
    target = telemetry.target(TargetId("scp", "prod", "e", "kr-west1", "gpu_nodes"), 30.0)
    target.began(1_800_000_000.0)
    target.updated(1_800_000_000.0)
    target.succeeded(1_800_000_000.0, 4, 4)
    target.ended(0.3, 0)
    return telemetry


@pytest.fixture
def snapshots() -> Snapshots:
    """Give snapshots of every kind of object."""
    snapshots = Snapshots()
    snapshots.replace(everything())
    return snapshots


@pytest.fixture
def exposition(snapshots: Snapshots, telemetry: Telemetry) -> Exposition:
    """Give the page of every kind of object."""
    return Exposition(sites.FAMILIES, snapshots, telemetry)


def lines(body: bytes) -> list[str]:
    """Return the lines of a page; no label value ends one."""
    return body.decode().removesuffix("\n").split("\n")


def parsed(body: bytes, content_type: str) -> list[Any]:
    """Return the families that the client library finds, by its strict parser where it has one."""
    if content_type == OPENMETRICS:
        return list(strictly(body.decode()))  # type: ignore[no-untyped-call]  # it is untyped
    return list(text_string_to_metric_families(body.decode()))


@pytest.mark.parametrize("content_type", FORMATS)
def test_every_family_stands_once(exposition: Exposition, content_type: str) -> None:
    """Prometheus rejects a page on which a family is split in two: none is."""
    page = exposition.page(0.0, content_type)

    types = Counter(line.split()[2] for line in lines(page.body) if line.startswith("# TYPE"))
    assert set(types.values()) == {1}
    assert types.keys() >= {family.name for family in sites.FAMILIES}
    names = [family.name for family in parsed(page.body, content_type)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("content_type", FORMATS)
def test_no_two_series_are_equal(exposition: Exposition, content_type: str) -> None:
    """No two samples have one name and the same labels, whatever the API calls alike."""
    series = Counter(
        line.rpartition(" ")[0]
        for line in lines(exposition.page(0.0, content_type).body)
        if not line.startswith("#")
    )

    assert [name for name, count in series.items() if count > 1] == []


@pytest.mark.parametrize("content_type", FORMATS)
def test_parsers_read_what_the_objects_hold(exposition: Exposition, content_type: str) -> None:
    """Both parsers of the client library read back what the API had written."""
    families = {
        each.name: each for each in parsed(exposition.page(0.0, content_type).body, content_type)
    }

    info = families["scp_gpu_node_info"].samples
    assert {sample.labels["region"] for sample in info} == {"kr-west1", "kr-east1"}
    (name, *_) = [
        each.labels["gpu_node_name"] for each in info if each.labels["gpu_node_id"] == "n-1"
    ]
    assert name == ODD.replace("\ud800", "\ufffd")
    assert "None" not in {value for sample in info for value in sample.labels.values()}
    assert {each.labels["account"] for each in families["nsml_run_info"].samples} == {'res"earch'}
    assert {family.type for family in families.values()} <= {
        "gauge",
        "counter",
        "histogram",
        "unknown",
    }


@pytest.mark.parametrize("content_type", FORMATS)
def test_every_table_is_on_the_page(exposition: Exposition, content_type: str) -> None:
    """The families stand in the order of their tables, the exporter's own behind them."""
    page = lines(exposition.page(0.0, content_type, process=False).body)
    types = [line.split()[2] for line in page if line.startswith("# TYPE")]

    objects = [family.name for family in sites.FAMILIES]
    assert types[: len(objects)] == objects
    assert all(name.startswith(PREFIX) for name in types[len(objects) :])


def test_end_mark_stands_once_and_last_in_openmetrics_alone(exposition: Exposition) -> None:
    """`# EOF` is the last line of OpenMetrics, nowhere else, and not in the text format."""
    openmetrics = lines(exposition.page(0.0, OPENMETRICS).body)

    assert [number for number, line in enumerate(openmetrics, 1) if line == "# EOF"] == [
        len(openmetrics)
    ]
    assert exposition.page(0.0, OPENMETRICS).body.endswith(b"\n")
    assert "# EOF" not in lines(exposition.page(0.0, TEXT).body)


def test_formats_differ_only_in_what_they_must(exposition: Exposition) -> None:
    """Both formats have the same samples and help; OpenMetrics names counters without suffix."""
    text, openmetrics = (
        lines(exposition.page(0.0, kind, process=False).body) for kind in (TEXT, OPENMETRICS)
    )

    counters = {PREFIX + own.name: own.full_name for own in OWN}
    renamed = [
        " ".join([*line.split(" ")[:2], counters.get(line.split(" ")[2], line.split(" ")[2]),
                  *line.split(" ")[3:]])
        if line.startswith("# ") and line != "# EOF" else line
        for line in openmetrics
    ]  # fmt: skip
    assert renamed == [*text, "# EOF"]


@pytest.mark.parametrize("text", [family.header for family in sites.FAMILIES])
def test_help_needs_no_escaping(text: str) -> None:
    """No family's help has a quote or backslash, which the formats would escape differently."""
    assert '"' not in text
    assert "\\" not in text
    assert text.count("\n") == 2


@pytest.mark.parametrize("own", OWN, ids=lambda own: own.name)
def test_own_help_needs_no_escaping(own: Any) -> None:  # noqa: ANN401 - a row of the table
    """The exporter's own help is written as it is, in both formats."""
    assert not set('"\\\n') & set(own.help)


@pytest.mark.parametrize("content_type", FORMATS)
def test_own_part_is_what_the_client_library_would_write(
    telemetry: Telemetry, content_type: str
) -> None:
    """The exporter's own families are those of its registry, to the last sample and help."""
    page = Exposition((), Snapshots(), telemetry).page(0.0, content_type, process=False)
    if content_type == OPENMETRICS:
        whole = generate_openmetrics(telemetry.registry)  # type: ignore[no-untyped-call]  # it is untyped
    else:
        whole = generate_latest(telemetry.registry)

    wanted = [line for line in lines(whole) if not _bare(line, lines(whole))]
    assert sorted(lines(page.body)) == sorted(wanted)


def _bare(line: str, page: list[str]) -> bool:
    """Return whether a line heads a family without samples: such are left off the page."""
    if not line.startswith("# ") or line == "# EOF":
        return False
    return not any(other.startswith(line.split()[2]) for other in page)


@pytest.mark.parametrize("content_type", FORMATS)
def test_samples_and_bytes_are_counted(exposition: Exposition, content_type: str) -> None:
    """A page knows how many samples it has, and its size, without reading it again."""
    page = exposition.page(0.0, content_type)

    found = [sample for family in parsed(page.body, content_type) for sample in family.samples]
    assert page.samples == len(found) > 100
    assert page.size == len(page.body)
    assert page.content_type == content_type


@pytest.mark.parametrize("content_type", FORMATS)
def test_compressed_page_is_the_page(exposition: Exposition, content_type: str) -> None:
    """The gzip stream, joined from pieces, and the chunks are the page byte for byte."""
    page = exposition.page(0.0, content_type)

    assert gzip.decompress(b"".join(page.gzipped())) == page.body
    assert b"".join(page.chunks()) == page.body


@pytest.mark.parametrize("content_type", FORMATS)
def test_page_without_objects_is_not_empty(telemetry: Telemetry, content_type: str) -> None:
    """With every cloud down the page holds the exporter's own metrics, and no bare header."""
    page = Exposition(sites.FAMILIES, Snapshots(), telemetry).page(0.0, content_type)

    assert page.samples > 20
    assert PREFIX + "target_up" in page.body.decode()
    assert "scp_gpu_node_info" not in page.body.decode()
    assert gzip.decompress(b"".join(page.gzipped())) == page.body


def test_empty_list_leaves_no_bare_header(telemetry: Telemetry) -> None:
    """A target whose list is empty has no family on the page, and all samples are counted."""
    snapshots = Snapshots()
    target = TargetId("scp", "prod", "e", "kr-west1", "gpu_nodes")
    snapshots.replace([seen(target, scp.GPU_NODES, [])])
    page = Exposition(sites.FAMILIES, snapshots, telemetry).page(0.0, TEXT)

    assert "scp_gpu_node" not in page.body.decode()
    assert page.samples == len([line for line in lines(page.body) if not line.startswith("#")])


def test_page_follows_what_is_shown(
    exposition: Exposition, snapshots: Snapshots, telemetry: Telemetry
) -> None:
    """A page that was made once is made anew when time, polls, targets or health change it."""

    def regions() -> set[str]:
        page = lines(exposition.page(1.0, TEXT).body)
        return {
            line.split('region="')[1].split('"')[0]
            for line in page
            if line.startswith("scp_gpu_node_info{")
        }

    west, *others = snapshots
    assert regions() == {"kr-west1", "kr-east1"}
    west.update(Sighting({west.sheets[0].table.name: {}}), 1.0)
    assert regions() == {"kr-east1"}
    snapshots.replace(others[1:])
    assert regions() == set()

    telemetry["exposition_samples"].set(12_345.0)
    assert PREFIX + "exposition_samples 12345.0" in lines(exposition.page(1.0, TEXT).body)


def test_stale_targets_leave_only_their_health(exposition: Exposition) -> None:
    """After `stale_after` the objects' families are gone, headers too; health series stay."""
    body = exposition.page(STALE_AFTER + 1.0, TEXT).body.decode()

    assert "scp_gpu_node" not in body
    assert "nsml_run" not in body
    assert PREFIX + "target_up{" in body


def test_process_metrics_can_be_left_off(exposition: Exposition) -> None:
    """A page for a file has no metrics of the process that wrote it."""
    for content_type in (TEXT, OPENMETRICS):
        with_process = exposition.page(0.0, content_type).body.decode()
        without = exposition.page(0.0, content_type, process=False).body.decode()

        assert "\npython_info{" in with_process
        assert "\nprocess_resident_memory_bytes " in with_process
        assert "python_info" not in without
        assert "process_" not in without


def test_null_and_empty_fabric_are_one_group(exposition: Exposition) -> None:
    """Nodes without a fabric are counted together, whether it is null or empty in the API."""
    (counts,) = (
        each
        for each in parsed(exposition.page(0.0, TEXT).body, TEXT)
        if each.name == "scp_gpu_nodes"
    )

    assert {
        sample.value
        for sample in counts.samples
        if sample.labels["state"] == "NOT_REPORTED" and not sample.labels["server_type"]
    } == {2.0}


@pytest.mark.tool("promtool")
def test_promtool_finds_nothing(exposition: Exposition, tool: str) -> None:
    """Prometheus' own linter has nothing to say of names, help and types."""
    page = exposition.page(0.0, TEXT)

    found = subprocess.run(  # noqa: S603 - the tool of the test
        [tool, "check", "metrics"], input=page.body, capture_output=True, check=False
    )

    assert (found.stdout + found.stderr).decode() == ""
    assert found.returncode == 0
