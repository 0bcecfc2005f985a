"""Servers on loopback that answer just as a test wants, down to single bytes."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

END_OF_HEAD = b"\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Head:
    """A request as it came: the target byte for byte, header names in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    connection: int

    @property
    def path(self) -> str:
        """Return the path, still encoded."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        """Return the query, decoded."""
        return dict(parse_qsl(urlsplit(self.target).query))


Reply = bytes | Awaitable[None] | None
Answerer = Callable[[Head, asyncio.StreamWriter], Reply]
"""A request to the bytes of its answer, or to a task that writes them; None hangs up."""


def answer(body: bytes | object = b"", status: int = 200, **headers: str) -> bytes:
    """Return a whole answer; a body that is no bytes is sent as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [
        f"HTTP/1.1 {status} Whatever",
        f"Content-Length: {len(data)}",
        *(f"{name}: {value}" for name, value in named.items()),
    ]
    return "\r\n".join(lines).encode() + END_OF_HEAD + data


def in_turn(replies: Iterable[Reply]) -> Answerer:
    """Give these answers one after the other."""
    left = iter(replies)
    return lambda _head, _writer: next(left)


@dataclass
class Loopback:
    """A server that keeps every request it got; `url` is its address without a path.

    `asked` is set with the first request.
    """

    answerer: Answerer
    heads: list[Head] = field(default_factory=list)
    url: str = ""
    connections: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = field(default_factory=dict)

    @property
    def targets(self) -> list[str]:
        """Return the targets that were asked for, in order."""
        return [head.target for head in self.heads]

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to answer the requests of a connection."""
        self.connections += 1
        task = asyncio.create_task(self._serve(reader, writer, self.connections))
        self._tasks[task] = writer
        task.add_done_callback(self._tasks.pop)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await self._converse(reader, writer, connection)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        while True:
            head = _parsed(await reader.readuntil(END_OF_HEAD), connection)
            self.heads.append(head)
            self.asked.set()
            reply = self.answerer(head, writer)
            if reply is None:
                return
            if isinstance(reply, bytes):
                writer.write(reply)
            else:
                await reply
            await writer.drain()

    async def stop(self) -> None:
        """Hang up on whoever is still connected."""
        tasks = dict(self._tasks)
        for task, writer in tasks.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # and the transports have yet to be told that they are closed


def _parsed(raw: bytes, connection: int) -> Head:
    first, *lines = raw.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.split(": ", 1) for line in lines)
    return Head(method, target, {name.lower(): value for name, value in pairs}, connection)


@contextlib.asynccontextmanager
async def loopback(
    answerer: Answerer, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Loopback]:
    """Serve on a free port for as long as the block lasts."""
    server = Loopback(answerer)
    listener = await asyncio.start_server(server.accept, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    server.url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield server
    finally:
        listener.close()
        for _ in range(5):  # a connection that is just being accepted has yet to arrive
            await asyncio.sleep(0)
        await server.stop()
        await listener.wait_closed()


async def reset(writer: asyncio.StreamWriter) -> None:
    """Break the connection, so that the peer sees a reset and no orderly end."""
    writer.transport.abort()
    raise ConnectionResetError


async def hang() -> None:
    """Never come back."""
    await asyncio.Event().wait()


def always(reply: bytes) -> Answerer:
    """Give the same answer to every request."""
    return lambda _head, _writer: reply


async def hang_up(_writer: asyncio.StreamWriter) -> None:
    """End the connection in good order."""
    raise ConnectionResetError


async def stall(_writer: asyncio.StreamWriter) -> None:
    """Send no more."""
    await hang()


def writing(
    *pieces: bytes, then: Callable[[asyncio.StreamWriter], Awaitable[None]] = hang_up
) -> Answerer:
    """Send these bytes, and then do something else."""

    async def write(writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        await then(writer)

    return lambda _head, writer: write(writer)
