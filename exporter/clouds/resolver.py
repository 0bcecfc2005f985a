"""Looks hosts up, each in a thread that nothing waits for.

The system's look-up can hang for half a minute. In the event loop's own pool of threads it
would hold up the work of targets that are well, and the end of the process.
"""

import asyncio
import socket
import threading
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult


class Resolver(AbstractResolver):
    """Ask the system, as every other program does; aiohttp keeps and shares the answers."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raise OSError where there are none."""
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[Any]] = loop.create_future()

        def settle(result: list[Any] | OSError) -> None:
            if found.done():
                return
            if isinstance(result, OSError):
                found.set_exception(result)
            else:
                found.set_result(result)

        def look_up() -> None:
            result: list[Any] | OSError
            try:
                result = socket.getaddrinfo(
                    host, port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
                )
            except OSError as error:
                result = error
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result)

        threading.Thread(target=look_up, name="resolver", daemon=True).start()
        return [_result(host, info) for info in await found]

    async def close(self) -> None:
        """Do nothing: threads end by themselves."""


def _result(host: str, info: tuple[Any, ...]) -> ResolveResult:
    family, _, protocol, _, address = info
    return ResolveResult(
        hostname=host,
        host=address[0],
        port=address[1],
        family=family,
        proto=protocol,
        flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
    )
