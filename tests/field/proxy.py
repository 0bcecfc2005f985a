"""A small HTTP proxy on loopback: CONNECT, and whole URLs in the request line."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

END_OF_HEAD = b"\r\n\r\n"
REFUSED = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass
class Proxy:
    """A proxy that keeps the head of every request; `port` is where it listens.

    With `authorization` it refuses who doesn't send just that in `Proxy-Authorization`.
    """

    authorization: str = ""
    port: int = 0
    heads: list[str] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def lines(self) -> list[str]:
        """Return the request lines."""
        return [head.partition("\r\n")[0] for head in self.heads]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to serve a connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._one_request(reader, writer)
        finally:
            await _close(writer)

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = (await reader.readuntil(END_OF_HEAD)).decode("latin-1")
        self.heads.append(head)
        if self.authorization and f"Proxy-Authorization: {self.authorization}\r\n" not in head:
            writer.write(REFUSED)
            return
        method, url, _ = head.split(" ", 2)
        target = urlsplit(f"//{url}" if method == "CONNECT" else url)
        there = await asyncio.open_connection("127.0.0.1", target.port)
        if method == "CONNECT":
            writer.write(TUNNEL)
        else:
            there[1].write(_forwarded(head).encode("latin-1"))
        await _join((reader, writer), there)

    async def stop(self) -> None:
        """Hang up on whoever is still connected."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)  # and the transports have yet to be told that they are closed


def _forwarded(head: str) -> str:
    """Return a request's head as the server is to see it: without what the proxy is told."""
    lines = [line for line in head.split("\r\n") if not line.startswith("Proxy-Authorization")]
    return "\r\n".join([*lines[:1], "Connection: close", *lines[1:]])


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _join(one: Stream, other: Stream) -> None:
    """Carry bytes both ways, until either end is done."""
    ways = {asyncio.ensure_future(_carry(one[0], other[1]))}
    ways.add(asyncio.ensure_future(_carry(other[0], one[1])))
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        await _close(other[1])


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@contextlib.asynccontextmanager
async def proxy(authorization: str = "") -> AsyncIterator[Proxy]:
    """Serve on a free port for as long as the block lasts."""
    made = Proxy(authorization)
    listener = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.port = listener.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        listener.close()
        for _ in range(5):  # a connection that is just being accepted has yet to arrive
            await asyncio.sleep(0)
        await made.stop()
        await listener.wait_closed()
