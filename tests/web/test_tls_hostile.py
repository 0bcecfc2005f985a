"""Connections by pyOpenSSL, and by Python's own TLS: large pages, ways to leave, and garbage."""

import asyncio
import io
import random
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from aiohttp import web
from cryptography import x509
from hypothesis import example, given
from hypothesis import strategies as st
from OpenSSL import crypto

from exporter.app import Application
from exporter.web.listening import listen
from exporter.web.openssl import alternative_names
from tests.clocks import FakeClock
from tests.simulated import until
from tests.web.material import lay_out
from tests.web.serving import serving
from tests.web.tls_clients import (
    ANY,
    NAMED,
    REQUESTED,
    TLS,
    VERSIONS,
    Talk,
    admitted,
    careless,
    context,
    make,
)

pytestmark = pytest.mark.tool("openssl")

NAMES = x509.SubjectAlternativeName
PAGE = random.Random(7).randbytes(40_000_000)  # noqa: S311 - made up
GET = b"GET / HTTP/1.1\r\nHost: exporter\r\n\r\n"
CLOSING = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
HUGE = b"\x16\x03\x01\xff\xff\x01"
ALERT = b"\x15\x03\x03\x00\x02\x02\x28"
EXTENSIONS = (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.NameConstraints)


@pytest.fixture
def file(tool: str, tmp_path: Path) -> Path:
    """Give where a web configuration file may stand, beside the certificates that it names."""
    return lay_out(tool, tmp_path) / "web.yml"


# Large pages, and ways to leave


@asynccontextmanager
async def large(file: Path) -> AsyncIterator[web.AppRunner]:
    """Serve a large page."""

    async def page(_: web.Request) -> web.Response:
        return web.Response(body=PAGE)

    application = web.Application()
    application.router.add_get("/", page)
    runner = await listen(application, ["127.0.0.1:0"], context(file, REQUESTED))
    try:
        yield runner
    finally:
        await runner.cleanup()


async def asked(
    runner: web.AppRunner, client: ssl.SSLContext, request: bytes
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return a connection that has asked for the page, and was told that it comes."""
    port = runner.addresses[0][1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
    writer.write(request)
    assert b" 200 OK" in await reader.readuntil(b"\r\n\r\n")
    return reader, writer


def hang_up(writer: asyncio.StreamWriter) -> None:
    """Be gone without a word."""
    writer.transport.abort()


def fall_silent(writer: asyncio.StreamWriter) -> None:
    """End what is sent, below TLS, and go on listening."""
    writer.get_extra_info("socket").shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_large_page_arrives_whole(
    file: Path, log: io.StringIO, version: ssl.TLSVersion
) -> None:
    """Whether the server closes the connection after it, or the client."""
    async with large(file) as runner:
        client = careless(file, "stranger", version)
        reader, writer = await asked(runner, client, CLOSING)
        assert await reader.read() == PAGE
        writer.close()
        reader, writer = await asked(runner, client, GET)
        assert await reader.readexactly(len(PAGE)) == PAGE
        writer.close()
        await until(lambda: not runner.server or not runner.server.connections)
    assert log.getvalue() == ""


@pytest.mark.parametrize("end", [hang_up, fall_silent, asyncio.StreamWriter.close])
async def test_who_leaves_in_between_leaves_nothing(
    file: Path, log: io.StringIO, end: Callable[[asyncio.StreamWriter], None]
) -> None:
    """No connection and no line in the log; others are served."""
    async with large(file) as runner:
        reader, writer = await asked(runner, careless(file, "stranger"), GET)
        await reader.readexactly(1_000_000)
        end(writer)
        with suppress(OSError):
            await reader.read()  # what is under way
        await until(lambda: not runner.server or not runner.server.connections)
        writer.close()
        reader, writer = await asked(runner, careless(file, ""), CLOSING)
        assert await reader.read() == PAGE
        writer.close()
    assert log.getvalue() == ""


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_said_is_heard(file: Path, version: ssl.TLSVersion) -> None:
    """In pieces or into a buffer, until the client says goodbye."""
    talk = Talk(context(file, ANY), careless(file, "stranger", version))
    talk.shake_hands()
    talk.tell(b"several words")
    buffer = bytearray(8)
    assert talk.server.read(8) == b"several "
    assert talk.server.read(8, buffer) == 5  # type: ignore[comparison-overlap] # as in ssl
    assert buffer.startswith(b"words")
    with pytest.raises(ssl.SSLWantReadError):
        talk.server.read()
    with pytest.raises(ssl.SSLWantReadError):
        talk.server.unwrap()
    talk.part()
    assert talk.server.read() == b""
    talk.server.unwrap()


# What means no good


def spoilt_names() -> st.SearchStrategy[bytes]:
    """Make alternative names, one byte of which may be any other."""
    good = NAMES(
        [
            x509.DNSName("prometheus.example"),
            x509.RFC822Name("scraper@example.com"),
            x509.UniformResourceIdentifier("spiffe://example.com/scraper"),
            x509.IPAddress(ip_address("2001:db8::1")),
        ]
    ).public_bytes()
    places = st.integers(0, len(good) - 1)
    return st.builds(
        lambda place, byte: good[:place] + byte + good[place + 1 :], places, st.binary(max_size=2)
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("text", [TLS, ANY, NAMED], ids=["ssl", "any", "named"])
def test_no_garbage_is_more_than_refused(file: Path, text: str, version: ssl.TLSVersion) -> None:
    """In place of a client's words, or within them: all that comes of it is an ssl.SSLError."""
    server, client = context(file, text), careless(file, "stranger", version)

    @given(st.integers(0, 1), st.integers(0, 2000), st.integers(0, 9), st.binary(max_size=9))
    def spoilt(number: int, start: int, left_out: int, put_in: bytes) -> None:
        talk = Talk(server, client)
        with suppress(ssl.SSLError):
            for each in range(4):  # it may wait for ever
                said = talk.say()
                if each == number:
                    said = said[:start] + put_in + said[start + left_out :]
                if talk.hear(said):
                    talk.server.read()

    @given(st.binary(max_size=100))
    def nonsense(said: bytes) -> None:
        with suppress(ssl.SSLError):
            Talk(server, client).hear(said)

    spoilt()
    nonsense()


def test_no_certificate_is_more_than_refused(tmp_path: Path) -> None:
    """Whatever stands in its extensions: it has names, or an ssl.SSLError says that it has none."""
    oids = st.sampled_from([NAMES.oid, *(each.oid for each in EXTENSIONS)])

    @given(oids, st.binary(max_size=30) | spoilt_names())
    @example(NAMES.oid, NAMES([x509.DNSName("prometheus.example")]).public_bytes())
    def made_of(oid: x509.ObjectIdentifier, content: bytes) -> None:
        make(tmp_path, "odd", x509.UnrecognizedExtension(oid, content))
        pem = (tmp_path / "odd.crt").read_bytes()
        with suppress(ssl.SSLError):
            names = alternative_names(crypto.load_certificate(crypto.FILETYPE_PEM, pem))
            assert all(isinstance(name, str) for name in names)

    made_of()


async def test_garbage_stops_nothing(file: Path, log: io.StringIO) -> None:
    """It is hung up on without a word in the log, and the next client is served."""
    hello = Talk(context(file, ANY), careless(file, "")).say()
    async with Application(environ={}, clock=FakeClock()) as app, serving(app, file) as served:
        for said in (GET, b"\0" * 9000, hello[:50] + b"\0" * 900, hello * 2, ALERT, HUGE):
            assert not (await served.raw(said)).startswith(b"HTTP")
        assert await admitted(served, careless(file, "stranger"))
    assert log.getvalue() == ""
