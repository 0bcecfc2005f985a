"""What the web server does with clients that take their time, or more than their share."""

import asyncio
from pathlib import Path

import pytest

from exporter.app import Application
from exporter.clouds.http import MAX_BODY_BYTES
from exporter.web import connections, listening, passwords, sending, web_config
from exporter.web.server import Options
from tests.simulated import until
from tests.web.serving import HEALTHY, Served, serving

DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"
LIMITS = {
    "a TLS handshake": f"{listening.HANDSHAKE_SECONDS:g} s",
    "a request's header,": f"{connections.HEADER_SECONDS:g} s",
    "a connection without requests": f"{connections.IDLE_SECONDS:g} s",
    "what is left of a request's body,": f"{connections.LINGERING_SECONDS:g} s",
    "a response that its reader does not take": f"{sending.READ_TIMEOUT_SECONDS:g} s",
    "connections at once": str(connections.MAX_CONNECTIONS),
    "scrapes at once": str(Options([]).max_requests),
    "passwords that wait": str(passwords.MAX_WAITING),
    "a body that a cloud sends": f"{MAX_BODY_BYTES // 2**20} MiB",
    "a web configuration file,": f"{web_config.MAX_FILE_BYTES // 2**20} MiB",
}


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("sent", [b"", b"GET /metrics HT", b"GET / HTTP/1.1\r\nHost: exporter\r\n"])
async def test_a_header_that_never_ends_is_cut_off(served: Served, sent: bytes) -> None:
    """Also one of which nothing has come yet."""
    assert await served.raw(sent) == b""


@pytest.mark.usefixtures("hasty")
async def test_a_drop_now_and_then_buys_no_time(served: Served) -> None:
    """The time is that of the whole header, of the second request on a connection too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(HEALTHY)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.write(b"GET / HTTP/1.1\r\n")
    rest = asyncio.ensure_future(reader.read())
    while not rest.done():
        writer.write(b"X-Made-Up: 1\r\n")
        await asyncio.wait({rest}, timeout=0.01)
    assert isinstance(rest.exception(), ConnectionError) or rest.result() == b"healthy\n"
    writer.close()


async def test_a_connection_without_requests_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time that a scraper may need to come back."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    answer = await served.raw(HEALTHY)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"healthy\n")


async def test_a_slow_answer_is_not_cut_off_with_the_header(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a request is there, its handler may take longer."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.02)

    async def reload() -> str:
        await asyncio.sleep(0.2)
        return ""

    async with serving(app, reload=reload) as served:
        assert (await served.ask("/-/reload", "POST")).text == "reloaded"


@pytest.mark.usefixtures("hasty")
async def test_a_body_is_not_waited_for(served: Served) -> None:
    """However long it says it is: nothing here reads one."""
    head = b"POST /-/reload HTTP/1.1\r\nHost: exporter\r\nContent-Length: %d\r\n\r\n"
    for length in (100, 10**12):
        answer = await served.raw(head % length + b"x" * 50)
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert answer.endswith(b"scp: missing\n")


@pytest.mark.usefixtures("hasty")
async def test_a_packed_body_is_not_unpacked(served: Served) -> None:
    """A few bytes could stand for many, and broken ones are no matter."""
    head = b"POST /-/reload HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n"
    sent = head + b"Content-Encoding: deflate\r\nContent-Length: 9\r\n\r\nno packed"
    assert (await served.raw(sent)).startswith(b"HTTP/1.1 500 ")


async def test_too_many_connections_cost_the_oldest_that_waits(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for something gets it, however many only hold the line."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    async with serving(app) as served:
        silent = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(5)]
        server = served.runner.server
        assert server is not None
        await until(lambda: len(server.connections) == 5)
        assert (await served.ask("/metrics")).status == 200
        assert await silent[0][0].read() == b""
        await until(lambda: len(server.connections) == 5)
        assert not silent[1][0].at_eof()
        for _, writer in silent:
            writer.close()


async def test_closed_connections_leave_nothing(served: Served) -> None:
    """Neither a timer nor a place in the queue."""
    for _ in range(20):
        await served.raw(HEALTHY.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.close()
    server = served.runner.server
    assert server is not None
    await until(lambda: not server.connections)
    [site] = served.runner.sites
    await until(lambda: not site._connections.waiting)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("what", "limit"), LIMITS.items())
def test_the_limits_are_those_of_the_document(what: str, limit: str) -> None:
    """Each as the code has it."""
    [row] = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {what}")]
    assert row.endswith(f" | {limit} |")
