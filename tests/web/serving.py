"""An exporter's web server on loopback, and clients of it, as the tests of access need them."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web
from multidict import CIMultiDict

from exporter.app import Application
from exporter.web.listening import listen
from exporter.web.server import Options, Server

USER, PASSWORD = "alice", "made-up-password"
LOGIN = aiohttp.encode_basic_auth(USER, PASSWORD)
HASH = "$2y$04$IIVx5uVOG5yEIxwpemLMDesaG.MLmFuVRL12A9o9q2Z6h6SzH2ZkO"
HEALTHY = b"GET /-/healthy HTTP/1.1\r\nHost: exporter\r\n\r\n"
USERS = f"basic_auth_users: {{{USER}: {HASH}}}\n"


@dataclass(frozen=True)
class Answer:
    """What was answered to a request."""

    status: int
    headers: CIMultiDict[str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, without the line break at its end."""
        return self.body.decode().rstrip("\n")


@dataclass(frozen=True)
class Served:
    """A server that listens, and a client of it."""

    runner: web.AppRunner
    server: Server
    session: aiohttp.ClientSession

    @property
    def port(self) -> int:
        """The port that it listens on."""
        port: int = self.runner.addresses[0][1]
        return port

    async def ask(self, path: str = "/-/healthy", method: str = "GET", /, **options: Any) -> Answer:  # noqa: ANN401 - aiohttp's own
        """Ask, by a connection that may be kept."""
        scheme = "http" if self.server.tls is None else "https"
        url = f"{scheme}://127.0.0.1:{self.port}{path}"
        async with self.session.request(method, url, **options) as response:
            return Answer(response.status, response.headers.copy(), await response.read())

    async def login(self, header: str | None = LOGIN, path: str = "/-/healthy") -> int:
        """Return the status of an answer to a request with this Authorization."""
        headers = {} if header is None else {"Authorization": header}
        return (await self.ask(path, headers=headers)).status

    async def raw(self, sent: bytes) -> bytes:
        """Send bytes, and return all that comes until the server hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        received = b""
        try:
            writer.write(sent)
            while chunk := await reader.read(65536):
                received += chunk
        except ConnectionError:
            pass  # it was hung up on while there was more to say
        finally:
            writer.close()
        return received


@asynccontextmanager
async def serving(
    app: Application,
    web_config: Path | None = None,
    **options: Any,  # noqa: ANN401 - those of Options
) -> AsyncIterator[Served]:
    """Serve an application for as long as the context lasts."""
    chosen = Options(["127.0.0.1:0"], web_config=web_config, **options)
    server = Server(app, chosen)
    runner = await listen(server.web_application(), chosen.addresses, server.tls)
    try:
        async with aiohttp.ClientSession() as session:
            yield Served(runner, server, session)
    finally:
        await runner.cleanup()


def trusting(directory: Path, client: str = "") -> ssl.SSLContext:
    """Return how a client connects that knows the servers' authority, with a certificate or not."""
    context = ssl.create_default_context(cafile=directory / "servers.crt")
    if client:
        context.load_cert_chain(directory / f"{client}.crt", directory / f"{client}.key")
    return context
