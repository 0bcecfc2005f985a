"""The lines of a table, as they stand on the page of metrics."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from exporter.families import Binding, ListFamily, ObjectFamily, Table


def written(table: Table[Any], items: Sequence[Any], binding: Binding) -> list[str]:
    """Return the lines of all families of a table."""
    lines: list[str] = []
    for family in table.families:
        if isinstance(family, ObjectFamily):
            write = family.bind(binding)
            lines += [line for item in items for line in write(item).decode().splitlines()]
        else:
            assert isinstance(family, ListFamily)
            counts = Counter(map(family.alike, items))
            lines += family.bind(binding)(counts).decode().splitlines()
    return lines
