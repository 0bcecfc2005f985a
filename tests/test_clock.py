"""The clock of this machine, and the one that tests bring."""

import asyncio
import time

from exporter.clock import SystemClock
from tests.clocks import START_WALL, FakeClock, settle


async def test_the_system_clock_tells_both_times() -> None:
    """The wall clock is the Unix time, the other one never runs backwards."""
    clock = SystemClock()
    assert abs(clock.wall() - time.time()) < 1
    assert clock.monotonic() <= clock.monotonic()


async def test_waiting_ends_with_the_event() -> None:
    """An event that is set ends the waiting at once, however long it might have been."""
    event = asyncio.Event()
    waiting = asyncio.ensure_future(SystemClock().wait(event, 3600))
    await settle()
    assert not waiting.done()
    event.set()
    assert await waiting


async def test_waiting_ends_with_the_time() -> None:
    """Without the event the waiting ends after its time, and says so."""
    began = time.monotonic()
    await SystemClock().sleep(0.001)
    assert not await SystemClock().wait(asyncio.Event(), 0.001)
    assert not await SystemClock().wait(asyncio.Event(), 0)
    assert time.monotonic() - began >= 0.002


async def test_the_fake_clock_wakes_sleepers_in_order() -> None:
    """Each sees the time of its own waking, also one that sleeps again meanwhile."""
    clock, woken = FakeClock(), list[tuple[str, float]]()

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woken.append((name, clock.wall() - START_WALL))

    tasks = [asyncio.ensure_future(sleeper("a", 3, 3)), asyncio.ensure_future(sleeper("b", 5))]
    await clock.advance(10)
    assert woken == [("a", 3.0), ("b", 5.0), ("a", 6.0)]
    assert clock.wall() == START_WALL + 10
    await asyncio.gather(*tasks)


async def test_the_fake_clock_waits_for_events_too() -> None:
    """Waiting ends with the event or the time, whichever comes first."""
    clock, event = FakeClock(), asyncio.Event()
    in_vain = asyncio.ensure_future(clock.wait(event, 5))
    await clock.advance(5)
    assert await in_vain is False
    told = asyncio.ensure_future(clock.wait(event, 5))
    await settle()
    event.set()
    assert await told is True
