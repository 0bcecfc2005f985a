"""The page of faults: every test and every metric that it names exists."""

import ast
import re
from pathlib import Path

from exporter.sites import FAMILIES
from exporter.telemetry import OWN, PREFIX

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "faults.md"
CELLS = 4
STANDARD = {"process_resident_memory_bytes"}


def rows() -> list[list[str]]:
    """Return the cells of the table's rows."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[1:]]


def defined() -> set[str]:
    """Return the names of the tests that stand beside this one, with their files."""
    return {
        f"{file.name}::{node.name}"
        for file in HERE.glob("test_*.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_every_row_names_tests_that_exist() -> None:
    """A fault that nothing tests is no row, and a test that is renamed is renamed there."""
    table = rows()
    assert len(table) > 30
    for cells in table:
        assert len(cells) == CELLS, cells
        named = re.findall(r"`(test_\w+\.py::\w+)`", cells[-1])
        assert named, cells[0]
        assert set(named) <= defined()
        assert re.sub(r"`[^`]+`", "", cells[-1]).strip(" ,") == "", cells[-1]


def test_every_metric_that_shows_a_fault_exists() -> None:
    """With the labels' values that it names: a reason is one that is counted."""
    known = {own.full_name.removeprefix(PREFIX) for own in OWN}
    known |= {family.name for family in FAMILIES} | STANDARD
    shown = " ".join(cells[2] for cells in rows())
    named = re.findall(r"`([a-z]+_[a-z_]+)(?:[{`])", shown)
    assert len(named) > 30
    assert set(named) - known == set()


def test_every_test_that_meets_a_fault_is_named() -> None:
    """But for those that are about a detail of one that is."""
    page = PAGE.read_text()
    files = {file.name for file in HERE.glob("test_*.py")} - {Path(__file__).name}
    assert {name for name in files if f"`{name}::" not in page} == set()
