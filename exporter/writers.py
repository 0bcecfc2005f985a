"""The lines of single objects, written anew only as far as they show something else.

When a row changes, that is seldom more than a state and a time: which fields differ tells
two tuples held side by side, and a family whose labels are none of those, and whose value
is what it was, keeps its lines.
"""

from collections.abc import Callable, Sequence
from itertools import compress
from operator import attrgetter, ne
from typing import Generic, NamedTuple

from msgspec.structs import astuple

from exporter.clouds.rows import R
from exporter.families import Binding, Lines, ObjectFamily

_MAX_REMEMBERED = 1024


class _Doubtful(NamedTuple, Generic[R]):
    """A family whose lines may show something else, now that some fields of an object differ.

    They do so where `shown` gives another value than before; where it is None, in any case.
    """

    place: int
    shown: Callable[[R], object] | None
    write: Lines[R]


class ObjectWriter(Generic[R]):
    """Write the lines of a target's objects, an entry for each family, in their order."""

    def __init__(self, families: Sequence[ObjectFamily[R]], binding: Binding) -> None:
        self.names = tuple(family.name for family in families)
        self._families = families
        self._derived = binding.derived
        self._lines = tuple(family.bind(binding) for family in families)
        self._fields: tuple[str, ...] = ()
        self._doubtful: dict[tuple[str, ...], tuple[_Doubtful[R], ...]] = {}

    def lines(self, item: R) -> tuple[bytes, ...]:
        """Return all lines of an object."""
        return tuple([write(item) for write in self._lines])

    def lines_anew(
        self, lines: Sequence[bytes], before: R, item: R
    ) -> tuple[tuple[bytes, ...], list[int]]:
        """Return the lines of an object, and at which places they are not those of `before`."""
        if item.__struct_fields__ is not self._fields:
            self._fields, self._doubtful = item.__struct_fields__, {}
        changed = tuple(compress(self._fields, map(ne, astuple(before), astuple(item))))
        now, places = list(lines), []
        for place, shown, write in self._doubtful.get(changed) or self._doubt(changed):
            if shown is None or shown(before) != shown(item):
                now[place] = write(item)
                places.append(place)
        return tuple(now), places

    def _doubt(self, changed: tuple[str, ...]) -> tuple[_Doubtful[R], ...]:
        """Return which families may show something else once these fields have changed."""
        if len(self._doubtful) >= _MAX_REMEMBERED:
            self._doubtful.clear()
        found: list[_Doubtful[R]] = []
        for place, (family, write) in enumerate(zip(self._families, self._lines, strict=True)):
            shown = {*family.labels, family.shows} - {""}
            if not shown.isdisjoint(changed):
                found.append(_Doubtful(place, None, write))
            elif computed := sorted(shown.difference(self._fields)):
                found.append(_Doubtful(place, self._getter(computed), write))
        self._doubtful[changed] = tuple(found)
        return self._doubtful[changed]

    def _getter(self, names: Sequence[str]) -> Callable[[R], object]:
        """Return what gives the values of attributes that are no fields."""
        getters = [self._derived.get(name) or attrgetter(name) for name in names]
        return getters[0] if len(getters) == 1 else lambda item: [get(item) for get in getters]
