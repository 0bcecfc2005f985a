"""How much may be asked of one cloud by one account in one region."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiolimiter import AsyncLimiter


class Budget:
    """Limit requests a second and requests at once, the urgent ones first.

    A patient request waits while an urgent one is waiting, and of the patient ones only
    one stands in the queue, so that an urgent request is behind one of them at most.
    """

    def __init__(self, requests_per_second: float, concurrent: int) -> None:
        burst = max(requests_per_second, 1.0)
        self._rate = AsyncLimiter(burst, burst / requests_per_second)
        self._slots = asyncio.Semaphore(concurrent)
        self._patient = asyncio.Lock()
        self._calm = asyncio.Event()
        self._calm.set()
        self._urgent_waiting = 0
        self.requests_per_second = requests_per_second
        self.concurrent = concurrent

    @asynccontextmanager
    async def slot(self, *, urgent: bool = True) -> AsyncIterator[None]:
        """Hold a place for one request, from before it is sent until it is read."""
        await (self._enter_urgent() if urgent else self._enter_patient())
        try:
            yield
        finally:
            self._slots.release()

    async def _enter_urgent(self) -> None:
        self._urgent_waiting += 1
        self._calm.clear()
        try:
            await self._enter()
        finally:
            self._urgent_waiting -= 1
            if not self._urgent_waiting:
                self._calm.set()

    async def _enter_patient(self) -> None:
        async with self._patient:
            await self._calm.wait()
            await self._enter()

    async def _enter(self) -> None:
        await self._slots.acquire()
        try:
            await self._rate.acquire()
        except BaseException:
            self._slots.release()
            raise
