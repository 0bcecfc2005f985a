"""A clock that stands until a test moves it."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

START_WALL = 1_800_000_000.0
START_MONOTONIC = 5_000.0
_TURNS = 30  # of the loop, in which a chain of tasks that wake each other comes to rest


class FakeClock:
    """Time that passes only in `advance`; who waits is woken in order, each at its moment."""

    def __init__(self) -> None:
        self._passed = 0.0
        self._numbers = itertools.count()
        self._alarms: list[tuple[float, int, asyncio.Future[None]]] = []

    def wall(self) -> float:
        """Return the Unix time in seconds."""
        return START_WALL + self._passed

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        return START_MONOTONIC + self._passed

    async def sleep(self, seconds: float) -> None:
        """Pause until the test has moved time so far."""
        if seconds <= 0:
            await asyncio.sleep(0)
        else:
            await self._alarm(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Pause until the event is set, or time has moved so far."""
        told = asyncio.ensure_future(event.wait())
        slept = asyncio.ensure_future(self.sleep(seconds))
        try:
            await asyncio.wait({told, slept}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            slept.cancel()
        return event.is_set()

    async def advance(self, seconds: float) -> None:
        """Let so many seconds pass."""
        until = self._passed + seconds
        await settle()
        while self._alarms and self._alarms[0][0] <= until:
            due, _, alarm = heapq.heappop(self._alarms)
            if not alarm.done():
                self._passed = max(self._passed, due)  # it may be overdue after a jump
                alarm.set_result(None)
                await settle()
        self._passed = max(self._passed, until)

    def jump(self, seconds: float) -> None:
        """Let so many seconds pass while the loop does not turn: it was frozen."""
        self._passed += seconds

    def _alarm(self, seconds: float) -> asyncio.Future[None]:
        alarm: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._alarms, (self._passed + seconds, next(self._numbers), alarm))
        return alarm


async def settle() -> None:
    """Let all tasks go on until each waits for something."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class InlineExecutor(ThreadPoolExecutor):
    """Runs what is meant for a thread at once, so that `settle` need not wait for any."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the function, and return its finished future."""
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits it
            done.set_exception(error)
        return done


def run_threads_inline() -> None:
    """Have the running loop call what is meant for its threads at once."""
    asyncio.get_running_loop().set_default_executor(InlineExecutor())
