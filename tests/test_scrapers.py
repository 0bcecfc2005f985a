"""Two scrapers, and two readers of gzip, on a page of 10,000 nodes.

The page is gzipped in pieces that were compressed one by one; a scraper that reads only
the first of them would find fewer samples, or none.
"""

import asyncio
import gzip
import json
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aiohttp
import pytest
import pytest_asyncio

from benchmarks.processes import Running, running
from exporter.app import Application
from exporter.config import Config
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from exporter.web.listening import listen
from exporter.web.server import Options, Server
from tests.simulated import value

T = TypeVar("T")

pytestmark = [pytest.mark.scale, pytest.mark.asyncio(loop_scope="module")]

NODES = 10_000
PLACE = Place("e", "kr-west1")
VICTORIA_METRICS_LIMIT = 16 * 2**20
PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.5
SCRAPING = """\
global: {scrape_interval: 10s, scrape_timeout: 10s}
scrape_configs:
  - job_name: exporter
    static_configs: [{targets: ["TARGET"]}]
"""
# What a scraper adds to what it read.
OF_THE_SCRAPER = "up|scrape_.*"
STORED = f'count({{job="exporter",__name__!~"{OF_THE_SCRAPER}"}})'


@dataclass
class Exporter:
    """An exporter that polled once, and what it serves."""

    address: str
    plain: bytes
    gzipped: bytes

    @property
    def samples(self) -> int:
        """The number of samples of the page."""
        return sum(not line.startswith(b"#") for line in self.plain.splitlines())


def _config(simulator: Simulator) -> Config:
    account = {
        "account": "prod",
        "environment": PLACE.environment,
        "regions": (PLACE.region,),
        "endpoint": simulator.url + "/scp/{environment}/{region}",
        "access_key": {"value": simulator.credentials["SCP_ACCESS_KEY"]},
        "secret_key": {"value": simulator.credentials["SCP_SECRET_KEY"]},
        "polling": {"requests_per_second": 1e6},
    }
    return Config.model_validate({"scp": (account,)})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def exporter() -> AsyncIterator[Exporter]:
    """Give an exporter on a large fleet."""
    async with Application(environ={}) as application:
        async with Simulator(NODES, seed=1, speed=0, alive=False, places=(PLACE,)) as simulator:
            await application.apply(_config(simulator), loops=False)
            assert await application.poll_once()
        options = Options(["127.0.0.1:0"])
        runner = await listen(Server(application, options).web_application(), options.addresses)
        host, port = runner.addresses[0][:2]
        try:
            url = f"http://{host}:{port}/metrics"
            plain = await _get(url)
            gzipped = await _get(url, "gzip")
            yield Exporter(f"{host}:{port}", plain, gzipped)
        finally:
            await runner.cleanup()


async def _get(url: str, encoding: str = "identity") -> bytes:
    headers = {"Accept-Encoding": encoding}
    async with (
        aiohttp.ClientSession(auto_decompress=False) as session,
        session.get(url, headers=headers) as response,
    ):
        assert response.status == 200, await response.text()
        return await response.read()


@asynccontextmanager
async def scraping(command: list[str], exporter: Exporter, path: Path) -> AsyncIterator[Running]:
    """Run a scraper of the exporter in a directory of its own."""
    config = path / "scrape.yml"
    config.write_text(SCRAPING.replace("TARGET", exporter.address))
    with running([part.replace("CONFIG", str(config)) for part in command], None, path) as process:
        await asyncio.to_thread(process.wait_until_ready)
        yield process


def prometheus(tool: str, path: Path) -> list[str]:
    """Return the command of a Prometheus."""
    return [
        tool,
        "--config.file=CONFIG",
        "--web.listen-address=127.0.0.1:0",
        f"--storage.tsdb.path={path / 'data'}",
    ]


def victoria_metrics(tool: str, path: Path, *more: str) -> list[str]:
    """Return the command of a VictoriaMetrics."""
    return [
        tool,
        "-promscrape.config=CONFIG",
        "-httpListenAddr=127.0.0.1:0",
        f"-storageDataPath={path / 'data'}",
        "-search.latencyOffset=0s",
        "-search.disableCache",
        "-memory.allowedBytes=512MB",
        *more,
    ]


async def value_of(process: Running, query: str) -> float | None:
    """Return what a query gives, or None where it gives nothing."""
    url = f"{process.url}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    result = json.loads(await _get(url))["data"]["result"]
    return float(result[0]["value"][1]) if result else None


async def told(ask: Callable[[], Awaitable[T | None]]) -> T:
    """Return the first answer that is one: a scraper does not tell when it has scraped."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            answer = await ask()
            if answer is not None:
                return answer
            await asyncio.sleep(PAUSE_SECONDS)


async def refusal(process: Running) -> str | None:
    """Return what VictoriaMetrics wrote when it would not take the page."""
    lines = process.output().splitlines()
    return next((line for line in lines if "cannot scrape" in line), None)


async def scraped_and_stored(process: Running) -> tuple[float, float]:
    """Return how many samples the scraper says it read, and how many it stored."""
    return (
        await told(lambda: value_of(process, "scrape_samples_scraped > 0")),
        await told(lambda: value_of(process, STORED)),
    )


@pytest.mark.tool("prometheus")
async def test_prometheus_stores_every_sample(
    tool: str, exporter: Exporter, tmp_path: Path
) -> None:
    """What Prometheus counts at the scrape and what it stored is what the page holds."""
    async with scraping(prometheus(tool, tmp_path), exporter, tmp_path) as process:
        assert await scraped_and_stored(process) == (exporter.samples, exporter.samples)


@pytest.mark.tool("victoria-metrics")
async def test_victoria_metrics_stores_every_sample(
    tool: str, exporter: Exporter, tmp_path: Path
) -> None:
    """With its limit raised, VictoriaMetrics counts and stores what the page holds."""
    command = victoria_metrics(tool, tmp_path, "-promscrape.maxScrapeSize=256MB")
    async with scraping(command, exporter, tmp_path) as process:
        assert await scraped_and_stored(process) == (exporter.samples, exporter.samples)


@pytest.mark.tool("victoria-metrics")
async def test_victoria_metrics_refuses_a_page_beyond_its_limit(
    tool: str, exporter: Exporter, tmp_path: Path
) -> None:
    """As it comes it takes no page of more than 16 MiB: the size is told by the page itself."""
    # The gauge tells of the page before, which was this one, not compressed.
    size = value(gzip.decompress(exporter.gzipped), "gpu_cluster_exporter_exposition_bytes")
    assert size == len(exporter.plain) > VICTORIA_METRICS_LIMIT
    async with scraping(victoria_metrics(tool, tmp_path), exporter, tmp_path) as process:
        assert "exceeds -promscrape.maxScrapeSize" in await told(lambda: refusal(process))
        assert await told(lambda: value_of(process, "up")) == 0.0
        # Some releases keep what they read before they gave up.
        assert (await value_of(process, "scrape_samples_scraped") or 0.0) < exporter.samples


@pytest.mark.tool("curl")
async def test_curl_reads_the_gzipped_page_whole(
    tool: str, exporter: Exporter, tmp_path: Path
) -> None:
    """To curl the joined pieces are one stream, with a checksum that is right."""
    page = tmp_path / "page"
    url = f"http://{exporter.address}/metrics"
    command = [tool, "--silent", "--fail", "--compressed", "--output", str(page), url]
    curl = await asyncio.create_subprocess_exec(*command)
    assert await curl.wait() == 0
    assert names(page.read_bytes()) == names(exporter.plain)


async def test_python_reads_the_gzipped_page_whole(exporter: Exporter) -> None:
    """Python's gzip, which checks size and checksum, finds the same samples."""
    assert names(gzip.decompress(exporter.gzipped)) == names(exporter.plain)


def names(page: bytes) -> list[bytes]:
    """Return a page without the values, for those of the process differ between two scrapes."""
    return [line.rpartition(b" ")[0] for line in page.splitlines()]
