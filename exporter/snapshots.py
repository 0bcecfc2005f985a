"""What each target last saw, and how its polls went: the only state that is shared.

A target's poller writes; the pages, the discovery and the status page read. What is shown
depends on the time of the reading, not on whether a poller is awake: an object that was
not seen for longer than `stale_after` is not shown, whoever is late.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from exporter.clouds.rows import R, Record
from exporter.families import Binding, Family, Lines, ListFamily, ObjectFamily, Table, encode

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TargetId:
    """One collector of one account in one region; NSML has neither environment nor region."""

    provider: str
    account: str
    environment: str
    region: str
    collector: str

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the target's own series."""
        return {
            "provider": self.provider,
            "account": self.account,
            "environment": self.environment,
            "region": self.region,
            "collector": self.collector,
        }

    def __str__(self) -> str:
        return "/".join(part for part in self.labels.values() if part)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What one poll saw: the records of each table by key.

    `complete` is whether the poll saw all that there is. Where it is not, what the poll did
    not see is not gone, but for what belongs to a `settled` object: one, by the start of
    its parts' keys, whose parts were all seen, or which is known to be gone itself.
    """

    tables: Mapping[str, Mapping[Key, Record[Any]]]
    complete: bool = True
    reported: int | None = None
    nameless: int = 0
    duplicates: int = 0
    settled: frozenset[Key] = frozenset()

    @property
    def objects(self) -> int:
        """The number of distinct objects of the target's main table, which stands first."""
        return len(next(iter(self.tables.values()), {}))


@dataclass(slots=True)
class Sheet(Generic[R]):
    """The records of one table of one target, and their lines in each family.

    The lines of an object are written when its record changes, and a family's lines are
    joined when any of them did.
    """

    table: Table[R]
    binding: Binding
    records: dict[Key, Record[R]] = field(default_factory=dict)
    seen: dict[Key, float] = field(default_factory=dict)
    pieces: dict[str, bytes] = field(default_factory=dict)
    _lines: dict[Key, tuple[Record[R], tuple[bytes, ...]]] = field(default_factory=dict)
    _shown: dict[Key, Record[R]] = field(default_factory=dict)
    _per_object: tuple[tuple[Family[R], Lines[R]], ...] = ()
    _per_list: tuple[tuple[Family[R], Lines[Any]], ...] = ()

    def __post_init__(self) -> None:
        families = self.table.families
        self._per_object = tuple(
            (family, family.bind(self.binding))
            for family in families
            if isinstance(family, ObjectFamily)
        )
        self._per_list = tuple(
            (family, family.bind(self.binding))
            for family in families
            if isinstance(family, ListFamily)
        )

    def update(self, sighting: Sighting, now: float) -> None:
        """Take in what a poll saw at a time of the monotonic clock."""
        records = sighting.tables[self.table.name]
        seen = dict.fromkeys(records, now)
        if sighting.complete:
            self.records, self.seen = dict(records), seen
            return
        kept = {key: rec for key, rec in self.records.items() if not _settled(key, sighting)}
        self.records = {**kept, **records}
        self.seen = {key: self.seen[key] for key in kept} | seen

    def show(self, oldest: float) -> None:
        """Write the lines of the records that were seen at this time or later."""
        shown = {key: rec for key, rec in self.records.items() if self.seen[key] >= oldest}
        changed = self._write(shown)
        if changed or shown.keys() != self._shown.keys() or not self.pieces:
            self._shown = shown
            self._join()

    def _write(self, shown: Mapping[Key, Record[R]]) -> bool:
        changed = False
        for key in self._lines.keys() - shown.keys():
            del self._lines[key]
        for key, record in shown.items():
            known = self._lines.get(key)
            if known is None or known[0] is not record:
                item = record.item
                lines = tuple(encode(write(item)) for _, write in self._per_object)
                self._lines[key] = (record, lines)
                changed = True
        return changed

    def _join(self) -> None:
        columns: Iterable[tuple[bytes, ...]] = [lines for _, lines in self._lines.values()]
        joined = [b"".join(column) for column in zip(*columns, strict=True)] or [b""] * len(
            self._per_object
        )
        items = [record.item for record in self._shown.values()]
        pieces = {
            family.name: lines for (family, _), lines in zip(self._per_object, joined, strict=True)
        }
        for family, write in self._per_list:
            pieces[family.name] = encode(write(items))
        self.pieces = pieces


def _settled(key: Key, sighting: Sighting) -> bool:
    return any(key[:length] in sighting.settled for length in range(1, len(key) + 1))


@dataclass(slots=True)
class Health:
    """How a target's polls went, with Unix times for people and the status page."""

    up: bool = False
    last_attempt: float | None = None
    last_success: float | None = None
    last_update: float | None = None
    consecutive_failures: int = 0
    objects: int = 0
    reported_objects: int | None = None
    next_poll: float | None = None
    error_reason: str = ""
    error_message: str = ""
    error_at: float | None = None
    attempted: bool = False


@dataclass(slots=True)
class Snapshot:
    """What one target last saw."""

    target: TargetId
    stale_after: float
    sheets: tuple[Sheet[Any], ...]
    health: Health = field(default_factory=Health)
    updated: float | None = None
    _pieces: tuple[Mapping[str, bytes], ...] = ()
    _next_expiry: float | None = None
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def update(self, sighting: Sighting, now: float) -> None:
        """Take in a poll that was whole or partial, and write its lines; safe in a thread."""
        with self._writing:
            for sheet in self.sheets:
                sheet.update(sighting, now)
            self._show(now)
            self.updated = now

    def pieces(self, now: float) -> tuple[Mapping[str, bytes], ...]:
        """Return the lines of each table by family, as far as they hold at this time."""
        if self.updated is None or now - self.updated > self.stale_after:
            return ()
        if self._next_expiry is not None and now > self._next_expiry:
            with self._writing:
                self._show(now)
        return self._pieces

    def same_shape(self, other: "Snapshot") -> bool:
        """Return whether another snapshot would write the same lines for the same objects."""
        mine = [(sheet.table, sheet.binding) for sheet in self.sheets]
        return mine == [(sheet.table, sheet.binding) for sheet in other.sheets]

    def fresh(self, seen: float, now: float) -> bool:
        """Return whether what was seen at a time still holds."""
        return now - seen <= self.stale_after

    def _show(self, now: float) -> None:
        oldest = now - self.stale_after
        for sheet in self.sheets:
            sheet.show(oldest)
        self._pieces = tuple(sheet.pieces for sheet in self.sheets)
        times = (seen for sheet in self.sheets for seen in sheet.seen.values() if seen >= oldest)
        first = min(times, default=None)
        self._next_expiry = None if first is None else first + self.stale_after


class Snapshots:
    """All targets' snapshots, in the order of the configuration."""

    def __init__(self) -> None:
        self._by_target: dict[TargetId, Snapshot] = {}

    def __iter__(self) -> Iterator[Snapshot]:
        return iter(tuple(self._by_target.values()))

    def get(self, target: TargetId) -> Snapshot | None:
        """Return the snapshot of a target that is configured."""
        return self._by_target.get(target)

    def replace(self, snapshots: Iterable[Snapshot]) -> None:
        """Set which targets there are; those that are not among them take their series along."""
        self._by_target = {snapshot.target: snapshot for snapshot in snapshots}
