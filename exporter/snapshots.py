"""What each target last saw, and how its polls went: the only state that is shared.

A target's poller writes; the pages, the discovery and the status page read. What is shown
depends on the time of the reading, not on whether a poller is awake: an object that was
not seen for longer than `stale_after` is not shown, whoever is late.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.clouds.rows import Record
from exporter.families import Binding, Table
from exporter.sheet import Key, Piece, Sheet

_FREED_AT_ONCE = 500


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
    `wait` is what a server asked for that refused a part of the poll, in seconds.
    `problem` is what went wrong in a poll that is not complete, for people.
    `generation` grows when labels that don't come from the records may have changed.
    """

    tables: Mapping[str, Mapping[Key, Record[Any]]]
    complete: bool = True
    reported: int | None = None
    nameless: int = 0
    duplicates: int = 0
    settled: frozenset[Key] = frozenset()
    wait: float | None = None
    problem: str = ""
    generation: int = 0

    @property
    def objects(self) -> int:
        """The number of distinct objects of the target's main table, which stands first."""
        return len(next(iter(self.tables.values()), {}))


@dataclass(frozen=True, slots=True)
class LastSeen:
    """The objects of one table as they were last seen, and when, in monotonic seconds.

    `listed` is the last whole list, None before the first; of it, what a partial poll knows
    to be gone goes, and nothing that it did not see.
    """

    table: Table[Any]
    binding: Binding
    records: Mapping[Key, Record[Any]] = field(default_factory=dict)
    times: Mapping[Key, float] = field(default_factory=dict)
    listed: Mapping[Key, Record[Any]] | None = None


@dataclass(slots=True)
class Seen:
    """The records of one table as they were last seen, and when, in monotonic seconds."""

    sheet: Sheet[Any]
    records: Mapping[Key, Record[Any]] = field(default_factory=dict)
    times: Mapping[Key, float] = field(default_factory=dict)
    listed: Mapping[Key, Record[Any]] | None = None
    generation: int = 0

    def update(self, sighting: Sighting, now: float, oldest: float) -> None:
        """Take in what a poll saw; what was last seen before `oldest` goes in any case."""
        records = sighting.tables[self.sheet.table.name]
        times = dict.fromkeys(records, now)
        self.generation = sighting.generation
        if sighting.complete:
            self.records, self.times, self.listed = records, times, records
            return
        # Of what is too old to be shown the last whole list is kept, for discovery and people.
        listed = self.listed or {}
        kept = {
            key: record
            for key, record in self.records.items()
            if (self.times[key] >= oldest or key in listed) and not _settled(key, sighting)
        }
        times = {key: self.times[key] for key in kept} | times
        self.records, self.times = {**kept, **records}, times
        if self.listed is not None and sighting.settled:
            self.listed = _renewed(self.listed, records, sighting)

    def show(self, oldest: float) -> float | None:
        """Write the lines of what was seen since then; return the first time among them."""
        first = min(self.times.values(), default=None)
        records = self.records
        if first is not None and first < oldest:
            records = {key: rec for key, rec in records.items() if self.times[key] >= oldest}
            first = min((self.times[key] for key in records), default=None)
        self.sheet.show(records, self.generation)
        return first

    @property
    def last(self) -> LastSeen:
        """What was last seen, which no later poll changes."""
        sheet = self.sheet
        return LastSeen(sheet.table, sheet.binding, self.records, self.times, self.listed)


def _settled(key: Key, sighting: Sighting) -> bool:
    return not sighting.settled.isdisjoint(_wholes(key))


def _wholes(key: Key) -> Iterator[Key]:
    """Yield the keys of all that an object is a part of, and its own."""
    return (key[:length] for length in range(1, len(key) + 1))


def _renewed(
    listed: Mapping[Key, Record[Any]], records: Mapping[Key, Record[Any]], sighting: Sighting
) -> Mapping[Key, Record[Any]]:
    """Return a whole list with the parts of what a partial poll settled as they are now.

    What was not on the list is not added: it could not be told when that goes.
    """
    known = sighting.settled & {whole for key in listed for whole in _wholes(key)}
    stay = {key: record for key, record in listed.items() if not _settled(key, sighting)}
    now = {key: rec for key, rec in records.items() if not known.isdisjoint(_wholes(key))}
    return stay | now


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


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a page shows of a target, and when the first of it was seen, in monotonic seconds.

    `last` is what discovery and the pages for people read, past `stale_after` too.
    """

    pieces: tuple[Mapping[str, Piece], ...] = ()
    first: float | None = None
    last: tuple[LastSeen, ...] = ()


@dataclass(slots=True)
class Snapshot:
    """What one target last saw."""

    target: TargetId
    stale_after: float
    sheets: tuple[Sheet[Any], ...]
    health: Health = field(default_factory=Health)
    updated: float | None = None
    seen: tuple[Seen, ...] = field(init=False)
    _shown: _Shown = field(default_factory=_Shown)
    _prepared: _Shown | None = None
    _prepared_at: float = 0.0
    _outdated: list[_Shown] = field(default_factory=list)
    _writing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.seen = tuple(Seen(sheet) for sheet in self.sheets)

    def update(self, sighting: Sighting, now: float) -> None:
        """Take in a poll that was whole or partial, and show it."""
        self.prepare(sighting, now)
        self.publish()
        self.let_go()

    def prepare(self, sighting: Sighting, now: float) -> None:
        """Take in a poll, and write its lines, which are not shown yet; safe in a thread."""
        with self._writing:
            for seen in self.seen:
                seen.update(sighting, now, now - self.stale_after)
            self._prepared = self._written(now)
            self._prepared_at = now

    def publish(self) -> None:
        """Show what was prepared, all of it at once."""
        if self._prepared is not None:
            self._outdated.append(self._shown)
            self._shown, self._prepared = self._prepared, None
            self.updated = self._prepared_at

    def let_go(self) -> None:
        """Free what is no longer shown, little by little; safe in a thread.

        Nobody else can work while an object is freed, with all that only it refers to.
        """
        outdated, self._outdated = self._outdated, []
        records = [
            rec for shown in outdated for last in shown.last for rec in last.records.values()
        ]
        del outdated
        while records:
            del records[-_FREED_AT_ONCE:]

    def pieces(self, now: float) -> tuple[Mapping[str, Piece], ...]:
        """Return the lines of each table by family, as far as they hold at this time."""
        if self.updated is None or not self.fresh(self.updated, now):
            return ()
        first = self._shown.first
        if first is not None and not self.fresh(first, now):
            with self._writing:
                self._shown = self._written(now)
        return self._shown.pieces

    @property
    def last(self) -> tuple[LastSeen, ...]:
        """What the target last saw, table by table, however long ago; none before that."""
        return self._shown.last

    def adopt(self, other: "Snapshot", now: float) -> None:
        """Take over what another snapshot of the same target saw, and how its polls went."""
        # The thread of a poll that was cancelled may still be writing.
        with other._writing:  # noqa: SLF001 - its own kind
            for mine, theirs in zip(self.seen, other.seen, strict=True):
                mine.records, mine.times = theirs.records, theirs.times
                mine.listed = theirs.listed
        self.health, self.updated = other.health, other.updated
        if self.updated is not None:
            self._shown = self._written(now)

    def fresh(self, seen: float, now: float) -> bool:
        """Return whether what was seen at a time still holds."""
        return now - seen <= self.stale_after

    def _written(self, now: float) -> _Shown:
        firsts = [seen.show(now - self.stale_after) for seen in self.seen]
        first = min((each for each in firsts if each is not None), default=None)
        pieces = tuple(seen.sheet.pieces for seen in self.seen)
        return _Shown(pieces, first, tuple(seen.last for seen in self.seen))


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
