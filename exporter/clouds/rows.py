"""Rows of the clouds' answers, read one by one, so that a bad one spoils no other.

An answer is first split into the bytes of its rows, which costs a fraction of reading
them. A row whose bytes were there in the last poll keeps its Record, wherever in the list
it stands now: no parsing, and, since the Record is the same object, no rendering either.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from exporter.clouds.answers import document_of, loads, refuse_error, shape, split
from exporter.clouds.fields import NOT_REPORTED, read_time
from exporter.clouds.outcomes import BadResponse
from exporter.clouds.salvage import salvage

MAX_ROWS = 200_000
_ROWS_AT_ONCE = 500


class Row(Struct, frozen=True, gc=False):
    """What a row of a list is read into: unknown fields ignored, every field optional.

    No row refers back to itself, so Python's garbage collector need not look at any.
    """

    id_field: ClassVar[str] = "id"
    state_field: ClassVar[str] = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What tells this object from all others of its list; empty where it has no id."""
        raise NotImplementedError

    @property
    def state_name(self) -> str:
        """The object's state, as it stands in the label `state`."""
        return NOT_REPORTED


R = TypeVar("R", bound=Row)


class Record(Struct, Generic[R], eq=False, gc=False):
    """A row that was read, and which of its fields were left out as bad, and why.

    It never changes, but is not frozen: there is one for each row, and that would cost.
    """

    key: tuple[str, ...]
    item: R
    invalid: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Page(Generic[R]):
    """One answer: its records, the JSON of rows without an id, the total that it claims."""

    records: tuple[Record[R], ...]
    nameless: tuple[bytes, ...]
    total: int | None

    @property
    def rows(self) -> int:
        """The number of rows, readable or not."""
        return len(self.records) + len(self.nameless)


Rows: TypeAlias = dict[bytes, Record[R]]
"""Records by the JSON of their rows."""


@dataclass(slots=True)
class _Memory(Generic[R]):
    """What one poll read: answers by their digest, each with its rows, and all rows."""

    pages: dict[bytes, tuple[Page[R], Rows[R]]] = field(default_factory=dict)
    rows: Rows[R] = field(default_factory=dict)


class Reader(Generic[R]):
    """Read the answers of one list; remember its rows from one poll to the next.

    `promising` is whether rows are to be expected: there were some in the last poll, which
    was whole, or there was none yet.
    """

    def __init__(self, model: type[R], rows_field: str) -> None:
        self.model = model
        self.promising = True
        self._rows_field = rows_field
        self._last: _Memory[R] = _Memory()
        self._now: _Memory[R] = _Memory()

    def page(self, body: bytes, over: Callable[[], bool] = lambda: False) -> Page[R]:
        """Read one answer; raise BadResponse where it is not the documented one.

        Where it takes long, `over` is asked whether anybody still waits for it.
        """
        digest = hashlib.blake2b(body, digest_size=16).digest()
        known = self._last.pages.get(digest) or self._now.pages.get(digest)
        page, rows = known or self._read(body, over)
        self._now.pages[digest] = (page, rows)
        self._now.rows |= rows
        return page

    def known(self) -> Iterator[tuple[str, ...]]:
        """Return the keys of all that the last whole poll saw."""
        return map(attrgetter("key"), self._last.rows.values())

    def end_poll(self, *, whole: bool) -> None:
        """Forget what a whole poll did not see; after any other, what only that one saw."""
        self.promising = whole and bool(self._now.rows)
        if whole:
            self._last = self._now
        self._now = _Memory()

    def _read(self, body: bytes, over: Callable[[], bool]) -> tuple[Page[R], Rows[R]]:
        raws, total = split(body, self._rows_field)
        if len(raws) > MAX_ROWS:
            raise BadResponse(f"an answer of more than {MAX_ROWS} rows")
        last, now, model = self._last.rows, self._now.rows, self.model
        read: list[Record[R] | None] = []
        for some in _sliced(raws):
            if over():
                raise BadResponse("an answer that takes longer to read than there is time")
            read += [last.get(raw) or now.get(raw) or read_row(model, raw) for raw in some]
        rows = {raw: record for raw, record in zip(raws, read, strict=True) if record is not None}
        named = tuple(filter(None, read))
        nameless: tuple[bytes, ...] = ()
        if len(named) < len(read):
            nameless = tuple(raw for raw, record in zip(raws, read, strict=True) if record is None)
        self._refuse_renamed(named, nameless, rows)
        return Page(named, nameless, total), rows

    def _refuse_renamed(
        self, named: Sequence[Record[R]], nameless: Sequence[bytes], rows: Rows[R]
    ) -> None:
        """Refuse an answer with several rows, none of which has the field of the id or state.

        That is an API that changed; a row in which the field is null is one bad row.
        """
        field = self.model.id_field
        if len(nameless) > 1 and not named and not any(_has(raw, field) for raw in nameless):
            raise BadResponse(f"{len(nameless)} rows without an id")
        if len(named) > 1 and all(self._lacks_state(raw, record) for raw, record in rows.items()):
            raise BadResponse(f"{len(named)} rows without a state")

    def _lacks_state(self, raw: bytes, record: Record[R]) -> bool:
        """Return whether a row should have a state, and has not even a bad one."""
        field = self.model.state_field
        return bool(field) and record.item.state_name == NOT_REPORTED and not _has(raw, field)


def _sliced(raws: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    return (raws[start : start + _ROWS_AT_ONCE] for start in range(0, len(raws), _ROWS_AT_ONCE))


def _has(raw: bytes, field: str) -> bool:
    try:
        row = loads(raw)
    except ValueError:
        return False
    return isinstance(row, dict) and field in row


@cache
def _decoder(model: type[R]) -> msgspec.json.Decoder[R]:
    return msgspec.json.Decoder(model, dec_hook=read_time)


def read_row(model: type[R], raw: bytes) -> Record[R] | None:
    """Read the JSON of one row; None for a row that names no object.

    A field that does not fit is left out, nested ones on their own, and named in `invalid`.
    """
    try:
        item = _decoder(model).decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return _read_slowly(model, raw)
    key = item.key
    for part in key:
        if part != part.strip():
            return _read_slowly(model, raw)
    return Record(key, item) if key else None


def read_object(model: type[R], body: bytes, named: Mapping[str, str], wrapper: str) -> Record[R]:
    """Read an answer that is one object, as it is or within a field `wrapper`.

    `named` are the ids that the path asked for; an answer that repeats none of them is not
    about that object, and raises BadResponse like one that is no JSON.
    """
    answer = document_of(body)
    if isinstance(answer, dict) and isinstance(answer.get(wrapper), dict):
        answer = answer[wrapper]
    if not isinstance(answer, dict) or not named.keys() & answer.keys():
        raise BadResponse(f"none of {', '.join(named)} in the answer: {shape(answer)}")
    refuse_error(answer)
    ids = {key: answer[key] for key in named if isinstance(answer.get(key), str | int)}
    others = [key for key, told in ids.items() if str(told).strip() != named[key]]
    if others:
        raise BadResponse(f"an answer about another {others[0]} than was asked for")
    return _salvaged(model, {**answer, **named})


def _read_slowly(model: type[R], raw: bytes) -> Record[R] | None:
    try:
        row = loads(raw)
    except ValueError:
        return None
    record = _salvaged(model, row) if isinstance(row, dict) else None
    return record if record is not None and record.key else None


def _salvaged(model: type[R], row: Mapping[str, Any]) -> Record[R]:
    item, faults = salvage(model, row)
    return Record(item.key, item, tuple(faults.items()))
