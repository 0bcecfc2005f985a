"""The time, as something that is handed in.

Scheduling, back-off and freshness follow the monotonic clock, so that a step of the
system's clock neither ages nor renews a value; only what is exported or signed reads
the wall clock.
"""

import asyncio
import contextlib
import time
from typing import Protocol


class Clock(Protocol):
    """What the exporter asks of time; tests bring a clock of their own."""

    def wall(self) -> float:
        """Return the Unix time in seconds."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start, never running backwards."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Pause for so many seconds."""
        ...

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Pause until the event is set, at most so many seconds; return whether it was."""
        ...


class SystemClock:
    """The clock of this machine."""

    def wall(self) -> float:
        """Return the Unix time in seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return the seconds of the system's monotonic clock."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Pause for so many seconds."""
        await asyncio.sleep(seconds)

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Pause until the event is set, at most so many seconds; return whether it was."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
        return event.is_set()
