"""Prometheus and Alertmanager on loopback, with the configurations that the project ships.

What is changed in those for a test is changed here: addresses, and the pace.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from benchmarks.processes import Running, running
from tests.alerts.pace import faster

ROOT = Path(__file__).parent.parent.parent
DEPLOY = ROOT / "deploy"
_TIMES = ("group_wait", "group_interval", "repeat_interval")

Document = Any  # YAML or JSON


def shipped(name: str) -> Document:
    """Read one of the example configurations."""
    return yaml.safe_load((DEPLOY / name).read_text())


def alertmanager_config(url_of: Callable[[str], str], times: float = 1.0) -> Document:
    """Return the example, each receiver a webhook of its own, so many times as fast."""
    config = shipped("alertmanager.yml")
    config["route"] = _hurried(config["route"], times)
    for receiver in config["receivers"]:
        receiver["webhook_configs"] = [{"url": url_of(receiver["name"]), "send_resolved": True}]
    return config


def _hurried(route: Document, times: float) -> Document:
    """Return a route and those below it, so many times as fast."""
    changed = {key: faster(route[key], times) for key in _TIMES if key in route}
    below = [_hurried(each, times) for each in route.get("routes", [])]
    return {**route, **changed, "routes": below}


def prometheus_config(alertmanager: str, exporters: list[str], times: float = 1.0) -> Document:
    """Return the example with other addresses (host:port), so many times as fast."""
    config = shipped("prometheus.yml")
    for key in ("scrape_interval", "evaluation_interval"):
        config["global"][key] = faster(config["global"][key], times)
    config["global"]["scrape_timeout"] = config["global"]["scrape_interval"]
    config["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [alertmanager]}]}]
    [job] = config["scrape_configs"]
    job["static_configs"] = [{"targets": exporters}]
    return config


@asynccontextmanager
async def alertmanager(tool: str, directory: Path, config: Document) -> AsyncIterator["Server"]:
    """Run an Alertmanager in a directory of its own."""
    flags = (
        "--config.file=alertmanager.yml",
        "--storage.path=alertmanager-data",
        "--web.listen-address=127.0.0.1:0",
        "--cluster.listen-address=",
    )
    (directory / "alertmanager.yml").write_text(json.dumps(config))
    with running([tool, *flags], directory=directory) as process:
        yield await Server.of(process)


@asynccontextmanager
async def prometheus(
    tool: str, directory: Path, config: Document, times: float = 1.0
) -> AsyncIterator["Server"]:
    """Run a Prometheus in a directory that has the rules, so many times as fast."""
    flags = (
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=prometheus-data",
        "--web.listen-address=127.0.0.1:0",
        f"--query.lookback-delta={faster('5m', times)}",
        f"--rules.alert.resend-delay={faster('1m', times)}",
    )
    (directory / "prometheus.yml").write_text(json.dumps(config))
    with running([tool, *flags], directory=directory) as process:
        yield await Server.of(process)


class Server:
    """One of the two, and its API."""

    def __init__(self, process: Running, port: int) -> None:
        self.process = process
        self.address = f"127.0.0.1:{port}"
        self.url = f"http://{self.address}"

    @classmethod
    async def of(cls, process: Running) -> "Server":
        """Return the server that a process is, once it listens."""
        await asyncio.to_thread(process.wait_until_ready)
        return cls(process, process.port)

    async def get(self, path: str, **query: str) -> Document:
        """Return what it answers to a question."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(self.url + path, params=query) as response,
        ):
            return await response.json()

    async def post(self, path: str, document: Document) -> None:
        """Send it a document."""
        async with (
            aiohttp.ClientSession() as session,
            session.post(self.url + path, json=document) as response,
        ):
            assert response.status == 200, await response.text()

    async def result(self, query: str) -> Document:
        """Return what Prometheus answers to a query; a query that can't be answered is an error."""
        answer = await self.get("/api/v1/query", query=query)
        assert answer["status"] == "success", (query, answer)
        return answer["data"]["result"]
