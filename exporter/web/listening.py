"""Listening on the addresses of the flags."""

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from exporter.web.connections import Connections

HANDSHAKE_SECONDS: Final = 10.0


class ListenError(Exception):
    """An address that can't be listened on."""


class Site(web.TCPSite):
    """An address that is listened on, with connections that are bounded."""

    def __init__(
        self,
        runner: web.AppRunner,
        address: tuple[str | None, int],
        connections: Connections,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(runner, *address, ssl_context=tls)
        self._connections = connections

    async def start(self) -> None:
        """Listen."""
        await web.BaseSite.start(self)
        self._server = await asyncio.get_running_loop().create_server(
            self._connections,
            self._host,
            self._port,
            ssl=self._ssl_context,
            ssl_handshake_timeout=HANDSHAKE_SECONDS if self._ssl_context else None,
            backlog=self._backlog,
        )


async def listen(
    application: web.Application,
    addresses: Sequence[str],
    tls: ssl.SSLContext | None = None,
) -> web.AppRunner:
    """Serve on all addresses, each `host:port`; an empty host means every interface.

    Raises ListenError with the address and the reason.
    """
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - after its set-up
    connections = Connections(runner.server)
    try:
        for address in addresses:
            await _listen_on(runner, address, connections, tls)
    except BaseException:
        await runner.cleanup()
        raise
    return runner


async def _listen_on(
    runner: web.AppRunner, address: str, connections: Connections, tls: ssl.SSLContext | None
) -> None:
    host, port = split_address(address)
    try:
        await Site(runner, (host or None, port), connections, tls).start()
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
