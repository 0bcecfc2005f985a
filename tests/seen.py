"""Snapshots of both clouds, as their targets would have them after some polls."""

import json
from collections.abc import Mapping
from typing import Any

from exporter.clouds.nsml import families as nsml
from exporter.clouds.nsml.models import Run, RunMembers, RunNode
from exporter.clouds.rows import Record, Row, read_row
from exporter.clouds.scp import families as scp
from exporter.clouds.scp.models import ClusterFabric, GpuNode
from exporter.families import Binding, Table
from exporter.sheet import Key, Sheet
from exporter.sites import vocabularies
from exporter.snapshots import Sighting, Snapshot, TargetId

STALE_AFTER = 300.0
Records = Mapping[Key, Record[Any]]


def gpu_node_target(account: str = "prod", region: str = "kr-west1") -> Snapshot:
    """Return a target of GPU nodes that saw nothing yet."""
    target = TargetId("scp", account, "e", region, "gpu_nodes")
    models = {"gpu_model": lambda node: f"model of {node.server_type}"}
    return _snapshot(target, scp.GPU_NODES, derived=models)


def fabric_target() -> Snapshot:
    """Return a target of cluster fabrics that saw nothing yet."""
    target = TargetId("scp", "prod", "e", "kr-west1", "cluster_fabrics")
    return _snapshot(target, scp.CLUSTER_FABRICS)


def run_target(account: str = "research") -> Snapshot:
    """Return a target of runs that saw nothing yet."""
    return _snapshot(TargetId("nsml", account, "", "", "runs"), nsml.RUNS)


def run_node_target(account: str = "research") -> Snapshot:
    """Return a target of the runs' nodes that saw nothing yet."""
    target = TargetId("nsml", account, "", "", "run_nodes")
    return _snapshot(target, nsml.RUN_NODES, nsml.RUN_MEMBERS)


def _snapshot(target: TargetId, *tables: Table[Any], **options: Any) -> Snapshot:  # noqa: ANN401
    kept = ("account", "environment", "region") if target.provider == "scp" else ("account",)
    labels = {name: target.labels[name] for name in kept}
    binding = Binding(labels, vocabularies(), **options)
    return Snapshot(target, STALE_AFTER, tuple(Sheet(table, binding) for table in tables))


def gpu_node(node_id: str, **fields: object) -> Record[Any]:
    """Return a GPU node as it was read; `fields` are those of the API."""
    given = {"id": node_id, "gpu_node_name": f"name-{node_id}", "state": "RUNNING"}
    return _read(GpuNode, given | {"policy_ip": "10.0.0.1"} | fields)


def fabric(fabric_id: str, **fields: object) -> Record[Any]:
    """Return a cluster fabric as it was read; `fields` are those of the API."""
    return _read(ClusterFabric, {"id": fabric_id, "state": "ACTIVE"} | fields)


def run(name: str, **fields: object) -> Record[Any]:
    """Return a run as it was read; `fields` are those of the API."""
    status = "RUN_STATE_IN_PROGRESS"
    return _read(Run, {"projectId": "project", "runName": name, "status": status} | fields)


def run_node(node_id: str, of: str = "1", **fields: object) -> Record[Any]:
    """Return a node of a run as it was read; `fields` are those of the API."""
    given = {"nodeId": node_id, "state": "NODE_STATE_RUNNING", "host": "203.0.113.1"}
    place = {"project_id of the path": "project", "run_name of the path": of}
    return _read(RunNode, given | place | fields)


def _read(model: type[Row], row: Mapping[str, object]) -> Record[Any]:
    record = read_row(model, json.dumps(row).encode())
    assert record is not None
    return record


def sighting(*records: Record[Any], **how: Any) -> Sighting:  # noqa: ANN401 - its other fields
    """Return what a poll of one list saw."""
    [name] = {_TABLES[type(record.item)] for record in records} or {"gpu_nodes"}
    return Sighting({name: {record.key: record for record in records}}, **how)


_TABLES: Mapping[type, str] = {
    GpuNode: scp.GPU_NODES.name,
    ClusterFabric: scp.CLUSTER_FABRICS.name,
    Run: nsml.RUNS.name,
}


def run_nodes(runs: Mapping[str, list[Record[Any]]], **how: Any) -> Sighting:  # noqa: ANN401
    """Return what a poll of the runs' nodes saw, by the names of the runs that were read."""
    members: Records = {
        (each.project_id, each.run_name): Record(each.key, each)
        for each in (
            RunMembers(
                project_id="project",
                run_name=name,
                states=tuple(node.item.state_name for node in nodes),
            )
            for name, nodes in runs.items()
        )
    }
    nodes = {node.key: node for nodes in runs.values() for node in nodes}
    tables = {"run_nodes": nodes, "run_members": members}
    return Sighting(tables, **how)
