"""Write the recorded input of the alerts' unit tests anew: `python -m recordings [NAME …]`."""

import argparse
import asyncio
import logging
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import structlog

from recordings.playbill import DRILLS, perform
from recordings.rules import ALERTS

TESTS = ALERTS / "tests"
_BLOCK = re.compile(
    r"^(?P<indent> *)# recorded: (?P<name>\w+)\n.*?^ *# end of the recording\n",
    re.DOTALL | re.MULTILINE,
)


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the recordings of a test file: the name of the drill, and the block as it stands."""
    return [(found["name"], found[0]) for found in _BLOCK.finditer(text)]


def block(name: str, indent: str, directory: Path) -> str:
    """Perform a drill, and return its block."""
    recorder = asyncio.run(perform(DRILLS[name], directory))
    lines = [f"# recorded: {name}", *recorder.lines(), "# end of the recording"]
    return "".join(f"{indent}{line}\n" for line in lines)


def rewrite(file: Path, names: Sequence[str]) -> None:
    """Perform the drills that a test file names, and write their blocks into it."""

    def replaced(found: re.Match[str]) -> str:
        name = found["name"]
        if names and name not in names:
            return found[0]
        sys.stdout.write(f"{file.name}: {name}\n")
        with tempfile.TemporaryDirectory() as directory:
            return block(name, found["indent"], Path(directory))

    file.write_text(_BLOCK.sub(replaced, file.read_text()))


def main(arguments: Sequence[str]) -> int:
    """Perform all drills, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m recordings", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*sorted(DRILLS), []], metavar="NAME")
    names = parser.parse_args(arguments).names
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    for file in sorted(TESTS.glob("*.yml")):
        rewrite(file, names)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
