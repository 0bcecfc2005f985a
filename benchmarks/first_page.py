"""How long a new exporter takes to its first full page: seven regions and some 40 runs.

The simulated clouds answer each request after a fixed delay, and the configuration opens
the limits, so that what is measured is how many answers have to wait for another.
"""

import json
import sys
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.daemons import exporter
from benchmarks.figures import Series
from benchmarks.processes import running
from benchmarks.scrapes import Scraper, ready, wait_until

_NODES = 2300
_ENVIRONMENTS = ("e", "g", "s")
_LIMITS = "requests_per_second: 100000, max_concurrent_requests: 1000"
_SCP = """\
  - account: bench-{environment}
    environment: {environment}
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    endpoint: {url}/scp/{{environment}}/{{region}}
"""
_NSML = """\
  - account: bench
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
    polling: {{interval: 1h, timeout: 60s, {limits}}}
"""
_UP = b"gpu_cluster_exporter_target_up{"
_ATTEMPT = b"gpu_cluster_exporter_target_last_attempt_timestamp_seconds{"


@dataclass(frozen=True, slots=True)
class FirstPages:
    """Seconds from the first request to the full page, in delays of an answer; and of what."""

    delays: Series
    nodes: int
    runs: int


@dataclass(frozen=True, slots=True)
class _Page:
    delays: float
    lines: Sequence[bytes]

    def count(self, name: str) -> int:
        return sum(line.startswith(name.encode() + b"{") for line in self.lines)


def measure(directory: Path, delay: float, runs: int) -> FirstPages:
    """Start the exporter so many times."""
    nodes = f"--simulator.nodes={_NODES}"
    listen = "--simulator.listen-address=127.0.0.1:0"
    command = [sys.executable, "-m", "exporter", "simulate", nodes, listen, "--simulator.speed=0"]
    with running(command) as simulator:
        url = simulator.url
        wait_until(lambda: "NCP_API_KEY=" in simulator.output())
        pairs = [line.partition("=") for line in simulator.output().splitlines() if "=" in line]
        _delay(url, delay)
        config = _config(directory, url)
        secrets = {name: value for name, _, value in pairs}
        pages = [_first_page(config, secrets, delay) for _ in range(runs)]
    last = pages[-1]
    nodes_and_runs = last.count("scp_gpu_node_info"), last.count("nsml_run_info")
    return FirstPages(Series([page.delays for page in pages]), *nodes_and_runs)


def _first_page(config: Path, secrets: dict[str, str], delay: float) -> _Page:
    with exporter(config, secrets) as process:
        wait_until(lambda: ready(process.port))
        then = time.time()
        with Scraper(process.port, "identity") as scraper:
            lines = scraper.scrape().body.splitlines()
    if any(line.startswith(_UP) and line.endswith(b" 0.0") for line in lines):
        raise RuntimeError("the first page is not whole")
    began = min(float(line.split()[-1]) for line in lines if line.startswith(_ATTEMPT))
    return _Page((then - began) / delay, lines)


def _config(directory: Path, url: str) -> Path:
    path = directory / "everything.yml"
    text = f"polling: {{interval: 1h, catalog_interval: 1h, timeout: 60s, {_LIMITS}}}\nscp:\n"
    text += "".join(_SCP.format(environment=each, url=url) for each in _ENVIRONMENTS)
    path.write_text(text + "nsml:\n" + _NSML.format(url=url, limits=_LIMITS))
    return path


def _delay(url: str, seconds: float) -> None:
    asked = urllib.request.Request(  # noqa: S310 - a loopback address
        url + "/_faults",
        data=json.dumps({"kind": "delay", "seconds": seconds}).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(asked, timeout=10.0) as response:  # noqa: S310
        response.read()
