"""The simulator stands apart from the exporter."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import exporter.simulator

ALLOWED = {"aiohttp", "pydantic"}


def imported(path: Path) -> Iterator[str]:
    """Return the modules that a file imports."""
    for part in ast.walk(ast.parse(path.read_text())):
        if isinstance(part, ast.Import):
            yield from (alias.name for alias in part.names)
        if isinstance(part, ast.ImportFrom):
            assert part.level == 0
            yield str(part.module)


def test_it_imports_nothing_of_the_exporter() -> None:
    """Only itself, the standard library, aiohttp and pydantic: an error can't hide in both."""
    files = list(Path(exporter.simulator.__path__[0]).glob("**/*.py"))
    assert len(files) > 20
    for path in files:
        for module in imported(path):
            own = module == "exporter.simulator" or module.startswith("exporter.simulator.")
            foreign = module.partition(".")[0] not in ALLOWED | sys.stdlib_module_names
            assert own or not foreign, f"{path.name}: {module}"
