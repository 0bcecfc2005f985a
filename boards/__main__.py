"""Writes the dashboards: `python -m boards [DIRECTORY]`."""

import sys
from collections.abc import Sequence
from pathlib import Path

from boards.all import BOARDS

DIRECTORY = Path(__file__).parent.parent / "dashboards"


def main(argv: Sequence[str]) -> None:
    """Write each dashboard to its file."""
    directory = Path(argv[0]) if argv else DIRECTORY
    for board in BOARDS:
        (directory / board.file).write_text(board.to_text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
