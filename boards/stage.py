"""A stage for the dashboards: simulated clouds, two replicas of the exporter, a Prometheus.

One replica writes all states of an object and the other only the present one, so that the
dashboards are seen with both.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.processes import Running, running
from boards.prometheus import Prometheus
from exporter.simulator.server import Simulator

REPLICAS = ("all", "current")
SCRAPE_SECONDS = 2
"""So often are the clouds polled and the exporters scraped, unless told otherwise."""

JOB = "gpu-cluster-exporter"
_PATIENCE_SECONDS = 120.0
_PAUSE_SECONDS = 0.2
_ACCOUNT = """\
  - account: {environment}-prod
    environment: {environment}
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    credentials_expire: 2099-01-31
    endpoint: {url}/scp/{{environment}}/{{region}}
"""
_CONFIG = """\
polling: {{interval: {pace}s, catalog_interval: 30s, requests_per_second: 10000}}
metrics: {{state_series: {states}}}
scp:
{accounts}nsml:
  - account: research
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
    polling: {{interval: {pace}s, requests_per_second: 10000}}
"""
_SCRAPING = """\
global: {{scrape_interval: {pace}s, scrape_timeout: {pace}s, evaluation_interval: {pace}s}}
rule_files: [rules.yml]
scrape_configs:
  - job_name: {job}
    honor_labels: true
    static_configs: [{{targets: [{targets}]}}]
"""
# In the place of the real rules, so that the annotations have something to show.
_RULES = """\
groups:
  - name: nodes
    rules:
      - alert: ScpGpuNodeFailed
        expr: max without (instance) (scp_gpu_node_info * on (instance, gpu_node_id) group_left ()
          (scp_gpu_node_state{state="ERROR"} == 1))
        labels: {severity: critical, provider: scp}
"""


@dataclass(frozen=True, slots=True)
class Stage:
    """What runs: the simulator, to be drilled; the exporters; the Prometheus, to be asked."""

    simulator: Simulator
    exporters: Sequence[Running]
    prometheus: Prometheus

    async def until(self, expr: str, at_least: int) -> None:
        """Wait until an expression has so many results."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while len(await self.prometheus.instant(expr, self.now)) < at_least:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(_PAUSE_SECONDS)

    @property
    def now(self) -> float:
        """The Unix time on the stage."""
        return self.simulator.timeline.clock()


@asynccontextmanager
async def stage(
    directory: Path, simulator: Simulator, prometheus: str, pace: int = SCRAPE_SECONDS
) -> AsyncIterator[Stage]:
    """Run it all in a directory, `prometheus` being the program's path, until the block ends."""
    async with simulator, aiohttp.ClientSession() as session:
        with _exporters(directory, simulator, pace) as exporters:
            ports = await asyncio.to_thread(lambda: [one.port for one in exporters])
            with _scraper(directory, prometheus, ports, pace) as process:
                await asyncio.to_thread(process.wait_until_ready)
                up = Stage(simulator, exporters, Prometheus(process.url, session))
                await up.until("up == 1", len(REPLICAS))
                await up.until("nsml_run_node_state == 1", 1)
                yield up


@contextmanager
def _exporters(directory: Path, simulator: Simulator, pace: int) -> Iterator[list[Running]]:
    environ = os.environ | simulator.credentials
    first, second = (
        running(_exporter(directory, simulator, states, pace), environ) for states in REPLICAS
    )
    with first as one, second as other:
        yield [one, other]


def _exporter(directory: Path, simulator: Simulator, states: str, pace: int) -> list[str]:
    url, environments = simulator.url, sorted({p.environment for p in simulator.world.regions})
    accounts = "".join(_ACCOUNT.format(environment=each, url=url) for each in environments)
    config = directory / f"{states}.yml"
    config.write_text(_CONFIG.format(states=states, accounts=accounts, url=url, pace=pace))
    exporter = [sys.executable, "-m", "exporter", "serve", f"--config.file={config}"]
    return [*exporter, "--web.listen-address=127.0.0.1:0", "--log.level=error"]


@contextmanager
def _scraper(directory: Path, program: str, ports: list[int], pace: int) -> Iterator[Running]:
    targets = ", ".join(f'"127.0.0.1:{port}"' for port in ports)
    config = directory / "prometheus.yml"
    config.write_text(_SCRAPING.format(pace=pace, job=JOB, targets=targets))
    (directory / "rules.yml").write_text(_RULES)
    command = [
        program,
        f"--config.file={config}",
        "--web.listen-address=127.0.0.1:0",
        f"--storage.tsdb.path={directory / 'data'}",
    ]
    with running(command, None, directory) as process:
        yield process
