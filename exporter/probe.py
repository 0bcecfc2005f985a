"""Asks every target once, before the daemon runs: does it get an answer, and if not, why."""

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from exporter.clouds.http import Caller, Client, Request
from exporter.clouds.nsml import api as nsml
from exporter.clouds.nsml.collectors import RunCollector, RunNodeCollector
from exporter.clouds.nsml.runs import RunDirectory, RunKey
from exporter.clouds.outcomes import BadRequest, Failure, InternalError, NotFound, TimedOut
from exporter.clouds.paging import Listing, PageSize
from exporter.clouds.scp.collectors import NodePoolCollector
from exporter.collectors import Collector, ListCollector
from exporter.config import Config
from exporter.poller import Poller
from exporter.remedies import NO_SUCH_RUN, RUN_GONE, Setting, remedy

PATIENCE_SECONDS: Final = 60.0
"""How long all calls of a target may take, beside what its account's budget holds them up."""


@dataclass
class FirstAnswer(Caller):
    """Send one request, without a retry, and give its answer to every further one as well.

    A walk over pages so ends with its first: the second brings nothing new. Only a page size
    that is refused is followed by another. `seconds` is how long the last answer took.
    """

    answer: bytes | None = None
    seconds: float | None = None

    async def get(self, what: Request) -> bytes:
        """Return the body of the one good answer, or raise why there is none."""
        if self.answer is None:
            self.answer = await self._send(what)
        return self.answer

    async def _send(self, what: Request) -> bytes:
        clock = self.client.clock
        async with self.client.budget.slot(urgent=self.urgent):
            began = clock.monotonic()
            try:
                return await self.client.attempt(what)
            finally:
                self.seconds = clock.monotonic() - began


class NoRun(Exception):  # noqa: N818 - a state of affairs
    """There is nothing to ask about: no run is there."""


@dataclass(slots=True)
class Probe:
    """One target, asked once."""

    poller: Poller
    patience: float = PATIENCE_SECONDS
    rows: str = "-"
    note: str = ""
    failure: Failure | None = None
    _call: FirstAnswer | None = None

    @property
    def seconds(self) -> float | None:
        """How long the last call took, if it was sent at all."""
        return self._call.seconds if self._call else None

    async def ask(self) -> None:
        """Ask, and note the outcome, whatever it is."""
        try:
            async with asyncio.timeout(self.patience):
                listing = await _first(self.poller.collector, self._caller)
            self.rows = _rows(listing)
        except NoRun as none:
            self.rows, self.note = "0", str(none)
        except Failure as failure:
            self.failure = failure
        except TimeoutError:
            self.failure = TimedOut(f"no answer within {self.patience:g} s, other calls included")
        except Exception as error:
            self.poller.log.exception("a probe died of a defect; please report it")
            self.failure = InternalError(f"{type(error).__name__}, see the log")

    def _caller(self) -> FirstAnswer:
        self._call = FirstAnswer(self.poller.client, math.inf, self.poller.collector.urgent)
        return self._call


async def probe(pollers: Iterable[Poller]) -> list[Probe]:
    """Ask all targets at once, as fast as their accounts' budgets let them."""
    asked = list(pollers)
    clients = [poller.client for poller in asked]
    probes = [Probe(poller, _patience(poller.client, clients)) for poller in asked]
    await asyncio.gather(*(each.ask() for each in probes))
    return probes


def _patience(client: Client, clients: Sequence[Client]) -> float:
    calls = sum(each is client for each in clients)
    return PATIENCE_SECONDS + calls / client.budget.requests_per_second


Call = Callable[[], Caller]


async def _first(collector: Collector, call: Call) -> Listing[Any]:
    """Return what the first answer about a target's objects holds."""
    match collector:
        case ListCollector():
            return await collector.listed.all(call())
        case NodePoolCollector():
            return await _first_pools(collector, call)
        case RunCollector():
            return await _first_runs(collector.directory, call)
        case RunNodeCollector():
            return await _first_nodes(collector.directory, collector.size, call)
    raise TypeError(f"nothing is known of a {type(collector).__name__}")


async def _first_pools(collector: NodePoolCollector, call: Call) -> Listing[Any]:
    """Ask for the pools, and where the API wants to hear of a fabric, for those of the first."""
    try:
        return await collector.pools.all(call())
    except BadRequest as refused:
        if refused.status != 400:  # noqa: PLR2004
            raise
    fabrics = await collector.fabrics.all(call())
    for (fabric_id,) in fabrics.records:
        return await collector.pools.where(call(), cluster_fabric_id=fabric_id)
    return Listing()


async def _first_runs(directory: RunDirectory, call: Call) -> Listing[Any]:
    if directory.discover:
        return await directory.runs.all(call())
    run = _configured(directory)
    with _naming(run, NO_SUCH_RUN):
        return Listing({run: await nsml.run(call(), *run)})


async def _first_nodes(directory: RunDirectory, size: PageSize, call: Call) -> Listing[Any]:
    """Ask for the nodes of one run: of the first that goes on, or that is configured."""
    if directory.discover:
        run, missing = await _going(directory, call), RUN_GONE
    else:
        run, missing = _configured(directory), NO_SUCH_RUN
    project_id, run_name = run
    with _naming(run, missing):
        return await nsml.run_nodes(project_id, run_name, size).all(call())


async def _going(directory: RunDirectory, call: Call) -> RunKey:
    listing = await directory.runs.all(call())
    for run, record in listing.records.items():
        wanted = not directory.projects or run[0] in directory.projects
        if wanted and record.item.state_name not in directory.endings.terminal_states:
            return run
    raise NoRun("no run is in progress, so that no run's nodes could be asked for")


def _configured(directory: RunDirectory) -> RunKey:
    """Return the first run of the configuration, which has one where runs are not discovered."""
    return next(iter(directory.configured))


@contextmanager
def _naming(run: RunKey, missing: str) -> Iterator[None]:
    """Name the run in a failure that means that it is not there."""
    try:
        yield
    except NotFound as gone:
        raise NotFound(f"{missing}: {'/'.join(run)}: {gone.message}") from gone


def _rows(listing: Listing[Any]) -> str:
    more = listing.total is not None and listing.total != listing.found
    return f"{listing.found} of {listing.total}" if more else str(listing.found)


def table(probes: Sequence[Probe]) -> list[str]:
    """Return the lines of a table: target, status, latency of the answer, its rows."""
    lines = [("target", "status", "latency", "rows"), *map(_line, probes)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return [line.rstrip() for line in shown]


def _line(probe: Probe) -> tuple[str, str, str, str]:
    target = str(probe.poller.collector.target)
    status = "ok" if probe.failure is None else probe.failure.reason
    latency = "-" if probe.seconds is None else f"{probe.seconds * 1000:.0f} ms"
    return target, status, latency, probe.rows


def explanations(probes: Iterable[Probe], config: Config) -> list[str]:
    """Return lines that tell what went wrong, for which targets, and what to do about it.

    Those that the same happened to are one line, with the first of them.
    """
    alike: dict[str, list[str]] = {}
    for each in probes:
        target, said = str(each.poller.collector.target), each.note
        if each.failure is not None:
            said = _said(each.poller, each.failure.reason, each.failure.message, config)
        if said:
            alike.setdefault(said, []).append(target)
    return [f"{_first_of(targets)}: {said}" for said, targets in alike.items()]


def _first_of(targets: Sequence[str]) -> str:
    more = len(targets) - 1
    return f"{targets[0]} and {more} more" if more else targets[0]


def explanation(poller: Poller, reason: str, message: str, config: Config) -> str:
    """Return one line: which target failed, how, and what to do about it."""
    return f"{poller.collector.target}: {_said(poller, reason, message, config)}"


def _said(poller: Poller, reason: str, message: str, config: Config) -> str:
    what_to_do = remedy(reason, message, Setting.of(poller, config))
    return f"{reason}: {' '.join(message.split())} -> {what_to_do}"
