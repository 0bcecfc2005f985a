"""The nodes of runs, which are asked for run by run."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from msgspec.structs import replace

from exporter.clouds.http import Caller
from exporter.clouds.nsml import api
from exporter.clouds.nsml.models import RunNode
from exporter.clouds.nsml.runs import RunKey
from exporter.clouds.outcomes import BadResponse, Failure
from exporter.clouds.paging import Listing, PageSize
from exporter.clouds.rows import Record

Answer: TypeAlias = Listing[RunNode] | Failure

_PAGES_AT_ONCE = 2


@dataclass(slots=True)
class RunNodes:
    """The list of one run's nodes, and the records that were made of it."""

    listed: api.PagedList[RunNode]
    _known: dict[int, tuple[Record[RunNode], Record[RunNode]]] = field(default_factory=dict)

    async def all(self, caller: Caller, run: RunKey) -> Listing[RunNode]:
        """Return the run's nodes, under keys that tell them from those of other runs."""
        whole = False
        try:
            listing = await self.listed.all(caller, ahead=True)
            _refuse_others(listing, run)
            whole = listing.complete
        finally:
            self.listed.reader.end_poll(whole=whole)
        known, self._known = self._known, {}
        placed = [self._placed(record, run, known) for record in listing.records.values()]
        listing.records = {record.key: record for record in placed}
        return listing

    def _placed(
        self,
        record: Record[RunNode],
        run: RunKey,
        known: dict[int, tuple[Record[RunNode], Record[RunNode]]],
    ) -> Record[RunNode]:
        """Return the record with its run's ids, the same one for the same row."""
        pair = known.get(id(record))
        if pair is None or pair[0] is not record:
            item = replace(record.item, project_id=run[0], run_name=run[1])
            pair = (record, Record(item.key, item, record.invalid))
        self._known[id(record)] = pair
        return pair[1]


def _refuse_others(listing: Listing[RunNode], run: RunKey) -> None:
    """Refuse an answer that says itself that it is about another run."""
    for record in listing.records.values():
        told = (record.item.told_project_id or run[0], record.item.told_run_name or run[1])
        if told != run:
            raise BadResponse("nodes of another run than was asked for")


@dataclass(slots=True)
class NodeCalls:
    """The calls of one poll for the nodes of runs, begun as the runs become known.

    `number` is that of the poll, and `asked` those of the last polls that asked for each
    run's nodes. This and `lists` are for the next poll, as far as their runs are wanted then.
    """

    caller: Caller
    size: PageSize
    number: int
    lists: dict[RunKey, RunNodes]
    asked: dict[RunKey, int]
    _tasks: dict[RunKey, asyncio.Task[Answer]] = field(default_factory=dict)
    _refusal: Failure | None = None
    _gate: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        runs_at_once = self.caller.client.budget.concurrent // _PAGES_AT_ONCE
        self._gate = asyncio.Semaphore(max(runs_at_once, 1))

    def begin(self, runs: Iterable[RunKey]) -> None:
        """Ask for the nodes of these runs, but of those that were asked for."""
        new = [run for run in runs if run not in self._tasks]
        self.caller.announce(_PAGES_AT_ONCE * len(new))
        # Where not all can be asked, because time is up or one is refused, the others come first
        # the next time.
        for run in sorted(new, key=lambda run: self.asked.get(run, 0)):
            self._tasks[run] = asyncio.create_task(self._answer(run))

    async def answers(self, runs: Iterable[RunKey]) -> Mapping[RunKey, Answer]:
        """Return what is answered of these runs, which are all that is wanted after all."""
        wanted = dict.fromkeys(runs)
        self.begin(wanted)
        await _end([task for run, task in self._tasks.items() if run not in wanted])
        found = await asyncio.gather(*(self._tasks[run] for run in wanted))
        return dict(zip(wanted, found, strict=True))

    async def aclose(self) -> None:
        """End what is still under way."""
        await _end(self._tasks.values())

    async def _answer(self, run: RunKey) -> Answer:
        """Ask, unless others were told what every further call would be told as well."""
        try:
            async with self._gate:
                if self._refusal is not None:
                    return self._refusal
                self.asked[run] = self.number
                return await self._list(run).all(self.caller, run)
        except Failure as failure:
            if failure.for_all:
                self._refusal = failure
            return failure

    def _list(self, run: RunKey) -> RunNodes:
        if run not in self.lists:
            self.lists[run] = RunNodes(api.run_nodes(run[0], run[1], self.size))
        return self.lists[run]


async def _end(tasks: Iterable[asyncio.Task[Any]]) -> None:
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)
