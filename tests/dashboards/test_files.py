"""The committed dashboards are what the code makes, all of them, and nothing else."""

import json
from pathlib import Path

import pytest

from boards.__main__ import main
from boards.all import BOARDS
from boards.board import Board
from tests.dashboards.files import ALL, DIRECTORY, UIDS


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_a_file_is_what_the_code_makes(board: Board) -> None:
    """A change of the code without `python -m boards`, or of the file by hand, fails here."""
    assert (DIRECTORY / board.file).read_text(encoding="utf-8") == board.to_text()


def test_there_is_a_file_for_each_dashboard_and_no_other() -> None:
    """Alerts and bookmarks name the dashboards by their uids, which are never to change."""
    assert tuple(ALL) == UIDS
    assert {file.name for file in DIRECTORY.glob("*.json")} == {board.file for board in BOARDS}


def test_the_command_writes_them_all(tmp_path: Path) -> None:
    """They can be written anywhere, for instance to compare two versions."""
    main([str(tmp_path)])
    written = {file.stem: json.loads(file.read_text("utf-8")) for file in tmp_path.iterdir()}
    assert written == ALL


def test_a_dashboard_is_small_enough_to_read() -> None:
    """No file grows with the number of states times the number of panels without bound."""
    assert max(file.stat().st_size for file in DIRECTORY.glob("*.json")) < 200_000
