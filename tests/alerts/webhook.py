"""What a person would get: a web server on loopback that keeps what Alertmanager sends."""

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

PATIENCE_SECONDS = 180.0


@dataclass(frozen=True)
class Message:
    """A notification: when it came (Unix time), for whom, and the alerts in it."""

    at: float
    receiver: str
    status: str
    alerts: tuple[dict[str, Any], ...]

    def names(self, status: str = "firing") -> list[str]:
        """Return the names of the alerts in it that have a status, sorted."""
        return sorted(
            alert["labels"]["alertname"] for alert in self.alerts if alert["status"] == status
        )

    def firing(self, name: str) -> list[dict[str, Any]]:
        """Return the alerts of a name that fire, each with its labels and annotations."""
        return [
            alert
            for alert in self.alerts
            if (alert["status"], alert["labels"]["alertname"]) == ("firing", name)
        ]


class Webhook:
    """Takes notifications at a path of its own for each receiver."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._came = asyncio.Condition()
        application = web.Application()
        application.router.add_post("/{receiver}", self._take)
        self._runner = web.AppRunner(application)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._runner.cleanup()

    def url(self, receiver: str) -> str:
        """Return the address to send a receiver's notifications to."""
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/{receiver}"

    async def wait_for(self, wanted: Callable[[Message], object]) -> Message:
        """Wait until a message has come that is wanted, and return the first one."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._came:
            await self._came.wait_for(lambda: any(self._select(wanted)))
        return next(self._select(wanted))

    def _select(self, wanted: Callable[[Message], object]) -> Iterator[Message]:
        return (message for message in self.messages if wanted(message))

    async def _take(self, request: web.Request) -> web.Response:
        at, body = time.time(), await request.json()
        receiver, alerts = request.match_info["receiver"], tuple(body["alerts"])
        async with self._came:
            self.messages.append(Message(at, receiver, body["status"], alerts))
            self._came.notify_all()
        return web.Response()
