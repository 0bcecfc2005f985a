"""Responses: how they are sent, and how long a reader may take over one."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from exporter import logs

READ_TIMEOUT_SECONDS = 60.0
"""How long a reader may take over a response before it is cut off."""

_log = logs.get("web")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def plain(text: str, status: int = 200) -> web.Response:
    """Return a short answer in words, which nobody may keep."""
    return web.Response(text=text + "\n", status=status, headers={"Cache-Control": "no-store"})


@web.middleware
async def cut_off(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Send every response within a bounded time."""
    response = await handler(request)
    if not response.prepared:
        await send(request, response)
    return response


async def send(request: web.Request, response: web.StreamResponse) -> None:
    """Send a response; cut off the reader that does not take it in time."""
    if request.transport is not None:
        # Sent is what the kernel has taken: nothing is left over for a reader that never reads.
        request.transport.set_write_buffer_limits(0)
    try:
        async with asyncio.timeout(READ_TIMEOUT_SECONDS):
            await response.prepare(request)
            await response.write_eof()
            await request.writer.drain()
    except TimeoutError:
        if request.transport is not None:
            request.transport.abort()
    except ConnectionError:
        _log.debug("the reader hung up", path=request.path)
