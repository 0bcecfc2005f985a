"""Whole processes over real sockets, as they run in the field."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from exporter.config import ENVIRONMENTS
from tests.simulated import config_text, samples, value, values, write

pytestmark = pytest.mark.slow

PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.05  # between two questions to another process
EXPORTER = (sys.executable, "-m", "exporter")
OPENMETRICS = "application/openmetrics-text;version=1.0.0"


class Program:
    """A process of another program, and all that it has said so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""
        self._said = asyncio.Event()
        streams = (process.stdout, process.stderr)
        self._readers = [asyncio.ensure_future(self._read(each)) for each in streams if each]

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(65536):
            self.output += chunk.decode("utf-8", "replace")
            self._said.set()

    async def says(self, pattern: str) -> re.Match[str]:
        """Wait until it has said what a pattern matches."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (found := re.search(pattern, self.output)):
                self._said.clear()
                assert self.process.returncode is None, self.output
                await self._said.wait()
        return found

    async def ends(self) -> int:
        """Wait until it has ended by itself; return its exit code."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*self._readers)
            return await self.process.wait()

    async def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Send it a signal; return its exit code, and the seconds that it took."""
        began = time.monotonic()
        self.process.send_signal(number)
        return await self.ends(), time.monotonic() - began

    async def kill(self) -> None:
        """End it, if it still runs."""
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        await self.ends()


Launch = Callable[..., Awaitable[Program]]


@pytest.fixture
async def launch() -> AsyncIterator[Launch]:
    """Give what starts a process, with some variables more in its environment."""
    programs: list[Program] = []

    async def start(*command: str, environ: Mapping[str, str] | None = None) -> Program:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environ or {})},
        )
        programs.append(Program(process))
        return programs[-1]

    yield start
    for program in reversed(programs):
        await program.kill()


async def get(url: str, **headers: str) -> bytes:
    """Return what an address answers with 200; empty where it answers otherwise."""
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as response:
        return await response.read() if response.status == 200 else b""


async def answer(
    url: str, good: Callable[[bytes], object], seconds: float = PATIENCE_SECONDS
) -> bytes:
    """Ask an address until the answer is good, for so many seconds; return the last one."""
    body = b""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not good(body := await get(url)):  # noqa: ASYNC110 - another process
                await asyncio.sleep(PAUSE_SECONDS)
    return body


def seen_pairs(page: bytes) -> set[tuple[str, str]]:
    """Return the pairs of environment and region that a page has GPU nodes of."""
    lines = [line for line in samples(page) if line.startswith("scp_gpu_node_info{")]
    found = (re.search(r'environment="(\w)".*region="([\w-]+)"', line) for line in lines)
    return {(match[1], match[2]) for match in found if match}


ALL_PAIRS = {(name, region) for name, regions in ENVIRONMENTS.items() for region in regions}


async def demo(launch: Launch) -> tuple[Program, str]:
    """Start the demo; return it with its address."""
    program = await launch(*EXPORTER, "demo", "--web.listen-address=127.0.0.1:0")
    return program, (await program.says(r"metrics +(http://[\d.:]+)/metrics"))[1]


async def test_the_demo_shows_all_its_clouds_within_seconds(launch: Launch) -> None:
    """Nodes of all seven pairs, and the nodes of runs, five seconds after the addresses."""
    program, url = await demo(launch)

    def whole(page: bytes) -> bool:
        return seen_pairs(page) == ALL_PAIRS and bool(values(page, "nsml_run_node_info"))

    page = await answer(f"{url}/metrics", whole, seconds=5)
    assert seen_pairs(page) == ALL_PAIRS
    assert values(page, "nsml_run_node_info")
    assert "Stop with Ctrl-C" in program.output
    code, seconds = await program.end(signal.SIGINT)
    assert code == 0
    assert seconds < 5
    assert "Traceback" not in program.output


@contextlib.asynccontextmanager
async def text_only(url: str) -> AsyncIterator[str]:
    """Give the address of a proxy behind which a scraper does not ask for OpenMetrics."""

    async def forward(_: web.Request) -> web.Response:
        body = await get(f"{url}/metrics", Accept="text/plain;version=0.0.4")
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4"})

    application = web.Application()
    application.router.add_get("/metrics", forward)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def prometheus_yml(**urls: str) -> str:
    """Write a configuration that scrapes each address every second."""
    jobs = [
        {
            "job_name": name,
            "honor_labels": True,
            "static_configs": [{"targets": [url.removeprefix("http://")]}],
        }
        for name, url in urls.items()
    ]
    return json.dumps({"global": {"scrape_interval": "1s"}, "scrape_configs": jobs})


class Prometheus:
    """A Prometheus that runs."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def api(self, path: str, **parameters: str) -> Any:  # noqa: ANN401 - JSON
        """Return the data of an answer of its API."""
        url = f"{self.url}/api/v1/{path}"
        async with (
            aiohttp.ClientSession() as session,
            session.get(url, params=parameters) as response,
        ):
            return (await response.json())["data"]

    async def number(self, query: str) -> float | None:
        """Return the value of a query that gives one sample, or None."""
        result = (await self.api("query", query=query))["result"]
        return float(result[0]["value"][1]) if result else None

    async def is_number(self, query: str, wanted: float) -> bool:
        """Ask until a query gives a number; return whether it did in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(15):
                while await self.number(query) != wanted:  # noqa: ASYNC110 - the same
                    await asyncio.sleep(PAUSE_SECONDS)
                return True
        return False


async def start_prometheus(launch: Launch, tool: str, directory: Path, **urls: str) -> Prometheus:
    """Start a Prometheus with data of its own."""
    file = directory / "prometheus.yml"
    write(file, prometheus_yml(**urls))
    program = await launch(
        tool,
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'data'}",
        "--web.listen-address=127.0.0.1:0",
    )
    address = await program.says(r'"Listening on" address=(127\.0\.0\.1:[1-9]\d*)')
    await program.says("Server is ready")
    return Prometheus(f"http://{address[1]}")


@pytest.mark.tool("prometheus")
async def test_prometheus_takes_every_sample(launch: Launch, tool: str, tmp_path: Path) -> None:
    """In both formats: up, no error, and as many samples as the page has."""
    _, url = await demo(launch)
    assert await answer(f"{url}/-/ready", bool)
    async with text_only(url) as proxy:
        prometheus = await start_prometheus(launch, tool, tmp_path, both=url, text=proxy)
        for job, accept in (("both", OPENMETRICS), ("text", "text/plain")):
            count = len(samples(await get(f"{url}/metrics", Accept=accept)))
            assert count > 3000
            labels = f'{{job="{job}"}}'
            assert await prometheus.is_number(f"up{labels}", 1)
            assert await prometheus.is_number(f"scrape_samples_scraped{labels}", count)
            told = f"gpu_cluster_exporter_exposition_samples{labels}"
            assert await prometheus.is_number(told, count)
            own = f'count({{job="{job}",__name__!~"up|scrape_.*"}})'
            assert await prometheus.is_number(own, count)
            assert await prometheus.is_number(f"count(scp_gpu_node_info{labels})", 64)
        targets = (await prometheus.api("targets"))["activeTargets"]
        assert [target["lastError"] for target in targets] == ["", ""]
        assert await prometheus.number("count(ALERTS) or vector(0)") == 0


async def simulate(launch: Launch) -> tuple[str, dict[str, str]]:
    """Start the simulated clouds; return their address and what they accept."""
    argv = ("--simulator.listen-address=127.0.0.1:0", "--simulator.nodes=16")
    program = await launch(*EXPORTER, "simulate", *argv)
    await program.says("NCP_API_KEY=.+\n")
    named = dict(line.split("=", 1) for line in program.output.splitlines() if "=" in line)
    url = named["SIMULATOR_URL"]
    return url, {name: key for name, key in named.items() if name.endswith("_KEY")}


async def post(url: str, document: object) -> None:
    """Send a document."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json=document) as response,
    ):
        assert response.status < 300, await response.text()


async def serve(
    launch: Launch, file: Path, environ: Mapping[str, str], *argv: str
) -> tuple[Program, str]:
    """Start the daemon; return it with its address."""
    flags = (f"--config.file={file}", "--web.listen-address=127.0.0.1:0", *argv)
    program = await launch(*EXPORTER, "serve", *flags, environ=environ)
    return program, (await program.says(r"addresses=(http://[\d.:]+)"))[1]


@pytest.fixture
def closed_port() -> int:
    """Give a port that nobody listens on, and nobody will."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def more_accounts(url: str, closed_port: int) -> str:
    """Write an account with a wrong secret, and one whose endpoint nobody answers at."""
    wrong = config_text(url, account="wrong", regions=["kr-west1"], nsml=False)
    nowhere = config_text(
        f"http://127.0.0.1:{closed_port}", account="nowhere", regions=["kr-west1"], nsml=False
    )
    accounts = [text.partition("scp:\n")[2] for text in (wrong, nowhere)]
    accounts[0] = accounts[0].replace("SCP_SECRET_KEY", "WRONG_SECRET_KEY")
    return "".join(accounts)


def shown_command(program: Program) -> str:
    """Return what the process list shows of a program."""
    return Path(f"/proc/{program.process.pid}/cmdline").read_bytes().decode()


async def test_what_is_wrong_with_one_account_leaves_the_others_alone(
    launch: Launch, tmp_path: Path, closed_port: int
) -> None:
    """A line in the log, a metric, and no secret anywhere; the rest goes on."""
    url, keys = await simulate(launch)
    environ = {**keys, "WRONG_SECRET_KEY": "made-up-wrong-secret-key"}
    file = tmp_path / "exporter.yml"
    scp, _, nsml = config_text(url).partition("nsml:\n")
    write(file, scp + more_accounts(url, closed_port) + "nsml:\n" + nsml)
    program, address = await serve(launch, file, environ, "--log.level=debug")
    assert await answer(f"{address}/-/ready", bool)
    page = await get(f"{address}/metrics")
    labels = {"region": "kr-west1", "collector": "gpu_nodes"}
    for account, up in (("prod", 1.0), ("wrong", 0.0), ("nowhere", 0.0)):
        assert value(page, "gpu_cluster_exporter_target_up", account=account, **labels) == up
    failures = "gpu_cluster_exporter_poll_failures_total"
    # The moment of a target's phase may come soon after the start: then it has failed twice.
    assert min(values(page, failures, account="wrong", reason="auth", **labels)) >= 1.0
    assert min(values(page, failures, account="nowhere", reason="connection", **labels)) >= 1.0
    assert values(page, "scp_gpu_node_info", account="prod")
    assert values(page, "nsml_run_info", account="research")
    for account, reason in (("wrong", "auth"), ("nowhere", "connection")):
        line = rf"level=warn .*account={account} .*collector=gpu_nodes.*"
        assert f"reason={reason}" in (await program.says(line))[0]
    command = shown_command(program)
    assert (await program.end())[0] == 0
    for secret in environ.values():
        assert secret not in program.output + command + page.decode()
    assert "Traceback" not in program.output


async def test_an_unknown_region_is_a_configuration_error(launch: Launch, tmp_path: Path) -> None:
    """One line with the key path, and exit code 1."""
    file = tmp_path / "exporter.yml"
    write(file, config_text("http://127.0.0.1:9", regions=["kr-west1", "kr-north9"], nsml=False))
    keys = {"SCP_ACCESS_KEY": "made-up-access-key", "SCP_SECRET_KEY": "made-up-secret-key"}
    program = await launch(*EXPORTER, f"--config.file={file}", environ=keys)
    assert await program.ends() == 1
    [line] = program.output.splitlines()
    assert line.startswith(f"gpu-cluster-exporter: {file}: scp[0].regions[1]: unknown region")
    assert "kr-north9" in line


async def test_a_hanging_cloud_does_not_hold_up_the_end(launch: Launch, tmp_path: Path) -> None:
    """SIGTERM ends the process within five seconds, with exit code 0 and no complaint."""
    url, keys = await simulate(launch)
    await post(f"{url}/_faults", {"kind": "hang"})
    file = tmp_path / "exporter.yml"
    write(file, config_text(url))
    program, address = await serve(launch, file, keys)
    assert values(await get(f"{address}/metrics"), "gpu_cluster_exporter_target_up")
    code, seconds = await program.end()
    assert code == 0
    assert seconds < 5
    assert "Traceback" not in program.output
    assert "never awaited" not in program.output


def contains(line: bytes, page: bytes) -> bool:
    """Return whether a page has a line."""
    return line in page


async def test_a_broken_file_and_a_hangup_leave_the_old_configuration(
    launch: Launch, tmp_path: Path
) -> None:
    """The daemon runs on and says that its last reload failed; a good file mends that."""
    url, keys = await simulate(launch)
    file = tmp_path / "exporter.yml"
    good = config_text(url)
    write(file, good)
    program, address = await serve(launch, file, keys)
    assert await answer(f"{address}/-/ready", bool)
    name = "gpu_cluster_exporter_config_last_reload_successful"
    for text, successful in (("scp: [\n", 0.0), (good, 1.0)):
        write(file, text)
        program.process.send_signal(signal.SIGHUP)
        line = f"{name} {successful}\n".encode()
        page = await answer(f"{address}/metrics", partial(contains, line))
        assert value(page, name) == successful
        assert len(values(page, "gpu_cluster_exporter_target_up")) == 15
    assert (await program.end())[0] == 0


async def test_once_is_good_for_a_cron_job(launch: Launch, tmp_path: Path) -> None:
    """The page on standard output, and the exit code says whether all went well."""
    url, keys = await simulate(launch)
    file = tmp_path / "exporter.yml"
    write(file, config_text(url))
    program = await launch(*EXPORTER, "once", f"--config.file={file}", environ=keys)
    assert await program.ends() == 0
    assert values(program.output.encode(), "scp_gpu_node_info")
    await post(f"{url}/_faults", {"kind": "refuse", "reason": "forbidden", "cloud": "nsml"})
    program = await launch(*EXPORTER, "once", f"--config.file={file}", environ=keys)
    assert await program.ends() == 2
    assert "nsml/research/projects: forbidden: HTTP 403" in program.output
