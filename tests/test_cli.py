"""The commands, in this process."""

import asyncio
import contextlib
import io
import logging
import os
import re
import signal
import socket
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import structlog
from aiohttp import web

from exporter import cli, flags, logs
from exporter.clouds.nsml.runs import RunDirectory
from exporter.console import Console
from exporter.simulator.faults import Hang, Refuse, Status
from exporter.simulator.server import Simulator
from exporter.web.listening import ListenError, listen
from tests.clocks import settle
from tests.simulated import PATIENCE_SECONDS, config_text, samples, value, values, write


@pytest.fixture(autouse=True)
def log() -> Iterator[io.StringIO]:
    """Give the log of commands that run in the test's loop; leave logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    stream = io.StringIO()
    logs.configure("debug", "logfmt", logs.Redactor(), stream)
    yield stream
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
async def simulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Simulator]:
    """Give simulated clouds, whose credentials stand in the environment."""
    async with Simulator(8, seed=3, speed=0, alive=False) as simulator:
        for name, key in simulator.credentials.items():
            monkeypatch.setenv(name, key)
        yield simulator


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give the path of the configuration file."""
    return tmp_path / "gpu-cluster-exporter.yml"


async def run(*argv: str) -> int:
    """Run a command in the test's loop."""
    return await cli.run(flags.parse(argv), Console(logs.Redactor()))


@dataclass
class Running:
    """A daemon that runs in the test's loop, until a signal ends it."""

    task: asyncio.Task[int]
    port: int

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def ask(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """Return status and body."""
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.url + path) as response,
        ):
            return response.status, await response.read()

    async def until(self, path: str, wanted: bytes | int) -> bytes:
        """Ask until the answer has a text or status; return the body."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                status, body = await self.ask(path)
                if wanted == status or (isinstance(wanted, bytes) and wanted in body):
                    return body

    async def end(self, number: signal.Signals) -> tuple[int, float]:
        """Send the process a signal; return the exit code, and the seconds that it took."""
        began = time.monotonic()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            return await self.task, time.monotonic() - began


class Starter:
    """Starts daemons, and ends those that a test leaves running."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._listening: asyncio.Queue[web.AppRunner] = asyncio.Queue()
        self._tasks: list[asyncio.Task[int]] = []

        async def note(
            application: web.Application, addresses: Sequence[str], tls: ssl.SSLContext | None
        ) -> web.AppRunner:
            runner = await listen(application, addresses, tls)
            self._listening.put_nowait(runner)
            return runner

        monkeypatch.setattr("exporter.cli.listen", note)

    async def __call__(self, *argv: str) -> Running:
        """Run a command, and return when it listens and heeds signals."""
        task = asyncio.ensure_future(run(*argv, "--web.listen-address=127.0.0.1:0"))
        self._tasks.append(task)
        listening = asyncio.ensure_future(self._listening.get())
        await asyncio.wait({task, listening}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        runner = await listening
        await settle()
        return Running(task, runner.addresses[0][1])

    async def stop(self) -> None:
        """End all."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
async def start(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Starter]:
    """Give what starts a daemon."""
    made = Starter(monkeypatch)
    yield made
    await made.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_daemon_during_a_hanging_poll(
    start: Starter, simulator: Simulator, file: Path, number: signal.Signals
) -> None:
    """With exit code 0, within five seconds, and nothing is left open."""
    simulator.faults.add(Hang())
    write(file, config_text(simulator.url))
    running = await start("serve", f"--config.file={file}")
    assert (await running.ask("/-/ready"))[0] == 503
    code, seconds = await running.end(number)
    assert code == 0
    assert seconds < 5
    with pytest.raises(aiohttp.ClientConnectionError):
        await running.ask("/-/healthy")


async def test_a_signal_that_comes_early_ends_the_daemon_as_well(
    simulator: Simulator, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From before it listens: whoever sees it listen may send one."""

    async def interrupted(
        application: web.Application, addresses: Sequence[str], tls: ssl.SSLContext | None
    ) -> web.AppRunner:
        os.kill(os.getpid(), signal.SIGINT)
        return await listen(application, addresses, tls)

    monkeypatch.setattr("exporter.cli.listen", interrupted)
    write(file, config_text(simulator.url))
    command = run("serve", f"--config.file={file}", "--web.listen-address=127.0.0.1:0")
    assert await asyncio.wait_for(command, 5) == 0


async def test_a_daemon_ends_while_a_reader_does_not_read(
    start: Starter, simulator: Simulator, file: Path
) -> None:
    """A connection that is open does not hold it up."""
    write(file, config_text(simulator.url))
    running = await start("serve", f"--config.file={file}")
    await running.until("/-/ready", 200)
    idle = socket.create_connection(("127.0.0.1", running.port))
    idle.sendall(b"GET /metrics HTTP/1.1\r\n")
    code, seconds = await running.end(signal.SIGTERM)
    idle.close()
    assert code == 0
    assert seconds < 5


async def test_a_hangup_reloads(
    start: Starter, simulator: Simulator, file: Path, log: io.StringIO
) -> None:
    """A good file is put in force; a broken one leaves the old in force, and says so."""
    write(file, config_text(simulator.url, regions=["kr-west1"], nsml=False))
    running = await start("serve", f"--config.file={file}")
    await running.until("/-/ready", 200)
    write(file, config_text(simulator.url, nsml=False))
    os.kill(os.getpid(), signal.SIGHUP)
    await running.until("/metrics", b'region="kr-east1"')
    write(file, "scp: [\n")
    os.kill(os.getpid(), signal.SIGHUP)
    failed = b"gpu_cluster_exporter_config_last_reload_successful 0.0"
    page = await running.until("/metrics", failed)
    assert values(page, "gpu_cluster_exporter_target_up", region="kr-east1")
    assert "reload failed" in log.getvalue()
    assert not running.task.done()
    assert (await running.end(signal.SIGTERM))[0] == 0


async def test_a_reload_over_http_has_to_be_allowed(
    start: Starter, simulator: Simulator, file: Path
) -> None:
    """With the flag it answers how it went: 200, or 500 with every fault."""
    write(file, config_text(simulator.url))
    closed = await start("serve", f"--config.file={file}")
    assert (await closed.ask("/-/reload", "POST"))[0] == 403
    await closed.end(signal.SIGTERM)
    running = await start("serve", f"--config.file={file}", "--web.enable-lifecycle")
    assert await running.ask("/-/reload", "POST") == (200, b"reloaded\n")
    write(file, "scp: {}\nunknown: 1\n")
    status, body = await running.ask("/-/reload", "POST")
    assert status == 500
    assert b"unknown" in body
    assert (await running.end(signal.SIGTERM))[0] == 0


async def test_the_web_flags_are_followed(start: Starter, simulator: Simulator, file: Path) -> None:
    """The page stands where it is told to."""
    write(file, config_text(simulator.url))
    running = await start("serve", f"--config.file={file}", "--web.telemetry-path=/gpu")
    assert (await running.ask("/gpu"))[0] == 200
    assert (await running.ask("/metrics"))[0] == 404
    await running.end(signal.SIGTERM)


async def test_a_port_that_is_taken_ends_the_daemon(simulator: Simulator, file: Path) -> None:
    """With the flag to use, whichever of the two servers it is."""
    write(file, config_text(simulator.url))
    taken = simulator.url.removeprefix("http://")
    with pytest.raises(ListenError, match=r"choose another with --web\.listen-address"):
        await run("serve", f"--config.file={file}", f"--web.listen-address={taken}")
    with pytest.raises(ListenError, match=r"choose another with --simulator\.listen-address"):
        await run("simulate", f"--simulator.listen-address={taken}")


async def test_the_demo_prints_where_it_is(
    start: Starter, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each address can be opened; nothing that is printed is a secret."""
    running = await start("demo", "--simulator.nodes=8", "--simulator.speed=0")
    printed = capsys.readouterr().out
    assert f"{running.url}/\n" in printed
    assert f"{running.url}/metrics\n" in printed
    await running.until("/-/ready", 200)
    async with aiohttp.ClientSession() as session:
        for url in re.findall(r"http://[^ \n]+", printed):
            async with session.get(url) as response:
                assert response.status == 200
    assert (await running.end(signal.SIGINT))[0] == 0


async def test_the_simulator_prints_how_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Addresses and credentials are ready for an environment."""
    argv = ["--simulator.listen-address=127.0.0.1:0", "--simulator.nodes=4"]
    task = asyncio.ensure_future(run("simulate", *argv))
    printed = ""
    async with asyncio.timeout(5):
        while "NCP_API_KEY" not in printed:
            await asyncio.sleep(0)
            printed += capsys.readouterr().out
    await settle()
    environment = dict(line.split("=", 1) for line in printed.splitlines())
    os.kill(os.getpid(), signal.SIGHUP)  # there is nothing to reload
    await settle()
    assert {"SIMULATOR_URL", "SCP_ENDPOINT", "SCP_SECRET_KEY", "NCP_SECRET_KEY"} <= set(environment)
    url = environment["SIMULATOR_URL"] + "/_truth"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status == 200
    os.kill(os.getpid(), signal.SIGTERM)
    assert await asyncio.wait_for(task, 5) == 0


async def test_once_prints_the_page(
    simulator: Simulator, file: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Without what is only true of this process, and nothing else on standard output."""
    write(file, config_text(simulator.url))
    with redirected() as output:
        assert await run("once", f"--config.file={file}") == 0
    page = output.getvalue()
    assert page.startswith(b"# HELP ")
    assert len(values(page, "gpu_cluster_exporter_target_up")) == 15
    assert set(values(page, "gpu_cluster_exporter_target_up")) == {1.0}
    assert not [line for line in samples(page) if line.startswith(("process_", "python_info"))]
    assert capfdbinary.readouterr().out == b""


@contextlib.contextmanager
def redirected() -> Iterator[io.BytesIO]:
    """Give what is written to standard output's buffer."""
    raw = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(raw, write_through=True)) as wrapper:
        yield raw
        wrapper.flush()
        wrapper.detach()


async def test_once_says_which_target_failed(
    simulator: Simulator, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And why, and what to do; the page is printed all the same, and the exit code is 2."""
    simulator.faults.add(Refuse(region="kr-east1", path="/v1/gpu-nodes$"))
    write(file, config_text(simulator.url))
    with redirected() as output:
        assert await run("once", f"--config.file={file}") == 2
    page = output.getvalue()
    labels = {"region": "kr-east1", "collector": "gpu_nodes"}
    assert value(page, "gpu_cluster_exporter_target_up", **labels) == 0.0
    assert value(page, "gpu_cluster_exporter_poll_failures_total", reason="auth", **labels) == 1.0
    assert values(page, "scp_gpu_nodes", region="kr-west1")
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("scp/prod/e/kr-east1/gpu_nodes: auth: HTTP 401: ")
    assert "-> check scp[0].access_key_env, scp[0].secret_key_env: " in line


async def test_a_probe_prints_a_table(
    simulator: Simulator, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of every target, and below it a line for each that failed; exit code 0, or 2."""
    write(file, config_text(simulator.url))
    assert await run("check", "--probe", f"--config.file={file}") == 0
    good, header, *targets = capsys.readouterr().out.splitlines()
    assert good == f"{file}: good"
    assert header.split() == ["target", "status", "latency", "rows"]
    assert len(targets) == 15
    assert {line.split()[1] for line in targets} == {"ok"}
    simulator.faults.add(Refuse(region="kr-east1", path="/v1/gpu-nodes$"))
    assert await run("check", "--probe", f"--config.file={file}") == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 18
    assert lines[-1].startswith("scp/prod/e/kr-east1/gpu_nodes: auth: ")


async def test_a_probe_of_a_bad_configuration_asks_nobody(
    simulator: Simulator, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its faults are told, and the exit code is 1."""
    write(file, config_text(simulator.url) + "unknown: 1\n")
    assert await run("check", "--probe", f"--config.file={file}") == 1
    assert capsys.readouterr().out == ""
    assert not simulator.requests


async def test_a_bundle_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each file is named that was; what is in the way is told in one line."""
    assert await run("bundle", str(tmp_path / "new")) == 0
    printed = capsys.readouterr().out.splitlines()
    assert sorted(map(str, (tmp_path / "new").rglob("*.*"))) == sorted(printed)
    assert printed
    (tmp_path / "file").write_text("")
    assert await asyncio.to_thread(cli.main, ["bundle", str(tmp_path / "file")]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("gpu-cluster-exporter: ")


async def test_a_healthcheck_asks_the_daemon(
    start: Starter, simulator: Simulator, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0 with what it says, 1 where it is not so."""
    simulator.faults.add(Hang())
    write(file, config_text(simulator.url))
    running = await start("serve", f"--config.file={file}")
    assert await run("healthcheck", f"--url={running.url}") == 0
    assert capsys.readouterr().out == "healthy\n"
    assert await run("healthcheck", f"--url={running.url}", "--ready") == 1
    assert "first polls" in capsys.readouterr().err
    await running.end(signal.SIGTERM)


async def test_no_output_of_a_failing_daemon_has_a_secret(  # noqa: PLR0917 - fixtures
    start: Starter,
    simulator: Simulator,
    file: Path,
    log: io.StringIO,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the log nor a page, while everything is refused, and a defect is met on the way."""
    wrong = {name: f"{name.lower()}-made/up+wrong==" for name in simulator.credentials}
    for name, key in wrong.items():
        monkeypatch.setenv(name, key)
    redactor = logs.Redactor()
    logs.configure("debug", "json", redactor, log)
    monkeypatch.setattr("exporter.logs.Redactor", lambda: redactor)
    echo = f"refused: {wrong['SCP_SECRET_KEY']} {wrong['NCP_API_KEY']}"
    simulator.faults.add(Status(status=401, body=echo, path="/v1/cluster-fabrics"))

    async def broken(*_: object) -> None:
        raise RuntimeError(f"a defect that tells {wrong['NCP_SECRET_KEY']}")

    monkeypatch.setattr(RunDirectory, "find", broken)
    write(file, config_text(simulator.url))
    running = await start("serve", f"--config.file={file}", "--web.enable-lifecycle")
    await running.until("/-/ready", 200)
    pages = [await running.ask(path) for path in ("/metrics", "/", "/-/healthy")]
    write(file, f"scp: {wrong['SCP_SECRET_KEY']}\n")
    pages.append(await running.ask("/-/reload", "POST"))
    assert (await running.end(signal.SIGTERM))[0] == 0
    shown = log.getvalue() + str(pages) + "".join(capfd.readouterr())
    assert "poll failed" in shown
    assert "RuntimeError: a defect that tells <secret>" in shown
    for secret in (*wrong.values(), *simulator.credentials.values()):
        assert secret not in shown


def test_a_bad_configuration_is_told_in_one_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the key path of the first fault, and how many more there are; exit code 1."""
    write(file, "scp: []\nunknown: 1\npolling: {interval: 0s}\n")
    for command in ("serve", "once"):
        assert cli.main([command, f"--config.file={file}"]) == 1
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"gpu-cluster-exporter: {file}: ")
        assert line.endswith(" more: run `check`)")


def test_a_configuration_that_is_missing_is_told(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is named."""
    assert cli.main([f"--config.file={file}"]) == 1
    error = capsys.readouterr().err
    assert error == f"gpu-cluster-exporter: {file}: cannot be read: No such file or directory\n"


def test_check_tells_each_fault_on_a_line_of_its_own(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its key path; exit code 1."""
    write(file, "scp: []\nunknown: 1\npolling: {interval: 0s}\n")
    assert cli.main(["check", f"--config.file={file}"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert any(line.startswith(f"{file}: polling.interval: ") for line in lines)


def test_check_says_that_a_file_is_good(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without asking any cloud."""
    for name in ("SCP_ACCESS_KEY", "SCP_SECRET_KEY"):
        monkeypatch.setenv(name, "made-up-key")
    write(file, config_text("http://127.0.0.1:9", nsml=False))
    assert cli.main(["check", f"--config.file={file}"]) == 0
    assert capsys.readouterr().out == f"{file}: good\n"


def test_check_reads_the_web_configuration_too(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faults of both files are told, each with its file; only without any the code is 0."""
    for name in ("SCP_ACCESS_KEY", "SCP_SECRET_KEY"):
        monkeypatch.setenv(name, "made-up-key")
    web_file = file.with_name("web.yml")
    argv = ["check", f"--config.file={file}", f"--web.config.file={web_file}"]
    write(file, config_text("http://127.0.0.1:9", nsml=False))
    write(web_file, "http_server_config: {headers: {X-Frame-Options: deny}}\n")
    assert cli.main(argv) == 0
    assert capsys.readouterr().out == f"{file}: good\n{web_file}: good\n"
    write(file, "unknown: 1\nscp: []\n")
    write(web_file, "unknown: 1\n")
    assert cli.main(argv) == 1
    *ours, webs = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f"{file}: ") for line in ours)
    assert webs.startswith(f"{web_file}: unknown: ")


async def test_a_bad_web_configuration_ends_the_daemon(simulator: Simulator, file: Path) -> None:
    """With its first fault, before anything listens."""
    write(file, config_text(simulator.url))
    web_file = file.with_name("web.yml")
    write(web_file, "unknown: 1\nanother: 2\n")
    with pytest.raises(cli.CommandError, match=r"web\.yml: .*\(and 1 more: run `check`\)$"):
        await run("serve", f"--config.file={file}", f"--web.config.file={web_file}")


def test_a_bad_address_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends the command with exit code 1, before anything runs."""
    assert cli.main(["simulate", "--simulator.listen-address=here"]) == 1
    assert capsys.readouterr().err == (
        "gpu-cluster-exporter: not an address of the form host:port: 'here'\n"
    )


def test_a_healthcheck_of_nobody_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the reason on standard error."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert cli.main(["healthcheck", f"--url={url}"]) == 1
    assert "refused" in capsys.readouterr().err


def test_an_interrupt_ends_a_command_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    """With the exit code that shells expect of it."""

    async def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "COMMANDS", {"once": interrupted})
    assert cli.main(["once", f"--config.file={file}"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("address", "url"),
    [
        (("0.0.0.0", 1), "http://localhost:1"),  # noqa: S104 - shown, not listened on
        (("::", 1), "http://localhost:1"),
        (("::1", 1), "http://[::1]:1"),
        (("192.0.2.7", 80), "http://192.0.2.7:80"),
    ],
)
def test_addresses_are_shown_as_one_opens_them(address: tuple[str, int], url: str) -> None:
    """Every interface is this machine too, and IPv6 stands in brackets."""
    assert cli._url("http", *address) == url
