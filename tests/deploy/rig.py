"""Simulated clouds, two exporters that poll them, and Prometheus servers, all on loopback."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from benchmarks.processes import running
from exporter.simulator.server import Simulator
from tests.alerts.pace import faster
from tests.alerts.servers import Document, Server
from tests.alerts.world import EAST, NODES, TIMES, WEST, heal, running_exporter, write_rules
from tests.simulator.cloud_client import Client

PATIENCE_SECONDS = 120.0
PAUSE_SECONDS = 0.2


@dataclass
class Rig:
    """What runs, and where files may be laid; what is started is ended with the rig."""

    directory: Path
    simulator: Simulator
    client: Client
    exporters: list[str]
    stack: AsyncExitStack = field(repr=False)

    async def fail_a_node(self) -> str:
        """Let one node fail; return its id."""
        reply = await self.client.own("/_drills", "POST", {"kind": "fail_node"})
        assert reply.status == 200, reply.text
        target: str = reply.json["target"]
        return target

    async def prometheus(self, program: str, name: str, config: Document, *flags: str) -> Server:
        """Start a Prometheus that goes as fast as the rest."""
        file = self.directory / f"{name}.yml"
        file.write_text(json.dumps(config))
        command = [program, f"--config.file={file}", "--web.listen-address=127.0.0.1:0", *flags]
        process = self.stack.enter_context(running(command, directory=self.directory))
        return await Server.of(process)


def keeping(name: str) -> tuple[str, ...]:
    """Return the flags of a Prometheus that keeps what it sees."""
    return (f"--storage.tsdb.path={name}-data", f"--query.lookback-delta={faster('5m', TIMES)}")


@asynccontextmanager
async def rig(directory: Path, exporters: int = 2) -> AsyncIterator[Rig]:
    """Start healthy clouds and exporters, and lay the rules out as files below `alerts/`."""
    async with AsyncExitStack() as stack:
        simulator = Simulator(NODES, seed=3, speed=TIMES, alive=False, places=(WEST, EAST))
        await stack.enter_async_context(simulator)
        heal(simulator)
        addresses = []
        for number in range(exporters):
            folder = directory / f"exporter-{number}"
            folder.mkdir()
            started = running_exporter(simulator, folder)
            addresses.append(await stack.enter_async_context(started))
        write_rules(directory)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        client = Client(simulator, simulator.timeline.clock, session)
        yield Rig(directory, simulator, client, addresses, stack)


async def until(prometheus: Server, query: str) -> Document:
    """Wait until a query has an answer, and return it."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := await prometheus.result(query)):  # noqa: ASYNC110 - a process
            await asyncio.sleep(PAUSE_SECONDS)
    return found


async def alerts(prometheus: Server) -> list[dict[str, str]]:
    """Return the labels of every alert that is pending or fires."""
    answer = await prometheus.get("/api/v1/alerts")
    return [each["labels"] for each in answer["data"]["alerts"]]
