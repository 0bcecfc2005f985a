"""Connections: how many there may be, and how long each may take over a request."""

import asyncio
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

from exporter import logs
from exporter.web.sending import Handler, plain

HEADER_SECONDS: Final = 10.0
"""How long a client may take from its first byte, or from connecting, to the end of a header."""

IDLE_SECONDS: Final = 90.0
"""How long a connection is kept for the next request: longer than the usual scrape intervals."""

LINGERING_SECONDS: Final = 1.0  # what is left of a body is read for so long, and thrown away
MAX_CONNECTIONS: Final = 512
_OWN_NAME: Final = "gpu-cluster-exporter"

_log = logs.get("web")


class Connections:
    """Make the connections of a server: call it for each that is accepted.

    Where there are too many, the one that has kept the server waiting for the longest goes.
    """

    def __init__(self, server: web.Server, most: int | None = None) -> None:
        server.request_factory = _expecting_nothing(server.request_factory)
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.server = server
        self.most = most or (min(MAX_CONNECTIONS, files // 2) if files > 0 else MAX_CONNECTIONS)
        self.waiting: dict[Connection, None] = {}

    def __call__(self) -> "Connection":
        """Make the protocol of a connection."""
        return Connection(self)

    def make_room(self) -> None:
        """Close a connection where there are more than may be, if one waits for a request."""
        if len(self.server.connections) > self.most and self.waiting:
            next(iter(self.waiting)).hang_up()


class Connection(web.RequestHandler):
    """One connection, which is closed where a header takes too long."""

    def __init__(self, connections: Connections) -> None:
        super().__init__(
            connections.server,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type] # aiohttp's own way to have none
            auto_decompress=False,  # no body is ever looked at
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGERING_SECONDS,
        )
        self._connections = connections
        self._timer: asyncio.TimerHandle | None = None
        self._serving = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._connections.waiting[self] = None
        self._start_timer()
        self._connections.make_room()

    def data_received(self, data: bytes) -> None:
        """Take in what the client sent; it may be the beginning of a header."""
        if not self._serving and self._timer is None:
            self._start_timer()
        super().data_received(data)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve a request, for which the server is not kept waiting."""
        self._stop_waiting()
        self._serving = True
        try:
            yield
        finally:
            self._serving = False
            if self.transport is not None:
                self._connections.waiting[self] = None

    def hang_up(self) -> None:
        """Close the connection at once."""
        _log.debug("closed a connection that kept waiting", remote=str(self.peername))
        self._stop_waiting()
        if isinstance(self.transport, asyncio.Transport):
            self.transport.abort()

    def _start_timer(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(HEADER_SECONDS, self.hang_up)

    def _stop_waiting(self) -> None:
        self._connections.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what is no HTTP with 400 and a line; for all else do as aiohttp does."""
        if status != 400:  # noqa: PLR2004 - Bad Request
            response = super().handle_error(request, status, exc, message)
        else:
            _log.debug("not a request that can be understood", remote=request.remote)
            response = plain("bad request", status=400)
        response.headers["Server"] = _OWN_NAME  # else the versions of Python and aiohttp
        response.force_close()
        return response


def _expecting_nothing(make: Callable[..., web.BaseRequest]) -> Callable[..., web.BaseRequest]:
    """Take the header Expect out of requests, for no body is ever read.

    aiohttp would answer before any middleware, and with 500 where the value is no UTF-8.
    """

    def make_request(message: Any, *more: Any) -> web.BaseRequest:  # noqa: ANN401 - aiohttp's own
        if "Expect" in message.headers:
            headers = CIMultiDict(message.headers)
            headers.popall("Expect")
            message = message._replace(headers=CIMultiDictProxy(headers))
        return make(message, *more)

    return make_request


@web.middleware
async def timed(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Tell the connection when a request is being served."""
    connection: Any = request.protocol
    with connection.serving():
        return await handler(request)
