"""One loop for each target: poll within a deadline, take in the outcome, wait for the next.

A poll that fails changes nothing but the target's health. Whatever is raised ends in an
outcome: a loop goes on until it is cancelled.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

from structlog.stdlib import BoundLogger

from exporter.clock import Clock
from exporter.clouds.http import Caller, Client
from exporter.clouds.outcomes import Failure, InternalError, Partial, TimedOut
from exporter.collectors import Collector
from exporter.families import State
from exporter.schedule import MAX_WAIT_SECONDS, Schedule
from exporter.snapshots import Sighting, Snapshot
from exporter.telemetry import TargetTelemetry

_GRACE_SECONDS = 2.0
_LATE_SECONDS = 30.0
_STATE_NAME = attrgetter("item.state_name")
_CROWDED = 0.8
"""The share of the time that calls take up where they are too many to be ready in time."""


@dataclass(slots=True)
class Poller:
    """Poll one target for as long as it is configured."""

    collector: Collector
    client: Client
    snapshot: Snapshot
    telemetry: TargetTelemetry
    schedule: Schedule
    clock: Clock
    log: BoundLogger
    on_update: Callable[[], object] = lambda: None
    not_before: float = 0.0
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    attempted: asyncio.Event = field(default_factory=asyncio.Event)
    _next: float = field(init=False)
    _failed_whole: int = 0
    _faults_told: set[str] = field(default_factory=set)
    _crowd_told: bool = False

    def __post_init__(self) -> None:
        self._next = self.clock.monotonic()

    async def run(self) -> None:
        """Poll at once, then by the schedule, until cancelled."""
        self._next = max(self.clock.monotonic(), self.not_before)
        while True:
            await self.clock.wait(self.wake, max(self._next - self.clock.monotonic(), 0.0))
            self.wake.clear()
            await self.poll()

    def hurry(self) -> None:
        """End a back-off: what was refused may be good now. A server's wait still holds."""
        if self._failed_whole and self.clock.monotonic() >= self.not_before:
            self.wake.set()

    def late(self) -> bool:
        """Return whether the loop should have begun another poll long ago."""
        pace = self.collector.pace
        due = self._next + pace.timeout + _GRACE_SECONDS
        return self.clock.monotonic() > due + max(pace.interval, _LATE_SECONDS)

    async def poll(self) -> None:
        """Poll once and take in the outcome, whatever it is."""
        health, pace = self.snapshot.health, self.collector.pace
        began, wall = self.clock.monotonic(), self.clock.wall()
        self._next = began
        health.last_attempt = wall
        self.telemetry.began(wall)
        caller = self.client.until(began + pace.timeout, urgent=self.collector.urgent)
        failure = await self._outcome(caller, wall)
        self._settle(failure, wall)
        self._plan(failure, began)
        self._tell_if_crowded(caller, failure)
        self.telemetry.ended(self.clock.monotonic() - began, health.consecutive_failures)
        await self._prepare()
        health.attempted = True
        self.attempted.set()

    async def _prepare(self) -> None:
        """Do what the next scrape would have to do otherwise."""
        try:
            await asyncio.to_thread(self.telemetry.write)
            await asyncio.to_thread(self.on_update)
            await asyncio.to_thread(self.snapshot.let_go)
        except Exception:
            self.log.exception("preparing the page died of a defect; please report it")

    async def _outcome(self, caller: Caller, wall: float) -> Failure | None:
        """Poll, and return what went wrong, if anything did."""
        longest = self.collector.pace.timeout
        try:
            async with asyncio.timeout(longest + _GRACE_SECONDS):
                sighting = await self.collector.poll(caller)
            await self._take_in(sighting, wall)
        except Failure as failure:
            return failure
        except TimeoutError:
            return TimedOut(f"the poll was not done within {longest:g} s")
        except Exception as error:
            self.log.exception("a poll died of a defect; please report it")
            return InternalError(f"{type(error).__name__}, see the log")
        if sighting.complete:
            return None
        problem = sighting.problem or "two walks over the pages differ"
        return Partial(f"not all could be read whole: {problem}", wait=sighting.wait)

    async def _take_in(self, sighting: Sighting, wall: float) -> None:
        """Write the lines in a thread; then show them, and say so, without a pause between.

        A scrape so sees new values and that they are new, or neither.
        """
        await asyncio.to_thread(self.snapshot.prepare, sighting, self.clock.monotonic())
        tally = await asyncio.to_thread(self._tally, sighting)
        self.snapshot.publish()
        health = self.snapshot.health
        health.last_update = wall
        self.telemetry.updated(wall)
        self.telemetry.counted(
            invalid=sighting.nameless + tally["invalid"],
            duplicates=sighting.duplicates,
            unrecognized=tally["unrecognized"],
        )
        if sighting.complete:
            health.last_success, health.objects = wall, sighting.objects
            health.reported_objects = sighting.reported
            self.telemetry.succeeded(wall, sighting.objects, sighting.reported)

    def _tally(self, sighting: Sighting) -> Counter[str]:
        """Count bad fields and surprising states, and tell of each field once."""
        tally: Counter[str] = Counter()
        for sheet in self.snapshot.sheets:
            states = [family for family in sheet.table.families if isinstance(family, State)]
            records = sighting.tables[sheet.table.name].values()
            faulty = [record.invalid for record in records if record.invalid]
            for name, why in chain.from_iterable(faulty):
                tally["invalid"] += 1
                self._tell_fault(name, why)
            for family in states:
                named = Counter(map(_STATE_NAME, records))
                tally["unrecognized"] += sum(
                    number
                    for state, number in named.items()
                    if sheet.binding.surprising(family.kind, state)
                )
        if sighting.nameless:
            self._tell_fault("id", "missing")
        return tally

    def _tell_fault(self, name: str, why: str) -> None:
        if name not in self._faults_told:
            self._faults_told.add(name)
            self.log.warning("left out a field of a record", field=name, why=why)

    def _settle(self, failure: Failure | None, wall: float) -> None:
        """Note the outcome, and tell of it where it differs from the one before."""
        health = self.snapshot.health
        if failure is None:
            if health.consecutive_failures:
                self.log.info("recovered", failures=health.consecutive_failures)
            health.up, health.consecutive_failures = True, 0
            return
        self.telemetry.failed(failure.reason)
        self._tell_failure(failure)
        health.up = False
        health.consecutive_failures += 1
        health.error_reason, health.error_message = failure.reason, failure.message
        health.error_at = wall

    def _tell_failure(self, failure: Failure) -> None:
        health = self.snapshot.health
        known = health.consecutive_failures > 0 and health.error_reason == failure.reason
        details: dict[str, Any] = {"reason": failure.reason, "error": failure.message}
        if failure.request_id:
            details["request_id"] = failure.request_id
        (self.log.debug if known else self.log.warning)("poll failed", **details)

    def _plan(self, failure: Failure | None, began: float) -> None:
        """Set when the next poll is due."""
        pace, now = self.collector.pace, self.clock.monotonic()
        self._failed_whole = (
            0 if failure is None or isinstance(failure, Partial) else (self._failed_whole + 1)
        )
        self._next = self.schedule.after_failures(
            began, now, pace.interval, pace.max_backoff, self._failed_whole
        )
        if failure is not None and failure.wait:
            self.not_before = now + min(failure.wait, MAX_WAIT_SECONDS)
            self._next = max(self._next, self.not_before)
            self.wake.clear()
        self.telemetry.interval(pace.interval)
        self.snapshot.stale_after = pace.stale_after
        self.snapshot.health.next_poll = self.clock.wall() + self._next - now

    def _tell_if_crowded(self, caller: Caller, failure: Failure | None) -> None:
        """Tell once where there is no time for all calls, or there was none for more of them."""
        rate, timeout = self.client.budget.requests_per_second, self.collector.pace.timeout
        spent = isinstance(failure, TimedOut) and caller.made / rate >= _CROWDED * timeout
        if self._crowd_told or (caller.announced / rate <= timeout and not spent):
            return
        self._crowd_told = True
        self.log.warning(
            "a poll takes more calls than fit its deadline: raise polling.requests_per_second, "
            "or polling.interval and polling.timeout",
            calls=max(caller.announced, caller.made),
            requests_per_second=rate,
            deadline_seconds=timeout,
        )


def late(pollers: Iterator[Poller]) -> list[str]:
    """Return the targets whose loops should have begun another poll long ago."""
    return [str(poller.collector.target) for poller in pollers if poller.late()]
