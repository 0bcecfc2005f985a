"""What a poller polls: one collector of one account in one region."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

from exporter.clouds.http import Caller
from exporter.clouds.paging import Listing
from exporter.clouds.rows import R, Reader
from exporter.families import Table
from exporter.snapshots import Sighting, TargetId


@dataclass(slots=True)
class Pace:
    """How often a target is polled, and how long one poll may take, in seconds."""

    interval: float
    timeout: float
    stale_after: float
    max_backoff: float


class Collector(Protocol):
    """One list of objects, or several that belong together, of one account in one region."""

    @property
    def target(self) -> TargetId:
        """Which target this is."""
        ...

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The families of what it sees, the main objects first."""
        ...

    @property
    def derived(self) -> Mapping[str, Callable[[Any], str]]:
        """Labels of its objects that are no attributes of them, but follow from more."""
        ...

    @property
    def pace(self) -> Pace:
        """How often it is polled, which may change with what the API turns out to be."""
        ...

    @property
    def urgent(self) -> bool:
        """Whether its requests go before those of others in the account's budget."""
        ...

    async def poll(self, caller: Caller) -> Sighting:
        """Ask the API once; raise a Failure where nothing new was learnt."""
        ...


class Listed(Protocol[R]):
    """A list call of an API, with the reader that remembers its rows."""

    @property
    def reader(self) -> Reader[R]:
        """What reads its answers."""
        ...

    async def all(self, caller: Caller) -> Listing[R]:
        """Return every object of the list."""
        ...


@dataclass(slots=True)
class ListCollector(Generic[R]):
    """A collector of one list: what the list holds is what there is.

    `generation` tells, by another number, that derived labels may have changed; `on_listing`
    hears of what was found.
    """

    target: TargetId
    table: Table[R]
    pace: Pace
    listed: Listed[R]
    derived: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)
    generation: Callable[[], int] = lambda: 0
    on_listing: Callable[[Listing[R]], None] = lambda _: None
    urgent: bool = True

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The one table."""
        return (self.table,)

    async def poll(self, caller: Caller) -> Sighting:
        """Walk the list once."""
        whole = False
        try:
            listing = await self.listed.all(caller)
            whole = listing.complete
        finally:
            self.listed.reader.end_poll(whole=whole)
        self.on_listing(listing)
        return sighting(self.table, listing, self.generation())


def sighting(table: Table[R], listing: Listing[R], generation: int = 0) -> Sighting:
    """Return what a listing means for a table."""
    return Sighting(
        {table.name: listing.records},
        complete=listing.complete,
        reported=listing.total,
        nameless=listing.nameless,
        duplicates=listing.duplicates,
        wait=listing.wait,
        problem=listing.problem,
        generation=generation,
    )
