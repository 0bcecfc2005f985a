"""Which state each object was in, and since when: what the truth is told from."""

from collections import deque
from dataclasses import dataclass

RETENTION_SECONDS = 900.0
CHANGES_KEPT = 64
GONE_KEPT = 2000


@dataclass(frozen=True, slots=True)
class Change:
    """The state an object went into; `None`: it left the lists."""

    at: float
    state: str | None


@dataclass(frozen=True, slots=True)
class Gone:
    """An object that is no longer listed; `owner` is its region, project or run."""

    kind: str
    owner: str
    id: str
    name: str
    at: float


class History:
    """The state changes of the last minutes, by object."""

    def __init__(self) -> None:
        self._changes: dict[str, deque[Change]] = {}
        self._gone: deque[Gone] = deque(maxlen=GONE_KEPT)

    def record(self, key: str, state: str, at: float) -> None:
        """Note that the object went into `state` at the Unix time `at`."""
        self._changes.setdefault(key, deque(maxlen=CHANGES_KEPT)).append(Change(at, state))

    def bury(self, gone: Gone) -> None:
        """Note that an object left the lists, and forget those that did so long ago."""
        self._changes.setdefault(gone.id, deque(maxlen=CHANGES_KEPT)).append(Change(gone.at, None))
        if len(self._gone) == GONE_KEPT:
            self._forget(self._gone[0])
        while self._gone and self._gone[0].at < gone.at - RETENTION_SECONDS:
            self._forget(self._gone.popleft())
        self._gone.append(gone)

    def of(self, key: str, now: float) -> list[Change]:
        """Return the changes since the retention's start, and the one in force at it."""
        changes = list(self._changes.get(key, ()))
        start = now - RETENTION_SECONDS
        first = max((i for i, change in enumerate(changes) if change.at <= start), default=0)
        return changes[first:]

    def gone(self, kind: str, owner: str, now: float) -> list[Gone]:
        """Return what left the lists of `owner` within the retention."""
        start = now - RETENTION_SECONDS
        return [
            gone
            for gone in self._gone
            if (gone.kind, gone.owner) == (kind, owner) and gone.at >= start
        ]

    def _forget(self, gone: Gone) -> None:
        changes = self._changes.get(gone.id)
        # An object that came back under its old id has a history that goes on.
        if changes and changes[-1].state is None:
            del self._changes[gone.id]
