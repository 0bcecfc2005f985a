"""What the rows of CLOVA NSML mean."""

from typing import Any

import pytest

from exporter.clouds.nsml.models import Run, RunNode
from exporter.clouds.rows import Row, read_row


def read(model: type[Row], raw: bytes) -> Any:  # noqa: ANN401 - of the given model
    """Read a row that has to be readable."""
    record = read_row(model, raw)
    assert record is not None
    return record.item


@pytest.mark.parametrize(
    ("code", "exported"),
    [(b"-1", None), (b"null", None), (b"0", 0), (b"137", 137), (b"-9", -9), (b'"1"', None)],
)
def test_an_exit_code_is_one_where_the_node_has_ended(code: bytes, exported: int | None) -> None:
    """-1 stands with a node that runs, and is no code."""
    assert read(RunNode, b'{"nodeId": "n", "exitCode": %s}' % code).exit_code == exported


@pytest.mark.parametrize("name", [b"tcpPorts", b"tcpProts"])
def test_ports_are_read_under_both_names(name: bytes) -> None:
    """The page's table spells the field differently from its example."""
    assert read(RunNode, b'{"nodeId": "n", "%s": [1, 2]}' % name).ports == (1, 2)


def test_a_node_without_ports_has_none() -> None:
    """Neither name has to be there."""
    assert read(RunNode, b'{"nodeId": "n", "tcpPorts": null}').ports == ()


@pytest.mark.parametrize(("rank", "label"), [(b"0", "0"), (b"7", "7"), (b"null", ""), (b"-1", "")])
def test_a_rank_is_a_label(rank: bytes, label: str) -> None:
    """A rank that is none is the empty value."""
    assert read(RunNode, b'{"nodeId": "n", "rank": %s}' % rank).rank == label


def test_the_times_of_nodes_and_runs_are_of_different_zones() -> None:
    """The same moment in two of the vendor's examples: nodes in UTC, runs in Korean time."""
    node = read(RunNode, b'{"nodeId": "n", "createTime": "2024-09-03T01:39:51"}')
    run = read(Run, b'{"projectId": "p", "runName": 2, "createTime": "2024-09-03 10:39:51"}')
    assert node.created == run.created == 1725327591.0
    assert run.key == ("p", "2")


@pytest.mark.parametrize(
    "raw", [b'{"projectId": "p"}', b'{"runName": "2"}', b'{"projectId": "", "runName": "2"}']
)
def test_a_run_is_named_by_both_its_ids(raw: bytes) -> None:
    """A run's name is unique only within its project."""
    assert read_row(Run, raw) is None
