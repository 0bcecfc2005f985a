"""The web server, over real sockets."""

import asyncio
import gzip
import io
import itertools
import re
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from exporter import flags
from exporter.app import Application
from exporter.negotiation import OPENMETRICS, TEXT
from exporter.simulator.faults import Hang, Status
from exporter.simulator.server import Simulator
from exporter.snapshots import TargetId
from exporter.web import scrapes, sending
from exporter.web.listening import ListenError, listen, listen_error, split_address
from exporter.web.server import Options, Server
from tests.clocks import FakeClock
from tests.simulated import config_text, first_polls, read_config, until, value

LOCAL = "127.0.0.1:0"


@dataclass
class Daemon:
    """A server that listens, and a client of it."""

    runner: web.AppRunner
    session: aiohttp.ClientSession
    server: Server

    @property
    def port(self) -> int:
        """The port that it listens on."""
        port: int = self.runner.addresses[0][1]
        return port

    async def ask(
        self, path: str, method: str = "GET", **headers: str
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body as sent, not decompressed."""
        url = f"http://127.0.0.1:{self.port}{path}"
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        async with self.session.request(method, url, headers=named) as response:
            return response.status, response.headers.copy(), await response.read()

    async def text(self, path: str, method: str = "GET") -> tuple[int, str]:
        """Return status and text."""
        status, _, body = await self.ask(path, method)
        return status, body.decode().rstrip("\n")


class Serve:
    """Starts servers, and stops them at the end of the test."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self.daemons: list[Daemon] = []

    async def __call__(self, options: Options | None = None) -> Daemon:
        """Serve the application."""
        chosen = options or Options([LOCAL])
        made = Server(self.app, chosen)
        runner = await listen(made.web_application(), chosen.addresses)
        session = aiohttp.ClientSession(
            auto_decompress=False, skip_auto_headers=["Accept-Encoding"]
        )
        self.daemons.append(Daemon(runner, session, made))
        return self.daemons[-1]

    async def stop(self) -> None:
        """Stop all."""
        for daemon in self.daemons:
            await daemon.session.close()
            await daemon.runner.cleanup()


@pytest.fixture
async def serve(app: Application) -> AsyncIterator[Serve]:
    """Give what starts a server."""
    made = Serve(app)
    yield made
    await made.stop()


@pytest.fixture
async def configured(app: Application, simulator: Simulator, tmp_path: Path) -> Application:
    """Give an application that has polled all its targets."""
    text = config_text(simulator.url)
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    await first_polls(app)
    return app


@pytest.mark.usefixtures("configured")
async def test_the_page_is_served_in_both_formats(serve: Serve) -> None:
    """Text without wishes, OpenMetrics where the scraper prefers it, with its end mark."""
    daemon = await serve()
    status, headers, body = await daemon.ask("/metrics")
    assert (status, headers["Content-Type"]) == (200, TEXT)
    assert value(body, "gpu_cluster_exporter_build_info") == 1.0
    assert b"# EOF" not in body
    accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
    status, headers, body = await daemon.ask("/metrics", Accept=accept)
    assert (status, headers["Content-Type"]) == (200, OPENMETRICS)
    assert body.endswith(b"# EOF\n")


@pytest.mark.usefixtures("configured")
async def test_the_page_is_compressed_where_that_is_accepted(serve: Serve) -> None:
    """The decompressed page is the plain one, and the length is that of what is sent."""
    daemon = await serve()
    _, headers, packed = await daemon.ask("/metrics", Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"
    assert int(headers["Content-Length"]) == len(packed)
    _, plain_headers, plain = await daemon.ask("/metrics", Accept_Encoding="gzip;q=0")
    assert "Content-Encoding" not in plain_headers
    assert int(plain_headers["Content-Length"]) == len(plain)
    assert plain_headers["Vary"] == "Accept, Accept-Encoding"
    lines = gzip.decompress(packed).splitlines()
    assert [line for line in lines if line.startswith(b"scp_")] == [
        line for line in plain.splitlines() if line.startswith(b"scp_")
    ]


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.usefixtures("configured")
async def test_head_gives_the_headers_alone(serve: Serve, encoding: str) -> None:
    """A connection goes on after it."""
    daemon = await serve()
    status, headers, body = await daemon.ask("/metrics", "HEAD", Accept_Encoding=encoding)
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000
    assert (await daemon.text("/-/healthy"))[0] == 200


async def test_a_malformed_wish_gets_text(serve: Serve) -> None:
    """A header that cannot be understood is no error."""
    daemon = await serve()
    status, headers, _ = await daemon.ask("/metrics", Accept="application/openmetrics-text;;q=,")
    assert (status, headers["Content-Type"]) == (200, TEXT)


async def test_the_page_is_there_when_every_cloud_is_down(
    serve: Serve, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """From before the first poll on: 200, and never empty."""
    simulator.faults.add(Status(status=404))
    daemon = await serve()
    status, _, body = await daemon.ask("/metrics")
    assert status == 200
    assert value(body, "gpu_cluster_exporter_build_info") == 1.0
    text = config_text(simulator.url)
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    for _ in range(2):
        status, _, body = await daemon.ask("/metrics")
        assert status == 200
        labels = {"region": "kr-west1", "collector": "gpu_nodes"}
        assert value(body, "gpu_cluster_exporter_target_up", **labels) == 0.0
        await first_polls(app)
    assert await daemon.text("/-/ready") == (200, "ready")
    assert await daemon.text("/-/healthy") == (200, "healthy")


@pytest.mark.usefixtures("configured")
async def test_the_page_tells_the_size_of_the_one_before(serve: Serve) -> None:
    """Whatever format and compression it was served in."""
    daemon = await serve()
    _, _, before = await daemon.ask("/metrics")
    _, _, body = await daemon.ask("/metrics", Accept_Encoding="gzip")
    assert value(gzip.decompress(body), "gpu_cluster_exporter_exposition_bytes") == len(before)


async def test_scrapes_beyond_the_limit_are_refused(
    serve: Serve, configured: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 503, and only for as long as the others last; 0 is no limit."""
    assert configured.ready
    begun, go_on = asyncio.Event(), asyncio.Event()
    send = sending.send

    async def held(request: web.Request, response: web.StreamResponse) -> None:
        if request.path == "/metrics":
            begun.set()
            await go_on.wait()
        await send(request, response)

    monkeypatch.setattr(scrapes, "send", held)
    limited, unlimited = await serve(Options([LOCAL], max_requests=1)), await serve(NO_LIMIT)
    first = asyncio.ensure_future(limited.text("/metrics"))
    others = [asyncio.ensure_future(unlimited.text("/metrics")) for _ in range(3)]
    await begun.wait()
    assert await limited.text("/metrics") == (503, "more than 1 scrapes at once")
    assert (await limited.text("/-/healthy"))[0] == 200
    go_on.set()
    assert (await first)[0] == 200
    assert {(await other)[0] for other in others} == {200}
    assert (await limited.text("/metrics"))[0] == 200


NO_LIMIT = Options([LOCAL], max_requests=0)


def slow_reader(port: int) -> socket.socket:
    """Ask for the page, with room for next to nothing of it."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    reader.connect(("127.0.0.1", port))
    reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: exporter\r\n\r\n")
    return reader


def shrink_send_buffers(runner: web.AppRunner, size: int = 8192) -> None:
    """Let the kernel take as little as it can of what is sent."""
    for site in runner.sites:
        assert isinstance(site._server, asyncio.Server)
        for listening in site._server.sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)


async def closed(runner: web.AppRunner) -> None:
    """Wait until the server holds no connection."""
    await until(lambda: not (runner.server and runner.server.connections))


def read_all(reader: socket.socket) -> bytes:
    """Read what there is, up to the end or the reset."""
    chunks = []
    try:
        while chunk := reader.recv(65536):
            chunks.append(chunk)
    except ConnectionResetError:
        pass
    return b"".join(chunks)


async def test_others_have_their_turn_between_the_parts_of_a_page() -> None:
    """A reader that takes a large page as fast as it is sent does not hold the event loop."""
    loop, turns = asyncio.get_running_loop(), itertools.count()

    def turn() -> None:
        next(turns)
        loop.call_soon(turn)

    loop.call_soon(turn)
    assert [next(turns) async for _ in scrapes._sent([b"part"] * 3)] == [0, 2, 4]


@pytest.mark.usefixtures("configured")
async def test_readers_that_do_not_read_are_cut_off(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """25 of them hold nobody up, and are gone when their time is over, without an error."""
    monkeypatch.setattr(sending, "READ_TIMEOUT_SECONDS", 2.0)
    daemon = await serve()
    shrink_send_buffers(daemon.runner)
    readers = [slow_reader(daemon.port) for _ in range(25)]
    await until(lambda: daemon.server.scrapes.now == 25)
    status, _, body = await daemon.ask("/metrics", Connection="close")
    assert status == 200
    await until(lambda: daemon.server.scrapes.now == 25)  # the one that was answered has ended
    await closed(daemon.runner)
    assert len(read_all(readers[0])) < len(body)
    for reader in readers:
        reader.close()
    assert daemon.server.scrapes.now == 0
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_rest_that_fits_the_servers_own_buffer_counts_as_not_read(
    serve: Serve, app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small page too is only sent when the kernel has all of it."""
    monkeypatch.setattr(sending, "READ_TIMEOUT_SECONDS", 1.0)
    daemon = await serve()
    for number in range(14):
        target = TargetId("scp", f"account-{number}", "e", "kr-west1", "images")
        app.telemetry.target(target, 30.0).write()
    _, _, body = await daemon.ask("/metrics", Connection="close")
    assert 32 * 1024 < len(body) < 64 * 1024  # more than the kernel's, less than asyncio's
    shrink_send_buffers(daemon.runner)
    reader = slow_reader(daemon.port)
    await until(lambda: daemon.server.scrapes.now)
    await closed(daemon.runner)
    reader.close()


@pytest.mark.usefixtures("configured")
async def test_a_reader_that_hangs_up_is_no_error(
    serve: Serve, log: io.StringIO, caplog: pytest.LogCaptureFixture
) -> None:
    """Scrapers time out, and people close their browsers."""
    daemon = await serve()
    shrink_send_buffers(daemon.runner)
    reader = slow_reader(daemon.port)
    await until(lambda: daemon.server.scrapes.now)
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    reader.close()
    await closed(daemon.runner)
    assert daemon.server.scrapes.now == 0
    assert log.getvalue() == ""
    assert caplog.records == []


async def test_a_frozen_loop_is_named(
    serve: Serve, configured: Application, clock: FakeClock
) -> None:
    """Liveness is lost with one loop that attempts no more, and only then."""
    daemon = await serve()
    assert await daemon.text("/-/healthy") == (200, "healthy")
    frozen = next(
        task for task in asyncio.all_tasks() if task.get_name() == "scp/prod/e/kr-west1/gpu_nodes"
    )
    frozen.cancel()
    for _ in range(10):
        await clock.advance(30)
        await until(lambda: len(configured.late()) <= 1)
    assert await daemon.text("/-/healthy") == (
        503,
        "no attempt for too long: scp/prod/e/kr-west1/gpu_nodes",
    )


async def test_readiness_waits_for_every_first_poll(
    serve: Serve, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """A region that hangs holds it up; once given, it is never taken back."""
    daemon = await serve()
    assert await daemon.text("/-/ready") == (503, "the first polls have not ended yet")
    simulator.faults.add(Hang(region="kr-east1"))
    text = config_text(simulator.url, regions=["kr-west1"])
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    await first_polls(app)
    assert await daemon.text("/-/ready") == (200, "ready")
    both = config_text(simulator.url)
    await app.apply(read_config(tmp_path, both, simulator.credentials))
    assert await daemon.text("/-/ready") == (200, "ready")


async def test_a_reload_has_to_be_allowed(serve: Serve) -> None:
    """403 without the flag; GET is no way to reload, with or without it."""
    daemon = await serve()
    assert await daemon.text("/-/reload", "POST") == (
        403,
        "not allowed without --web.enable-lifecycle",
    )
    assert (await daemon.text("/-/reload"))[0] == 405


@pytest.mark.parametrize(
    ("problem", "answer"),
    [("", (200, "reloaded")), ("scp: missing", (500, "scp: missing"))],
)
async def test_a_reload_answers_how_it_went(
    serve: Serve, problem: str, answer: tuple[int, str]
) -> None:
    """The reason is in the body."""

    async def reload() -> str:
        return problem

    daemon = await serve(Options([LOCAL], reload=reload))
    assert await daemon.text("/-/reload", "POST") == answer
    assert (await daemon.text("/-/reload"))[0] == 405


async def test_the_index_links_what_there_is(serve: Serve) -> None:
    """Every link leads somewhere."""
    daemon = await serve(Options([LOCAL], telemetry_path="/gpu/metrics"))
    status, text = await daemon.text("/")
    assert status == 200
    for path in ("/gpu/metrics", "/-/healthy", "/-/ready"):
        assert f'href=".{path}"' in text
        assert (await daemon.text(path))[0] in {200, 503}


async def test_the_page_may_stand_elsewhere(serve: Serve) -> None:
    """At a path of one's own, and there alone; also at the root, in the index's place."""
    daemon = await serve(Options([LOCAL], telemetry_path="/gpu/metrics"))
    assert (await daemon.text("/gpu/metrics"))[1].startswith("# HELP")
    assert (await daemon.text("/metrics"))[0] == 404
    daemon = await serve(Options([LOCAL], telemetry_path="/"))
    assert (await daemon.text("/"))[1].startswith("# HELP")


async def test_what_there_is_not_is_not_found(serve: Serve) -> None:
    """An unknown path is 404, an unknown method 405."""
    daemon = await serve()
    assert (await daemon.text("/nothing"))[0] == 404
    assert (await daemon.text("/metrics", "DELETE"))[0] == 405


async def test_several_addresses_are_served(serve: Serve) -> None:
    """IPv6 too, in brackets."""
    try:
        daemon = await serve(Options([LOCAL, "[::1]:0"]))
    except ListenError as error:
        pytest.skip(f"no IPv6 here: {error}")
    assert len(daemon.runner.addresses) == 2
    port = daemon.runner.addresses[1][1]
    async with daemon.session.get(f"http://[::1]:{port}/-/healthy") as response:
        assert response.status == 200


async def test_a_port_that_is_taken_is_told_with_the_way_out(serve: Serve) -> None:
    """One line names the address and the flag."""
    taken = f"127.0.0.1:{(await serve()).port}"
    with pytest.raises(ListenError) as raised:
        await serve(Options([taken]))
    assert str(raised.value) == (
        f"cannot listen on {taken}: the port is in use; choose another with --web.listen-address"
    )


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("192.0.2.1:0", "Cannot assign requested address|could not bind on any address.*"),
        ("no-such-host.invalid:0", ".*--web.listen-address takes host:port"),
    ],
)
async def test_an_address_that_is_not_ours_is_told(serve: Serve, address: str, why: str) -> None:
    """One line names the address and the reason, and nothing is left listening."""
    with pytest.raises(ListenError) as raised:
        await serve(Options([LOCAL, address]))
    assert re.fullmatch(f"cannot listen on {re.escape(address)}: ({why})", str(raised.value))


def test_an_error_without_a_number_is_told_as_it_is() -> None:
    """What the system says is better than nothing."""
    assert str(listen_error(":1", OSError("odd"), "--x")) == "cannot listen on :1: odd"


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        (":10110", "", 10110),
        ("localhost:0", "localhost", 0),
        ("[::1]:10110", "::1", 10110),
        ("127.0.0.1:65535", "127.0.0.1", 65535),
    ],
)
def test_addresses_are_split(address: str, host: str, port: int) -> None:
    """An empty host means every interface."""
    assert split_address(address) == (host, port)


@pytest.mark.parametrize(
    "address",
    ["10110", "localhost", "localhost:", "localhost:http", ":65536", ":-1", ":²", "::1:80"],
)
def test_what_is_no_address_is_told(address: str) -> None:
    """The line names it."""
    with pytest.raises(ListenError, match="address") as raised:
        split_address(address)
    assert repr(address) in str(raised.value)


async def test_no_page_stands_where_the_exposition_may(app: Application) -> None:
    """A path that is allowed for the exposition hides no other page."""
    made = Server(app, Options([LOCAL])).web_application()
    paths = {resource.canonical for resource in made.router.resources()} - {"/", "/metrics"}
    assert {path.split("/")[1] for path in paths} == set(flags._OWN_PATHS)
