"""All of it on loopback: clouds, exporter, Prometheus, Alertmanager, and who is paged."""

import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import yaml

from benchmarks.processes import running
from exporter.simulator.fleet import Fabric, Node, Place, Region
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.server import Simulator
from tests.alerts import servers
from tests.alerts.pace import faster, faster_rules
from tests.alerts.servers import Document, Server
from tests.alerts.webhook import Webhook
from tests.simulator.cloud_client import Client

TIMES = 10.0
"""So many times as fast as the defaults everything goes."""

WEST, EAST = Place("e", "kr-west1"), Place("e", "kr-east1")
NODES = 24


@dataclass(frozen=True)
class Programs:
    """Where the programs are that this needs beside Python."""

    prometheus: str
    alertmanager: str


@dataclass
class World:
    """The parts, and what a test asks of them."""

    simulator: Simulator
    client: Client
    exporter: str
    prometheus: Server
    alertmanager: Server
    webhook: Webhook

    async def drill(self, kind: str, **order: object) -> str:
        """Order a drill; return whom it hit."""
        reply = await self.client.own("/_drills", "POST", {"kind": kind, **order})
        assert reply.status == 200, reply.text
        target: str = reply.json["target"]
        return target

    async def scp(self, place: Place, path: str, body: Document) -> None:
        """Order something of the cloud, as its console would."""
        reply = await self.client.scp(path, "POST", body, "/".join(place))
        assert reply.status == 202, reply.text

    def unlock(self, node: Node) -> None:
        """Take a node's delete protection away."""
        node.locked = False
        self.simulator.world.touch(node)

    def fabric(self, place: Place, least: int = 2, most: int = 99) -> Fabric:
        """Return a fabric with so many nodes."""
        return next(
            fabric
            for fabric in self.simulator.world.regions[place].fabrics.values()
            if least <= len(fabric.nodes) <= most
        )


@asynccontextmanager
async def world(programs: Programs, directory: Path) -> AsyncIterator[World]:
    """Set a healthy world up, and wait until Prometheus knows it."""
    async with AsyncExitStack() as stack:
        simulator = Simulator(NODES, seed=3, speed=TIMES, alive=False, places=(WEST, EAST))
        await stack.enter_async_context(simulator)
        heal(simulator)
        webhook = await stack.enter_async_context(Webhook())
        config = servers.alertmanager_config(webhook.url, TIMES)
        alertmanager = await stack.enter_async_context(
            servers.alertmanager(programs.alertmanager, directory, config)
        )
        exporter = await stack.enter_async_context(running_exporter(simulator, directory))
        write_rules(directory)
        config = servers.prometheus_config(alertmanager.address, [exporter], TIMES)
        prometheus = await stack.enter_async_context(
            servers.prometheus(programs.prometheus, directory, config, TIMES)
        )
        session = await stack.enter_async_context(aiohttp.ClientSession())
        client = Client(simulator, simulator.timeline.clock, session)
        yield World(simulator, client, exporter, prometheus, alertmanager, webhook)


def heal(simulator: Simulator) -> None:
    """Let every node run, with delete protection: nothing to tell of."""
    for region, node in every_node(simulator):
        node.locked = True
        Lifecycle(simulator.world, region).put(node, "RUNNING")


def every_node(simulator: Simulator) -> Iterator[tuple[Region, Node]]:
    """Yield each node with its region."""
    for region in simulator.world.regions.values():
        for node in region.nodes.values():
            yield region, node


def write_rules(directory: Path) -> None:
    """Lay the rules beside the configuration of Prometheus, so many times as fast."""
    (directory / "alerts").mkdir()
    for file in (servers.ROOT / "alerts").glob("*.yml"):
        document = faster_rules(yaml.safe_load(file.read_text()), TIMES)
        (directory / "alerts" / file.name).write_text(json.dumps(document))


def exporter_config(simulator: Simulator) -> Document:
    """Return a configuration of both clouds that polls so many times as often as by default."""
    polling = {
        "interval": faster("30s", TIMES),
        "catalog_interval": faster("15m", TIMES),
        "stale_after": faster("5m", TIMES),
        "max_backoff": faster("2m", TIMES),
        "requests_per_second": 10 * TIMES,
    }
    scp = {
        "account": "prod",
        "environment": "e",
        "regions": [WEST.region, EAST.region],
        "endpoint": simulator.url + "/scp/{environment}/{region}",
        "access_key_env": "SCP_ACCESS_KEY",
        "secret_key_env": "SCP_SECRET_KEY",
        "credentials_expire": "2099-12-31",
    }
    nsml = {
        "account": "research",
        "endpoint": simulator.url + "/nsml/v1",
        "access_key_env": "NCP_ACCESS_KEY",
        "secret_key_env": "NCP_SECRET_KEY",
        "api_key_env": "NCP_API_KEY",
        "polling": {**polling, "interval": faster("60s", TIMES)},
    }
    return {"polling": polling, "scp": [scp], "nsml": [nsml]}


@asynccontextmanager
async def running_exporter(simulator: Simulator, directory: Path) -> AsyncIterator[str]:
    """Run the daemon; give its address."""
    file = directory / "gpu-cluster-exporter.yml"
    file.write_text(json.dumps(exporter_config(simulator)))
    flags = (f"--config.file={file}", "--web.listen-address=127.0.0.1:0")
    environ = {**os.environ, **simulator.credentials}
    # Not from the directory, but from where the package is.
    with running([sys.executable, "-m", "exporter", "serve", *flags], environ) as process:
        yield (await Server.of(process)).address
