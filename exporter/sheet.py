"""The lines of one table of one target, kept ready for the page.

Objects are dealt into buckets. An object's lines are written when its record changes, a
bucket's lines of a family are compressed when any of them did, and the family's pieces are
joined. So a poll in which little changed costs little, and a scrape costs a copy.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic

from exporter.clouds.rows import R, Record
from exporter.deflate import Packed, Packer, join
from exporter.families import Binding, Lines, ListFamily, ObjectFamily, Table
from exporter.writers import ObjectWriter

Key = tuple[str, ...]

_BUCKET_OBJECTS = 32
"""Smaller buckets compress worse, larger ones are compressed anew more often."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The lines of one family of one target: to be joined as text, and compressed."""

    texts: tuple[tuple[bytes, ...], ...]
    packed: Packed

    @property
    def text(self) -> bytes:
        """All lines."""
        return b"".join(chain.from_iterable(self.texts))


@dataclass(slots=True)
class _Bucket:
    """The lines of some objects, an entry for each family; by family, as texts and compressed.

    `stale` are the places of the families whose lines changed since they were compressed.
    """

    families: int
    lines: dict[Key, tuple[bytes, ...]] = field(default_factory=dict)
    texts: list[tuple[bytes, ...]] = field(init=False)
    packed: list[Packed] = field(init=False)
    stale: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.texts = [()] * self.families
        self.packed = [join(())] * self.families

    def put(self, key: Key, lines: tuple[bytes, ...], changed: Iterable[int]) -> None:
        """Take in an object's lines, of which those at some places have changed."""
        self.lines[key] = lines
        self.stale.update(changed)

    def drop(self, key: Key) -> None:
        """Forget an object."""
        self.stale.update(place for place, line in enumerate(self.lines.pop(key)) if line)

    def pack(self, packer: Packer) -> set[int]:
        """Compress what changed, and return the places of those families."""
        changed, self.stale = self.stale, set()
        for place in changed:
            texts = tuple([lines[place] for lines in self.lines.values()])
            self.texts[place] = texts
            self.packed[place] = packer.pack(b"".join(texts))
        return changed


@dataclass(slots=True)
class _Count:
    """A family of counts, and how many objects are alike in what it shows."""

    name: str
    alike: Callable[[Any], Hashable]
    write: Lines[Mapping[Any, int]]
    number: Counter[Hashable] = field(default_factory=Counter)

    def recount(self, items: Iterable[Any]) -> None:
        """Count all objects."""
        self.number = Counter(map(self.alike, items))

    def replace(self, before: Iterable[Any], now: Iterable[Any]) -> None:
        """Count some objects as what they are now, or no longer."""
        self.number.subtract(map(self.alike, before))
        self.number.update(map(self.alike, now))

    @property
    def text(self) -> bytes:
        """All lines."""
        self.number = +self.number  # a group without objects has no lines
        return self.write(self.number)


@dataclass(slots=True)
class Sheet(Generic[R]):
    """What is shown of one table of one target; `pieces` are its lines by family."""

    table: Table[R]
    binding: Binding
    pieces: Mapping[str, Piece] = field(default_factory=dict)
    _records: Mapping[Key, Record[R]] = field(default_factory=dict)
    _generation: int = 0
    _buckets: list[_Bucket] = field(default_factory=list)
    _writer: ObjectWriter[R] = field(init=False)
    _counts: tuple["_Count", ...] = field(init=False)

    def __post_init__(self) -> None:
        families = self.table.families
        self._writer = ObjectWriter(
            [family for family in families if isinstance(family, ObjectFamily)], self.binding
        )
        self._counts = tuple(
            _Count(family.name, family.alike, family.bind(self.binding))
            for family in families
            if isinstance(family, ListFamily)
        )

    def show(self, records: Mapping[Key, Record[R]], generation: int = 0) -> None:
        """Write the lines of these records, as far as they have changed.

        In a new generation labels that don't come from the records may have changed.
        """
        if generation != self._generation or not self._fits(len(records)):
            self._generation = generation
            self._records = {}
            self._counts = tuple(replace(each, number=Counter()) for each in self._counts)
            self._buckets = self._empty_buckets(len(records))
            self.pieces = {}
        gone = self._records.keys() - records.keys()
        for key in gone:
            self._bucket(key).drop(key)
        changed = {key: rec for key, rec in records.items() if self._records.get(key) is not rec}
        for key, record in changed.items():
            self._put(key, record)
        self._count(records, {*gone, *changed})
        self._records = records
        if gone or changed or not self.pieces:
            self._join()

    def _put(self, key: Key, record: Record[R]) -> None:
        bucket, before = self._bucket(key), self._records.get(key)
        if before is None:
            lines = self._writer.lines(record.item)
            bucket.put(key, lines, [place for place, line in enumerate(lines) if line])
        else:
            known = bucket.lines[key]
            bucket.put(key, *self._writer.lines_anew(known, before.item, record.item))

    def _count(self, records: Mapping[Key, Record[R]], differing: Collection[Key]) -> None:
        """Count anew what differs; all, where that is the most."""
        for each in self._counts:
            if 2 * len(differing) > len(records):
                each.recount(record.item for record in records.values())
            else:
                before, now = (
                    [known[key].item for key in differing if key in known]
                    for known in (self._records, records)
                )
                each.replace(before, now)

    def _fits(self, objects: int) -> bool:
        """Return whether the number of buckets still suits, with some slack downwards."""
        wanted = _buckets_for(objects)
        return wanted <= len(self._buckets) <= 2 * wanted

    def _empty_buckets(self, objects: int) -> list[_Bucket]:
        families = len(self._writer.names)
        return [_Bucket(families) for _ in range(_buckets_for(objects))]

    def _bucket(self, key: Key) -> _Bucket:
        return self._buckets[zlib.crc32("\0".join(key).encode()) % len(self._buckets)]

    def _join(self) -> None:
        """Put together the pieces of the families that changed; the others stay the same."""
        packer = Packer()
        changed: set[int] = set()
        for bucket in self._buckets:
            changed |= bucket.pack(packer)
        pieces = {}
        for place, name in enumerate(self._writer.names):
            known = self.pieces.get(name)
            pieces[name] = self._piece(place) if known is None or place in changed else known
        for each in self._counts:
            text = each.text
            known = self.pieces.get(each.name)
            if known is None or known.texts != ((text,),):
                known = Piece(((text,),), packer.pack(text))
            pieces[each.name] = known
        self.pieces = pieces

    def _piece(self, place: int) -> Piece:
        texts = tuple([bucket.texts[place] for bucket in self._buckets])
        return Piece(texts, join(bucket.packed[place] for bucket in self._buckets))


def _buckets_for(objects: int) -> int:
    """Return how many buckets so many objects want: a power of two, so that it seldom changes."""
    return 1 << (max(objects // _BUCKET_OBJECTS, 1).bit_length() - 1)
