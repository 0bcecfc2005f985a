"""The HTTP server: the page for Prometheus, liveness and readiness, an index for people."""

import asyncio
import errno
import html
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from exporter import __version__, logs
from exporter.app import Application
from exporter.exposition import Page
from exporter.negotiation import accepts_gzip, content_type

READ_TIMEOUT_SECONDS = 60.0
"""How long a reader may take over a response before it is cut off."""

_MAX_REQUEST_BYTES = 64 * 1024

_log = logs.get("web")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ListenError(Exception):
    """An address that can't be listened on."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags say of the server."""

    addresses: Sequence[str]
    telemetry_path: str = "/metrics"
    max_requests: int = 40
    reload: Callable[[], Awaitable[str]] | None = None


class Server:
    """Answer HTTP for one application."""

    def __init__(self, application: Application, options: Options) -> None:
        self._application = application
        self._options = options
        self._scrapes = 0

    def web_application(self) -> web.Application:
        """Return the aiohttp application with all routes."""
        server = web.Application(middlewares=[cut_off], client_max_size=_MAX_REQUEST_BYTES)
        routes = {
            self._options.telemetry_path: self.metrics,
            "/-/healthy": self.healthy,
            "/-/ready": self.ready,
        }
        if self._options.telemetry_path != "/":
            routes["/"] = self.index
        for path, handler in routes.items():
            server.router.add_get(path, handler)
        server.router.add_post("/-/reload", self.reload)
        return server

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        """Serve the exposition."""
        limit = self._options.max_requests
        if limit and self._scrapes >= limit:
            raise web.HTTPServiceUnavailable(text=f"more than {limit} scrapes at once\n")
        self._scrapes += 1
        try:
            response = await self._page(request)
            await send(request, response)
        finally:
            self._scrapes -= 1
        return response

    async def _page(self, request: web.Request) -> web.Response:
        page = self._application.page(content_type(_joined(request, "Accept")))
        self._application.note_served(page)
        headers = {"Content-Type": page.content_type, "Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(_joined(request, "Accept-Encoding")):
            headers["Content-Encoding"] = "gzip"
            return web.Response(body=page.gzipped(), headers=headers)
        headers["Content-Length"] = str(page.size)
        return web.Response(body=_chunks(page), headers=headers)

    async def healthy(self, _: web.Request) -> web.Response:
        """Say whether every poll loop still attempts."""
        late = self._application.late()
        if late:
            return _plain("no attempt for too long: " + ", ".join(late), status=503)
        return _plain("healthy")

    async def ready(self, _: web.Request) -> web.Response:
        """Say whether the first poll of every target has ended."""
        if not self._application.ready:
            return _plain("the first polls have not ended yet", status=503)
        return _plain("ready")

    async def reload(self, _: web.Request) -> web.Response:
        """Read the configuration again, where that is allowed."""
        if self._options.reload is None:
            return _plain("not allowed without --web.enable-lifecycle", status=403)
        problem = await self._options.reload()
        return _plain(problem or "reloaded", status=500 if problem else 200)

    async def index(self, _: web.Request) -> web.Response:
        """Show what can be read here."""
        links = (self._options.telemetry_path, "/-/healthy", "/-/ready")
        items = "".join(
            f'<li><a href="{html.escape(link)}">{html.escape(link)}</a></li>' for link in links
        )
        text = _INDEX.format(version=html.escape(__version__), items=items)
        return web.Response(text=text, content_type="text/html")


_INDEX = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>GPU cluster exporter</title></head>
<body>
<h1>GPU cluster exporter</h1>
<p>Version {version}</p>
<ul>{items}</ul>
</body>
</html>
"""


async def _chunks(page: Page) -> AsyncIterator[bytes]:
    for chunk in page.chunks():
        yield chunk


def _plain(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text + "\n", status=status, headers={"Cache-Control": "no-store"})


def _joined(request: web.Request, header: str) -> str:
    return ",".join(request.headers.getall(header, ()))


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


async def listen(application: web.Application, addresses: Sequence[str]) -> web.AppRunner:
    """Serve on all addresses, each `host:port`; an empty host means every interface.

    Raises ListenError with the address and the reason.
    """
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        for address in addresses:
            await _listen_on(runner, address)
    except BaseException:
        await runner.cleanup()
        raise
    return runner


async def _listen_on(runner: web.AppRunner, address: str) -> None:
    host, port = split_address(address)
    try:
        await web.TCPSite(runner, host or None, port).start()
    except OSError as error:
        raise listen_error(address, error, "--web.listen-address") from error


def listen_error(address: str, error: OSError, flag: str) -> ListenError:
    """Return why an address can't be listened on, and which flag names another."""
    if error.errno == errno.EADDRINUSE:
        why = f"the port is in use; choose another with {flag}"
    elif isinstance(error, socket.gaierror):
        why = f"{error.strerror}; {flag} takes host:port"
    else:
        why = os.strerror(error.errno) if error.errno else str(error)
    return ListenError(f"cannot listen on {address}: {why}")


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of `host:port`, `:port` or `[::1]:port`."""
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535:  # noqa: PLR2004
        raise ListenError(f"not an address of the form host:port: {address!r}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ListenError(f"an IPv6 address stands in brackets, [::1]:10110: {address!r}")
    return host, int(port)
