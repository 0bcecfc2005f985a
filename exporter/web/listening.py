"""Listening on the addresses of the flags."""

import errno
import os
import socket
from collections.abc import Sequence

from aiohttp import web


class ListenError(Exception):
    """An address that can't be listened on."""


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
