"""TLS: whom a request is sent to, and what else is a failure."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from exporter.clouds.http import (
    close_session,
    open_session,
    tls_context,
)
from exporter.clouds.outcomes import (
    TlsFailed,
)
from tests.clouds.calls import LIST, client_of
from tests.clouds.loopback import (
    always,
    answer,
    loopback,
)


@pytest.fixture
def certificate(tool: str, tmp_path: Path) -> Path:
    """Make a certificate for 127.0.0.1 that signs itself, with its key in the same file."""
    key, cert, both = (tmp_path / name for name in ("key.pem", "cert.pem", "both.pem"))
    line = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    name = ("-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(cert))
    command = [tool, *line.split(), *name, *files]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - all of it stands here
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    """Give the server's side of that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.fixture
async def trusting(certificate: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Give a session that was told to trust the certificate."""
    opened = open_session(tls=tls_context(str(certificate)))
    yield opened
    await close_session(opened)


@pytest.mark.tool("openssl")
async def test_an_untrusted_certificate_is_a_tls_failure(
    session: aiohttp.ClientSession, tls: ssl.SSLContext
) -> None:
    """Nothing is sent to who can't prove to be the cloud, and it is not tried again."""
    async with loopback(always(answer({})), tls) as server:
        with pytest.raises(TlsFailed, match="certificate") as failed:
            await client_of(session, server.url).attempt(LIST)
        assert not server.heads
        assert not failed.value.retried


@pytest.mark.tool("openssl")
async def test_a_certificate_of_the_configured_file_is_trusted(
    trusting: aiohttp.ClientSession, tls: ssl.SSLContext
) -> None:
    """`ca_file` adds to what is trusted."""
    async with loopback(always(answer(b"good")), tls) as server:
        assert await client_of(trusting, server.url).attempt(LIST) == b"good"


@pytest.mark.tool("openssl")
async def test_a_certificate_of_another_host_is_a_tls_failure(
    trusting: aiohttp.ClientSession, tls: ssl.SSLContext
) -> None:
    """A trusted certificate is good for its own name only."""
    async with loopback(always(answer({})), tls) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        with pytest.raises(TlsFailed):
            await client_of(trusting, url).attempt(LIST)
        assert not server.heads


async def test_a_plain_port_is_no_tls(session: aiohttp.ClientSession) -> None:
    """HTTPS to a port that speaks HTTP is a TLS failure."""
    async with await asyncio.start_server(_speak_http, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(TlsFailed):
            await client_of(session, f"https://127.0.0.1:{port}").attempt(LIST)


async def _speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    writer.close()
    await writer.wait_closed()
