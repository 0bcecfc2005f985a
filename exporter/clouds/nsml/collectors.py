"""The collectors of one account of CLOVA NSML."""

from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from exporter.clock import Clock
from exporter.clouds.http import Caller
from exporter.clouds.nsml import api, families
from exporter.clouds.nsml.models import RunMembers, RunNode
from exporter.clouds.nsml.nodes import Answer, NodeCalls, RunNodes
from exporter.clouds.nsml.runs import RunDirectory, RunEndings, RunKey, RunsSeen
from exporter.clouds.outcomes import (
    Failure,
    NotFound,
    first_problem,
    longest_wait,
    raise_where_nothing_answered,
)
from exporter.clouds.paging import Listing, PageSize, check_fields
from exporter.clouds.rows import Record
from exporter.collectors import Collector, ListCollector, Pace
from exporter.families import Table
from exporter.sheet import Key
from exporter.snapshots import Sighting, TargetId


@dataclass(slots=True)
class RunCollector:
    """The watched runs themselves."""

    target: TargetId
    pace: Pace
    directory: RunDirectory
    urgent: bool = True

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The one table."""
        return (families.RUNS,)

    @property
    def derived(self) -> Mapping[str, Callable[[Any], str]]:
        """No labels."""
        return {}

    async def poll(self, caller: Caller) -> Sighting:
        """List the runs, and ask for those of the configuration that are not listed."""
        watched = await self.directory.find(caller)
        listing = watched.listing
        return Sighting(
            {families.RUNS.name: listing.records},
            complete=watched.complete,
            reported=listing.total,
            nameless=listing.nameless,
            duplicates=listing.duplicates,
            settled=frozenset(watched.gone),
            wait=longest_wait(watched.failures),
            problem=first_problem(watched.failures),
        )


@dataclass(slots=True)
class _Found:
    """What the calls for the runs' nodes have brought so far."""

    nodes: dict[Key, Record[Any]] = field(default_factory=dict)
    members: dict[Key, Record[Any]] = field(default_factory=dict)
    settled: set[Key] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    missing: dict[RunKey, NotFound] = field(default_factory=dict)
    partial: bool = False
    nameless: int = 0
    duplicates: int = 0

    def answer(self, run: RunKey, answer: Answer) -> None:
        """Take in what the call for the nodes of a run was answered."""
        match answer:
            case NotFound():
                self.missing[run] = answer
                self._add(run, Listing())
            case Failure():
                self.failures.append(answer)
            case _:
                self._add(run, answer)

    def _add(self, run: RunKey, listing: Listing[RunNode]) -> None:
        self.nodes |= listing.records
        self.nameless += listing.nameless
        self.duplicates += listing.duplicates
        # Not the key of a node, which has an id: the count comes and goes on its own.
        count = (*run, "")
        if not listing.complete:
            self.partial = True
            self.settled.add(count)
            return
        self.settled.add(run)
        states = tuple(record.item.state_name for record in listing.records.values())
        members = RunMembers(project_id=run[0], run_name=run[1], states=states)
        self.members[count] = Record(count, members)


@dataclass(slots=True)
class RunNodeCollector:
    """The nodes of every watched run, one list for each."""

    target: TargetId
    pace: Pace
    directory: RunDirectory
    size: PageSize
    urgent: bool = True
    _lists: dict[RunKey, RunNodes] = field(default_factory=dict)
    _asked: dict[RunKey, int] = field(default_factory=dict)
    _round: int = 0

    @property
    def tables(self) -> tuple[Table[Any], ...]:
        """The nodes, and beside them the counts of each run's nodes."""
        return (families.RUN_NODES, families.RUN_MEMBERS)

    @property
    def derived(self) -> Mapping[str, Callable[[Any], str]]:
        """No labels."""
        return {}

    async def poll(self, caller: Caller) -> Sighting:
        """Ask for the runs, and for the nodes of each as soon as it is known."""
        self._round += 1
        calls = NodeCalls(caller, self.size, self._round, {**self._lists}, {**self._asked})
        async with aclosing(calls):
            watched = await self.directory.find(caller, calls.begin)
            runs = list(watched.listing.records)
            answers = await calls.answers(runs)
        found = _Found(partial=not watched.complete, settled=set(watched.gone))
        for run, answer in answers.items():
            found.answer(run, answer)
        self._asked = {run: calls.asked.get(run, 0) for run in runs}
        self._lists = {run: calls.lists[run] for run in runs if run in calls.lists}
        self._believe(len(runs), found)
        return Sighting(
            {families.RUN_NODES.name: found.nodes, families.RUN_MEMBERS.name: found.members},
            complete=not found.partial and not found.failures,
            nameless=found.nameless,
            duplicates=found.duplicates,
            settled=frozenset(found.settled),
            wait=longest_wait(found.failures),
            problem=first_problem([*found.failures, *watched.failures]),
        )

    def _believe(self, runs: int, found: _Found) -> None:
        """Raise where nothing was learnt.

        A run that is over may well have no nodes any more, which tells nothing of the others.
        """
        going = self.directory.endings.seen.going
        missing = [failure for run, failure in found.missing.items() if run in going]
        answered = runs - len(found.failures) - len(found.missing)
        raise_where_nothing_answered(answered, found.failures, missing)
        check_fields(found.nodes.values(), found.nameless)


def collectors(  # noqa: PLR0913 - what an account is made of
    names: tuple[str, ...],
    *,
    account: str,
    pace: Pace,
    page_size: int,
    discover: bool,
    projects: Collection[str],
    configured: Collection[RunKey],
    terminal_states: Collection[str],
    retention: float,
    clock: Clock,
    seen: RunsSeen | None = None,
) -> list[Collector]:
    """Return the collectors of these names for one account; `seen` is what is known of runs."""
    endings = RunEndings(frozenset(terminal_states), retention, clock, seen or RunsSeen())

    def target(name: str) -> TargetId:
        return TargetId("nsml", account, "", "", name)

    def directory() -> RunDirectory:
        runs = api.runs(page_size)
        return RunDirectory(runs, discover, frozenset(projects), configured, endings)

    makers: dict[str, Callable[[], Collector]] = {
        "projects": lambda: ListCollector(
            target("projects"), families.PROJECTS, pace, api.projects(page_size)
        ),
        "runs": lambda: RunCollector(target("runs"), pace, directory()),
        "run_nodes": lambda: RunNodeCollector(
            target("run_nodes"), pace, directory(), PageSize(page_size)
        ),
    }
    return [makers[name]() for name in names]
