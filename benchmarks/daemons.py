"""The programs that are measured, each as a process of its own."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.processes import Running, running
from benchmarks.scrapes import ready, wait_until

SECRETS = {
    "SCP_ACCESS_KEY": "made-up",
    "SCP_SECRET_KEY": "made-up",
}
_ONE_REGION = """\
polling: {{interval: 1h, catalog_interval: 1h, timeout: 60s, requests_per_second: 100000}}
metrics: {{state_series: {series}}}
scp:
  - account: bench
    environment: e
    regions: [kr-west1]
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    endpoint: {url}/scp/{{environment}}/{{region}}
"""


@contextlib.contextmanager
def cloud(fleet: Path, change: str) -> Iterator[str]:
    """Run a cloud that answers with a saved fleet; gives its address."""
    with running([sys.executable, "-m", "benchmarks.cloud", str(fleet), change]) as process:
        yield process.url


@contextlib.contextmanager
def exporter(config: Path, secrets: Mapping[str, str] = SECRETS) -> Iterator[Running]:
    """Run the exporter on a configuration, from before its first polls."""
    listen = "--web.listen-address=127.0.0.1:0"
    command = [sys.executable, "-m", "exporter", "serve", f"--config.file={config}", listen]
    with running(command, {**os.environ, **secrets}) as process:
        yield process


@contextlib.contextmanager
def polled_exporter(directory: Path, cloud_url: str, series: str = "all") -> Iterator[Running]:
    """Run the exporter on one region, when its first polls have ended."""
    config = one_region(directory, cloud_url, series)
    with exporter(config) as process:
        wait_until(lambda: ready(process.port))
        yield process


@contextlib.contextmanager
def probed(directory: Path, cloud_url: str) -> Iterator[Running]:
    """Run the exporter with a probe in its event loop."""
    config = one_region(directory, cloud_url)
    command = [sys.executable, "-m", "benchmarks.probed", str(config)]
    with running(command, {**os.environ, **SECRETS}) as process:
        wait_until(lambda: ready(process.port))
        yield process


def one_region(directory: Path, url: str, series: str = "all") -> Path:
    """Write a configuration of one region."""
    path = directory / "gpu-cluster-exporter.yml"
    path.write_text(_ONE_REGION.format(series=series, url=url))
    return path


@contextlib.contextmanager
def bare(directory: Path, plain: bytes, gzipped: bytes) -> Iterator[Running]:
    """Run the bare handler with a page."""
    files = [directory / "plain", directory / "gzipped"]
    for path, page in zip(files, (plain, gzipped), strict=True):
        path.write_bytes(page)
    with running([sys.executable, "-m", "benchmarks.bare", *map(str, files)]) as process:
        yield process


@contextlib.contextmanager
def pushgateway(program: str) -> Iterator[Running]:
    """Run Pushgateway, empty."""
    with running([program, "--web.listen-address=127.0.0.1:0"]) as process:
        yield process
