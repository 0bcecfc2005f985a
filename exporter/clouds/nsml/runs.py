"""Which runs are watched: those that the API lists and those of the configuration."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from exporter.clock import Clock
from exporter.clouds.http import Caller
from exporter.clouds.nsml import api
from exporter.clouds.nsml.models import Run
from exporter.clouds.outcomes import Failure, NotFound
from exporter.clouds.paging import Listing
from exporter.clouds.rows import Record

RunKey = tuple[str, ...]


@dataclass(slots=True)
class RunsSeen:
    """Which runs of an account go on, and when others ended, in monotonic seconds.

    It outlives a reload, or runs that are long over would be shown again.
    """

    going: set[RunKey] = field(default_factory=set)
    ended: dict[RunKey, float] = field(default_factory=dict)


@dataclass(slots=True)
class RunEndings:
    """When runs were first seen to be over; one serves all collectors of an account."""

    terminal_states: Collection[str]
    retention: float
    clock: Clock
    seen: RunsSeen = field(default_factory=RunsSeen)

    def shown(self, run: Run) -> bool:
        """Return whether a run goes on, or has ended no longer ago than runs are shown.

        The end is the moment at which the exporter first saw it. A run that was over when
        it was first seen at all counts from its last update, where it has one.
        """
        if run.state_name not in self.terminal_states:
            self.seen.going.add(run.key)
            self.seen.ended.pop(run.key, None)
            return True
        self.seen.ended[run.key] = self._ended(run)
        self.seen.going.discard(run.key)
        return self.to_be_shown(run)

    def to_be_shown(self, run: Run) -> bool:
        """Return what `shown` would, without taking note of the run."""
        going = run.state_name not in self.terminal_states
        return going or self.clock.monotonic() - self._ended(run) <= self.retention

    def _ended(self, run: Run) -> float:
        known = self.seen.ended.get(run.key)
        return self.clock.monotonic() - self._age(run) if known is None else known

    def _age(self, run: Run) -> float:
        if run.key in self.seen.going or run.updated is None:
            return 0.0
        return max(self.clock.wall() - run.updated, 0.0)

    def forget_all_but(self, runs: Collection[RunKey]) -> None:
        """Forget the runs that there are no more."""
        self.seen.going &= set(runs)
        for key in self.seen.ended.keys() - set(runs):
            del self.seen.ended[key]


@dataclass(slots=True)
class Watched:
    """The runs that one poll has to do with, and what could not be learnt about others.

    `gone` are runs that are not shown any more: of the configuration, and answered 404, or
    over for longer than they are kept.
    """

    listing: Listing[Run]
    failures: list[Failure] = field(default_factory=list)
    gone: set[RunKey] = field(default_factory=set)

    @property
    def complete(self) -> bool:
        """Whether no run can be missing."""
        return self.listing.complete and not self.failures


@dataclass(slots=True)
class RunDirectory:
    """Find the watched runs; each collector has its own, so that none waits for another."""

    runs: api.PagedList[Run]
    discover: bool
    projects: Collection[str]
    configured: Collection[RunKey]
    endings: RunEndings

    async def find(
        self, caller: Caller, on_runs: Callable[[list[RunKey]], object] = lambda _: None
    ) -> Watched:
        """Ask for all runs, and one by one for those of the configuration not among them.

        Raises a Failure only where nothing at all could be learnt. `on_runs` hears early of
        runs that are most likely watched.
        """
        watched = await self._listed(caller, on_runs)
        listed = self.discover and watched.complete
        missing = [key for key in self.configured if key not in watched.listing.records]
        caller.announce(len(missing))
        answers = await asyncio.gather(*(self._detail(caller, key) for key in missing))
        for key, answer in zip(missing, answers, strict=True):
            match answer:
                case NotFound():
                    watched.gone.add(key)
                case Failure():
                    watched.failures.append(answer)
                case _:
                    watched.listing.records[key] = answer
        learnt = listed or watched.listing.records or watched.gone
        if watched.failures and not learnt:
            raise watched.failures[0]
        self._hide_old(watched)
        return watched

    def _hide_old(self, watched: Watched) -> None:
        records = watched.listing.records
        if watched.listing.complete:
            self.endings.forget_all_but({*records, *self.configured})
        old = {key for key, record in records.items() if not self.endings.shown(record.item)}
        watched.gone |= old
        for key in old:
            del records[key]

    async def _listed(self, caller: Caller, on_runs: Callable[[list[RunKey]], object]) -> Watched:
        def on_page(listing: Listing[Run]) -> None:
            found = listing.records.items()
            on_runs([key for key, record in found if self._likely(key, record.item)])

        if not self.discover:
            return Watched(Listing())
        whole = False
        try:
            listing = await self.runs.all(caller, on_page=on_page)
            whole = listing.complete
        except Failure as failure:
            if not self.configured:
                raise
            return Watched(Listing(complete=False), [failure])
        finally:
            self.runs.reader.end_poll(whole=whole)
        listing.records = {
            key: record for key, record in listing.records.items() if self._wanted(key)
        }
        return Watched(listing)

    def _likely(self, key: RunKey, run: Run) -> bool:
        return self._wanted(key) and self.endings.to_be_shown(run)

    def _wanted(self, key: RunKey) -> bool:
        return not self.projects or key[0] in self.projects or key in self.configured

    async def _detail(self, caller: Caller, key: RunKey) -> Record[Run] | Failure:
        try:
            return await api.run(caller, *key)
        except Failure as failure:
            return failure
