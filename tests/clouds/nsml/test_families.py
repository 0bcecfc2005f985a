"""The example answers, field for field, as they stand on the page of metrics."""

from typing import Any

import pytest

from exporter.clouds.nsml import families
from exporter.clouds.nsml.models import Project, Run, RunMembers, RunNode
from exporter.clouds.rows import Reader, Record
from exporter.families import Binding, Table
from tests.clouds.hostile import FIXTURES, fixture
from tests.clouds.pages import written

LISTS: list[tuple[str, Reader[Any], Table[Any]]] = [
    ("projects", Reader(Project, "projects"), families.PROJECTS),
    ("runs", Reader(Run, "runList"), families.RUNS),
    ("run-nodes", Reader(RunNode, "nodes"), families.RUN_NODES),
]


def lines_of(table: Table[Any], records: tuple[Record[Any], ...]) -> list[str]:
    """Return the lines of records, zeros too."""
    binding = Binding({"account": "research"}, families.vocabularies())
    return written(table, [record.item for record in records], binding)


@pytest.mark.parametrize(("name", "reader", "table"), LISTS, ids=lambda value: str(value)[:20])
def test_an_example_is_written_as_expected(
    name: str, reader: Reader[Any], table: Table[Any]
) -> None:
    """Each example answer parses whole, and every label and value is the one that is meant."""
    page = reader.page(fixture(f"nsml/{name}.json"))
    assert not page.nameless
    assert not [record.invalid for record in page.records if record.invalid]
    expected = (FIXTURES / "nsml" / f"{name}.prom").read_text().splitlines()
    assert lines_of(table, page.records) == expected


def test_a_run_whose_nodes_are_gone_has_zeros() -> None:
    """Every listed state of a run has a count, also of one without nodes."""
    members = RunMembers(project_id="p", run_name="2", states=())
    assert lines_of(families.RUN_MEMBERS, (Record(members.key, members),)) == [
        f'nsml_run_nodes{{account="research",project_id="p",run_name="2",state="{state}"}} 0.0'
        for state in ("RUNNING", "UNKNOWN", "NOT_REPORTED")
    ]
