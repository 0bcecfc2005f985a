"""One target's loop, by a clock that the test moves."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from exporter import logs, poller
from exporter.clouds.budget import Budget
from exporter.clouds.http import Caller, Client, Dialect
from exporter.clouds.outcomes import (
    REASONS,
    AuthFailed,
    Failure,
    RateLimited,
    ServerError,
    TimedOut,
)
from exporter.clouds.rows import Record
from exporter.clouds.scp import families
from exporter.clouds.scp.models import GpuNode
from exporter.collectors import Pace
from exporter.families import Binding, Table
from exporter.poller import Poller
from exporter.schedule import Schedule
from exporter.sheet import Sheet
from exporter.snapshots import Sighting, Snapshot, TargetId
from exporter.telemetry import PREFIX, Telemetry
from tests.clocks import START_MONOTONIC, START_WALL, FakeClock, run_threads_inline, settle

if TYPE_CHECKING:
    from aiohttp import ClientSession

TARGET = TargetId("scp", "prod", "e", "kr-west1", "gpu_nodes")
PHASE = 0.5  # of an interval that divides the clock's start: moments fall on 5 s of every 10
Outcome = Sighting | Exception | Callable[[Caller], Awaitable[Sighting]]


def node(name: str, state: str = "RUNNING", *invalid: tuple[str, str]) -> Record[GpuNode]:
    """Make the record of a node."""
    return Record((name,), GpuNode(gpu_node_id=name, state=state), invalid)


def seen(*nodes: Record[GpuNode], complete: bool = True, **more: Any) -> Sighting:  # noqa: ANN401 - its fields
    """Make what a poll saw."""
    records = {record.key: record for record in nodes}
    return Sighting({"gpu_nodes": records}, complete=complete, **more)


@dataclass
class Scripted:
    """A collector whose polls end as the test says, the last outcome for ever."""

    clock: FakeClock
    outcomes: list[Outcome] = field(default_factory=lambda: [seen()])
    pace: Pace = field(default_factory=lambda: Pace(10.0, 8.0, 60.0, 60.0))
    target: TargetId = TARGET
    tables: tuple[Table[Any], ...] = (families.GPU_NODES,)
    derived: Mapping[str, Callable[[Any], str]] = field(
        default_factory=lambda: {"gpu_model": lambda _: ""}
    )
    urgent: bool = True
    polls: list[float] = field(default_factory=list)
    at_once: int = 0

    async def poll(self, caller: Caller) -> Sighting:
        """Note the seconds since the start of the test, and end as told."""
        self.polls.append(self.clock.monotonic() - START_MONOTONIC)
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        self.at_once += 1
        assert self.at_once == 1, "polls overlap"
        try:
            return await self._end(outcome, caller)
        finally:
            self.at_once -= 1

    async def _end(self, outcome: Outcome, caller: Caller) -> Sighting:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, Sighting) else await outcome(caller)


@dataclass
class Rig:
    """A poller with all that it needs, and no network."""

    clock: FakeClock
    collector: Scripted
    telemetry: Telemetry
    poller: Poller
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def outcomes(self, *outcomes: Outcome) -> None:
        """Say how the next polls end; the last outcome stays."""
        self.collector.outcomes = list(outcomes)

    async def start(self) -> None:
        """Start the loop."""
        self.tasks.append(asyncio.ensure_future(self.poller.run()))
        await settle()

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value of one of the target's own series."""
        every = {**TARGET.labels, **labels}
        return self.telemetry.registry.get_sample_value(PREFIX + name, every)

    def failures(self) -> dict[str, float]:
        """Return the failure counters that are not 0."""
        counts = {each: self.value("poll_failures_total", reason=each) or 0.0 for each in REASONS}
        return {reason: count for reason, count in counts.items() if count}


def make_rig() -> Rig:
    """Build a rig."""
    clock, telemetry = FakeClock(), Telemetry()
    collector = Scripted(clock)
    binding = Binding({"account": "prod"}, families.vocabularies(), derived=collector.derived)
    sheet = Sheet(families.GPU_NODES, binding)
    client = Client(
        session=cast("ClientSession", None),
        base_url="",
        dialect=cast("Dialect", None),
        budget=Budget(10.0, 4),
        observer=telemetry.requests("scp", "prod", "e", "kr-west1"),
        clock=clock,
        request_timeout=5.0,
    )
    built = Poller(
        collector=collector,
        client=client,
        snapshot=Snapshot(TARGET, 60.0, (sheet,)),
        telemetry=telemetry.target(TARGET, collector.pace.interval),
        schedule=Schedule(PHASE),
        clock=clock,
        log=logs.get("poller"),
    )
    return Rig(clock, collector, telemetry, built)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """Give a rig whose loop ends with the test."""
    run_threads_inline()
    made = make_rig()
    yield made
    for task in made.tasks:
        task.cancel()
    await asyncio.gather(*made.tasks, return_exceptions=True)


@pytest.fixture
def told() -> Iterator[list[EventDict]]:
    """Give what is logged."""
    with capture_logs() as events:
        yield events


def pauses(polls: list[float]) -> list[float]:
    """Return the times between polls."""
    return [later - earlier for earlier, later in itertools.pairwise(polls)]


async def test_the_first_poll_is_at_once_and_the_others_keep_a_phase(rig: Rig) -> None:
    """The first phase moment after the start comes next, then one an interval."""
    await rig.start()
    assert rig.collector.polls == [0.0]
    await rig.clock.advance(40)
    assert rig.collector.polls == [0.0, 5.0, 15.0, 25.0, 35.0]


async def test_polls_never_overlap(rig: Rig) -> None:
    """A poll that takes longer than the interval puts the next one off to a later moment."""

    async def slow(_: Caller) -> Sighting:
        await rig.clock.sleep(12)
        return seen()

    rig.outcomes(slow)
    await rig.start()
    await rig.clock.advance(60)
    assert rig.collector.polls == [0.0, 15.0, 35.0, 55.0]


async def test_three_failures_keep_the_interval_and_more_back_off(rig: Rig) -> None:
    """Waits double from the fourth on, less up to 20 %, and stop growing at max_backoff."""
    rig.outcomes(ServerError("broken"))
    await rig.start()
    await rig.clock.advance(300)
    waits = pauses(rig.collector.polls)
    assert waits[:3] == [5.0, 10.0, 10.0]
    assert 16 <= waits[3] <= 20
    assert 32 <= waits[4] <= 40
    assert all(48 <= wait <= 60 for wait in waits[5:])
    assert len(waits) >= 7


async def test_a_back_off_never_goes_below_the_interval(rig: Rig) -> None:
    """Where max_backoff is no longer than the interval, jitter does not shorten it."""
    rig.collector.pace.max_backoff = rig.collector.pace.interval
    rig.outcomes(ServerError("broken"))
    await rig.start()
    await rig.clock.advance(200)
    assert min(pauses(rig.collector.polls)[1:]) >= 10.0


async def test_a_success_ends_the_back_off(rig: Rig) -> None:
    """The target is back at its phase with the next poll."""
    rig.outcomes(*[ServerError("broken")] * 5, seen())
    await rig.start()
    await rig.clock.advance(200)
    recovered = rig.collector.polls[5]
    assert rig.collector.polls[6] - recovered <= 10.0
    assert {poll % 10 for poll in rig.collector.polls[6:]} == {5.0}


async def test_a_partial_poll_does_not_back_off(rig: Rig) -> None:
    """However many in a row: the target answers."""
    rig.outcomes(seen(complete=False))
    await rig.start()
    await rig.clock.advance(100)
    assert pauses(rig.collector.polls)[1:] == [10.0] * 9
    assert rig.value("target_consecutive_failures") == 11.0


@pytest.mark.parametrize(("asked", "waited"), [(100.0, 100.0), (99_999.0, 600.0)])
@pytest.mark.parametrize("kind", [RateLimited, ServerError])
async def test_a_wait_that_the_server_asks_for_is_kept(
    rig: Rig, kind: type[Failure], asked: float, waited: float
) -> None:
    """Retry-After past the deadline: the target waits that long, ten minutes at most."""
    rig.outcomes(kind("slowly", wait=asked), seen())
    await rig.start()
    await rig.clock.advance(waited - 1)
    assert rig.collector.polls == [0.0]
    await rig.clock.advance(2)
    assert rig.collector.polls == [0.0, waited]


async def test_a_short_wait_does_not_bring_a_poll_forward(rig: Rig) -> None:
    """A server that asks for less than the rest of the interval changes nothing."""
    rig.outcomes(RateLimited("slowly", wait=1.0), RateLimited("slowly"), seen())
    await rig.start()
    await rig.clock.advance(20)
    assert rig.collector.polls == [0.0, 5.0, 15.0]


async def test_a_wait_from_before_a_reload_still_holds(rig: Rig) -> None:
    """A poller that is built anew starts no earlier than the old one would have."""
    rig.poller.not_before = rig.clock.monotonic() + 100
    await rig.start()
    await rig.clock.advance(99)
    assert rig.collector.polls == []
    assert not rig.poller.late()
    await rig.clock.advance(1)
    assert rig.collector.polls == [100.0]


async def test_a_hurry_ends_a_back_off_at_once(rig: Rig) -> None:
    """Credentials that changed are tried without waiting."""
    rig.outcomes(*[AuthFailed("refused")] * 6, seen())
    await rig.start()
    await rig.clock.advance(100)
    assert len(rig.collector.polls) == 6
    rig.poller.hurry()
    await settle()
    assert rig.collector.polls[6:] == [100.0]
    assert rig.value("target_up") == 1.0


async def test_a_hurry_leaves_a_target_that_is_well_alone(rig: Rig) -> None:
    """There is nothing to try again."""
    await rig.start()
    rig.poller.hurry()
    await settle()
    assert rig.collector.polls == [0.0]


async def test_a_hurry_does_not_break_a_servers_wait(rig: Rig) -> None:
    """Retry-After holds for new credentials as well."""
    rig.outcomes(RateLimited("slowly", wait=100.0), seen())
    await rig.start()
    await rig.clock.advance(50)
    rig.poller.hurry()
    await rig.clock.advance(49)
    assert rig.collector.polls == [0.0]


async def test_a_hurry_during_a_poll_does_not_break_the_wait_that_it_ends_with(rig: Rig) -> None:
    """The poll may have used the new credentials already, and the server wants to be left alone."""

    async def limited(_: Caller) -> Sighting:
        await rig.clock.sleep(3)
        raise RateLimited("slowly", wait=100.0)

    rig.outcomes(AuthFailed("refused"), limited, seen())
    await rig.start()
    await rig.clock.advance(6)
    rig.poller.hurry()
    await rig.clock.advance(100)
    assert rig.collector.polls == [0.0, 5.0]
    await rig.clock.advance(3)
    assert rig.collector.polls == [0.0, 5.0, 108.0]


async def test_a_hurry_during_a_poll_that_fails_makes_for_another_one(rig: Rig) -> None:
    """The poll may have used the old credentials."""

    async def refused(_: Caller) -> Sighting:
        await rig.clock.sleep(3)
        raise AuthFailed("refused")

    rig.outcomes(AuthFailed("refused"), refused, seen())
    await rig.start()
    await rig.clock.advance(6)
    rig.poller.hurry()
    await rig.clock.advance(2)
    assert rig.collector.polls == [0.0, 5.0, 8.0]


async def test_a_defect_is_told_with_its_traceback_and_the_loop_goes_on(
    rig: Rig, told: list[EventDict]
) -> None:
    """It counts as `internal`; what the log says of it is not on the status page."""
    rig.outcomes(KeyError("made-up"), seen())
    await rig.start()
    assert [event for event in told if event.get("exc_info")] == [
        {
            "event": "a poll died of a defect; please report it",
            "log_level": "error",
            "exc_info": True,
        }
    ]
    assert rig.failures() == {"internal": 1.0}
    assert rig.poller.snapshot.health.error_message == "KeyError, see the log"
    await rig.clock.advance(10)
    assert rig.value("target_up") == 1.0


async def test_a_defect_in_what_a_poll_saw_is_one_too(rig: Rig, told: list[EventDict]) -> None:
    """A sighting that cannot be taken in ends in an outcome like any other."""
    rig.outcomes(Sighting({}), seen())
    await rig.start()
    assert [event["event"] for event in told if event.get("exc_info")]
    assert rig.failures() == {"internal": 1.0}
    await rig.clock.advance(5)
    assert rig.value("target_up") == 1.0


async def test_a_poll_leaves_nothing_behind_of_the_one_before(rig: Rig) -> None:
    """What a poll has replaced is let go before the next one begins."""
    await rig.poller.poll()
    await rig.poller.poll()
    assert rig.poller.snapshot._outdated == []


async def test_a_defect_in_preparing_the_page_ends_no_loop(rig: Rig, told: list[EventDict]) -> None:
    """The poll itself went well, and says so; the next one comes."""

    def broken() -> None:
        raise KeyError("made-up")

    rig.poller.on_update = broken
    await rig.start()
    await rig.clock.advance(5)
    assert rig.collector.polls == [0.0, 5.0]
    assert rig.value("target_up") == 1.0
    assert [event["exc_info"] for event in told] == [True, True]


async def test_a_poll_that_ignores_its_deadline_is_cut(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as a timeout, and the loop goes on."""
    monkeypatch.setattr(poller, "_GRACE_SECONDS", 0.0)
    rig.collector.pace.timeout = 0.01

    async def endless(_: Caller) -> Sighting:
        await asyncio.Event().wait()
        raise AssertionError

    rig.outcomes(endless, seen())
    await rig.start()
    await asyncio.wait_for(rig.poller.attempted.wait(), 5)
    assert rig.failures() == {"timeout": 1.0}
    assert rig.poller.snapshot.health.error_message == "the poll was not done within 0.01 s"
    await rig.clock.advance(5)
    assert rig.collector.polls == [0.0, 5.0]


async def test_a_poll_has_its_deadline_from_its_beginning(rig: Rig) -> None:
    """The caller knows when the poll is to end, and how urgent it is."""
    callers = []

    async def note(caller: Caller) -> Sighting:
        callers.append(caller)
        return seen()

    rig.outcomes(note)
    rig.collector.urgent = False
    await rig.start()
    assert callers[0].deadline == START_MONOTONIC + 8.0
    assert not callers[0].urgent


async def test_a_loop_that_is_stuck_is_late(rig: Rig) -> None:
    """The loop is found by the poll that it has not begun, whatever holds it."""

    async def stuck(_: Caller) -> Sighting:
        await rig.clock.sleep(1e9)
        raise AssertionError

    rig.outcomes(stuck)
    await rig.start()
    await rig.clock.advance(8 + 2 + 30)
    assert poller.late(iter([rig.poller])) == []
    await rig.clock.advance(1)
    assert poller.late(iter([rig.poller])) == ["scp/prod/e/kr-west1/gpu_nodes"]


async def test_a_loop_that_ended_is_late(rig: Rig) -> None:
    """A task that is gone attempts nothing either."""
    await rig.start()
    rig.tasks[0].cancel()
    await rig.clock.advance(44)
    assert not rig.poller.late()
    await rig.clock.advance(5)
    assert rig.poller.late()


async def test_a_loop_that_has_not_begun_is_not_late_yet(rig: Rig) -> None:
    """It has as long as any other, counted from when it was made."""
    assert not rig.poller.late()
    await rig.clock.advance(60)
    assert rig.poller.late()


async def test_an_api_that_is_down_for_an_hour_makes_no_loop_late(rig: Rig) -> None:
    """Nor do its back-off and a server's wait."""
    rig.outcomes(*[ServerError("down")] * 30, RateLimited("slowly", wait=99_999.0))
    await rig.start()
    for _ in range(720):
        await rig.clock.advance(5)
        assert not rig.poller.late()
    assert len(rig.collector.polls) > 31


async def test_a_failure_is_told_once_and_its_end_once(rig: Rig, told: list[EventDict]) -> None:
    """One line on the way down, one when the reason changes, one on the way up."""
    down = [ServerError("down", request_id="req-1"), ServerError("down"), AuthFailed("refused")]
    rig.outcomes(*down, AuthFailed("refused"), seen())
    with capture_logs() as events:
        await rig.start()
        await rig.clock.advance(60)
    assert told == []  # the inner capture has them all
    assert [event for event in events if event["log_level"] != "debug"] == [
        {
            "event": "poll failed",
            "log_level": "warning",
            "reason": "server_error",
            "error": "down",
            "request_id": "req-1",
        },
        {"event": "poll failed", "log_level": "warning", "reason": "auth", "error": "refused"},
        {"event": "recovered", "log_level": "info", "failures": 4},
    ]


async def test_all_series_exist_from_the_start(rig: Rig) -> None:
    """Whoever reads them need not wait for a first event; times have none yet."""
    for name in ("target_up", "target_consecutive_failures", "target_objects", "polls_total"):
        assert rig.value(name) == 0.0, name
    for name in ("invalid_records", "duplicate_records", "unrecognized_values"):
        assert rig.value(f"{name}_total") == 0.0, name
    assert {rig.value("poll_failures_total", reason=reason) for reason in REASONS} == {0.0}
    assert rig.value("target_interval_seconds") == 10.0
    for name in ("attempt", "success", "update"):
        assert rig.value(f"target_last_{name}_timestamp_seconds") is None, name
    assert rig.value("target_reported_objects") is None


async def test_a_success_is_told_by_its_series(rig: Rig) -> None:
    """What was odd about the records is counted, and the snapshot has them."""
    odd = node("a", "MAINTENANCE", ("created_at", "not a time"))
    rig.outcomes(seen(odd, node("b"), reported=3, nameless=1, duplicates=2))
    await rig.start()
    health = rig.poller.snapshot.health
    assert (health.up, health.objects, health.reported_objects) == (True, 2, 3)
    assert rig.value("target_up") == 1.0
    assert rig.value("target_objects") == 2.0
    assert rig.value("target_reported_objects") == 3.0
    assert rig.value("invalid_records_total") == 2.0
    assert rig.value("duplicate_records_total") == 2.0
    assert rig.value("unrecognized_values_total") == 1.0
    assert rig.value("polls_total") == 1.0
    for name in ("attempt", "success", "update"):
        assert rig.value(f"target_last_{name}_timestamp_seconds") == START_WALL, name
    assert rig.poller.snapshot.pieces(rig.clock.monotonic())
    assert health.next_poll == START_WALL + 5.0


async def test_a_partial_poll_is_an_update_and_no_success(rig: Rig) -> None:
    """It is counted as a failure of its own reason; the last success stands."""
    rig.outcomes(seen(node("a"), reported=1), seen(node("b"), complete=False))
    await rig.start()
    before = rig.poller.snapshot.pieces(rig.clock.monotonic())
    await rig.clock.advance(5)
    assert rig.value("target_up") == 0.0
    assert rig.failures() == {"partial": 1.0}
    assert rig.value("target_last_success_timestamp_seconds") == START_WALL
    assert rig.value("target_last_update_timestamp_seconds") == START_WALL + 5.0
    assert rig.value("target_objects") == 1.0
    assert rig.poller.snapshot.pieces(rig.clock.monotonic()) != before


async def test_a_failure_changes_nothing_but_the_health(rig: Rig) -> None:
    """Values and the times of the last success stay as they are."""
    rig.outcomes(seen(node("a"), reported=1), ServerError("down"))
    await rig.start()
    before = rig.poller.snapshot.pieces(rig.clock.monotonic())
    await rig.clock.advance(5)
    assert rig.poller.snapshot.pieces(rig.clock.monotonic()) == before
    assert rig.value("target_up") == 0.0
    assert rig.value("target_consecutive_failures") == 1.0
    assert rig.value("target_last_attempt_timestamp_seconds") == START_WALL + 5.0
    assert rig.value("target_last_success_timestamp_seconds") == START_WALL
    assert rig.value("target_last_update_timestamp_seconds") == START_WALL
    assert rig.value("target_objects") == 1.0
    assert rig.failures() == {"server_error": 1.0}
    assert rig.value("polls_total") == 2.0
    assert rig.poller.snapshot.health.error_at == START_WALL + 5.0


async def test_a_total_that_is_no_longer_claimed_has_no_series(rig: Rig) -> None:
    """It comes and goes with the API's claim."""
    rig.outcomes(seen(reported=0), seen(), seen(), seen(reported=2))
    await rig.start()
    values = [rig.value("target_reported_objects")]
    for _ in range(3):
        await rig.clock.advance(10)
        values.append(rig.value("target_reported_objects"))
    assert values == [0.0, None, None, 2.0]


async def test_bad_fields_are_told_once_each(rig: Rig, told: list[EventDict]) -> None:
    """Every poll counts them, the log has one line a field."""
    bad = node("a", "RUNNING", ("created_at", "not a time"))
    rig.outcomes(seen(bad, node("b", "RUNNING", ("created_at", "another")), nameless=1))
    await rig.start()
    await rig.clock.advance(10)
    assert [(event["field"], event["why"]) for event in told] == [
        ("created_at", "not a time"),
        ("id", "missing"),
    ]
    assert rig.value("invalid_records_total") == 6.0


async def test_a_poll_that_cannot_fit_its_deadline_is_told_once(
    rig: Rig, told: list[EventDict]
) -> None:
    """The line names the keys to change: 81 calls at 10 a second need more than 8 s."""

    async def crowded(caller: Caller) -> Sighting:
        caller.announce(81)
        return seen()

    rig.outcomes(crowded)
    await rig.start()
    await rig.clock.advance(30)
    [event] = told
    assert "polling.requests_per_second" in event["event"]
    assert "polling.timeout" in event["event"]
    assert (event["calls"], event["requests_per_second"], event["deadline_seconds"]) == (81, 10, 8)


@pytest.mark.parametrize(("made", "is_told"), [(70, True), (30, False)])
async def test_a_poll_that_had_no_time_for_more_calls_is_told(
    rig: Rig, told: list[EventDict], made: int, *, is_told: bool
) -> None:
    """A list of more pages than fit names the keys to change, which one slow answer does not."""

    async def cut_short(caller: Caller) -> Sighting:
        caller.made = made
        raise TimedOut("the time of the whole poll was up")

    rig.outcomes(cut_short)
    await rig.start()
    crowded = [event for event in told if "polling.requests_per_second" in event["event"]]
    assert [event["calls"] for event in crowded] == ([made] if is_told else [])


async def test_a_poll_that_just_fits_its_deadline_is_not_told(
    rig: Rig, told: list[EventDict]
) -> None:
    """80 calls at 10 a second take 8 s."""

    async def busy(caller: Caller) -> Sighting:
        caller.announce(80)
        return seen()

    rig.outcomes(busy)
    await rig.start()
    assert told == []


async def test_a_changed_pace_is_followed(rig: Rig) -> None:
    """A collector may find that it has to be slower; series and snapshot say so."""
    await rig.start()
    rig.collector.pace = Pace(100.0, 60.0, 300.0, 120.0)
    await rig.clock.advance(5)
    assert rig.value("target_interval_seconds") == 100.0
    assert rig.poller.snapshot.stale_after == 300.0
    await rig.clock.advance(200)
    assert rig.collector.polls == [0.0, 5.0, 50.0, 150.0]


async def test_a_duration_is_what_the_clock_says(rig: Rig) -> None:
    """The histogram is one for all targets of a collector."""

    async def slow(_: Caller) -> Sighting:
        await rig.clock.sleep(4)
        return seen()

    rig.outcomes(slow)
    await rig.start()
    await rig.clock.advance(4)
    registry = rig.telemetry.registry
    labels = {"provider": "scp", "collector": "gpu_nodes"}
    name = f"{PREFIX}poll_duration_seconds"
    assert registry.get_sample_value(f"{name}_sum", labels) == 4.0
    assert registry.get_sample_value(f"{name}_count", labels) == 1.0


async def test_a_step_of_the_systems_clock_changes_no_rhythm(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is exported reads the wall clock."""
    await rig.start()
    monkeypatch.setattr(rig.clock, "wall", lambda: 1.0)
    await rig.clock.advance(20)
    assert rig.collector.polls == [0.0, 5.0, 15.0]
    assert rig.value("target_last_success_timestamp_seconds") == 1.0


async def test_a_partial_poll_waits_as_long_as_a_part_was_told_to(rig: Rig) -> None:
    """A list that was refused for a time puts the whole target off, though it does not back off."""
    rig.outcomes(seen(complete=False, wait=47.0), seen())
    await rig.start()
    await rig.clock.advance(60)
    assert rig.collector.polls == [0.0, 47.0, 55.0]
