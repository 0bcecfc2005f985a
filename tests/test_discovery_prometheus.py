"""A real Prometheus that finds its targets by the exporter, as the bundled example has it."""

import asyncio
import json
import urllib.parse
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from benchmarks.processes import Running, running
from exporter import bundle
from exporter.app import Application
from exporter.simulator.faults import FieldValue
from exporter.simulator.fleet import Place
from exporter.simulator.lifecycle import Lifecycle
from exporter.simulator.server import Simulator
from exporter.web.listening import listen
from exporter.web.server import Options, Server
from tests.simulated import config_text, read_config, write

pytestmark = [pytest.mark.slow, pytest.mark.scale, pytest.mark.tool("prometheus")]

WEST, EAST = "kr-west1", "kr-east1"
PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.1
FOR_AN_END = 3600.0
POLLING = "interval: 1s, stale_after: 1s, max_backoff: 1s"
JOBS = "  # - job_name:"


@dataclass
class Fleet:
    """Simulated clouds whose nodes answer to scrapes, and an exporter that polls them."""

    simulator: Simulator
    directory: Path
    node_port: int
    app: Application | None = None
    port: int = 0

    @asynccontextmanager
    async def exporter(self) -> AsyncIterator[Application]:
        """Run an exporter, on the port of the one before."""
        text = config_text(self.simulator.url, nsml=False, polling=POLLING)
        environ = self.simulator.credentials
        async with Application(environ=environ) as self.app:
            options = Options([f"127.0.0.1:{self.port}"])
            runner = await listen(Server(self.app, options).web_application(), options.addresses)
            self.port = runner.addresses[0][1]
            try:
                await self.app.apply(read_config(self.directory, text, environ))
                yield self.app
            finally:
                await runner.cleanup()

    def nodes(self, *regions: str) -> set[str]:
        """Return the ids of the nodes that these regions truly have."""
        return {
            node.id
            for place in self.simulator.truth().scp
            if place.region in (regions or (WEST, EAST))
            for node in place.gpu_nodes
            if node.state is not None
        }

    def terminate(self, node_id: str) -> None:
        """Let a node be terminated, to the end."""
        for region in self.simulator.world.regions.values():
            nodes = [node for node in region.nodes.values() if node.id == node_id]
            Lifecycle(self.simulator.world, region).terminate(nodes)
        self.simulator.advance(FOR_AN_END)

    @contextmanager
    def prometheus(self, tool: str) -> Iterator[Running]:
        """Run a Prometheus that remembers nothing of one before."""
        file = self.directory / "prometheus.yml"
        write(file, yaml.safe_dump(self._configuration()))
        command = [
            tool,
            f"--config.file={file}",
            "--web.listen-address=127.0.0.1:0",
            "--storage.tsdb.path=data",
        ]
        data = self.directory / f"prometheus-{len(list(self.directory.iterdir()))}"
        data.mkdir()
        with running(command, None, data) as process:
            yield process

    def _configuration(self) -> dict[str, Any]:
        """Return the bundled example's own jobs for nodes, at this fleet's addresses."""
        text = bundle.files()["prometheus.yml"].read_text()
        before, mark, jobs = text.partition(JOBS)
        assert mark, "the example has no job that discovers nodes"
        lines = [line.removeprefix("  # ") for line in (mark + jobs).splitlines()]
        scraped = yaml.safe_load("\n".join(lines))
        for config in (each for job in scraped for each in job["http_sd_configs"]):
            url = config["url"].replace("127.0.0.1:10110", f"127.0.0.1:{self.port}")
            for port in ("9400", "9100"):
                url = url.replace(f"port={port}", f"port={self.node_port}")
            config |= {"url": url, "refresh_interval": "1s"}
        assert yaml.safe_load(before)
        timing = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        return {"global": timing, "scrape_configs": scraped}


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Give two regions with nodes, all of which answer at one address."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text="DCGM_FI_DEV_GPU_TEMP 40\n")

    node = web.Application()
    node.add_routes([web.get("/metrics", metrics)])
    runner = web.AppRunner(node, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    places = (Place("e", WEST), Place("e", EAST))
    try:
        async with Simulator(12, seed=7, speed=0, alive=False, places=places) as simulator:
            here = FieldValue(path="/v1/gpu-nodes$", field="policy_ip", values=["127.0.0.1"])
            simulator.faults.add(here)
            yield Fleet(simulator, tmp_path, runner.addresses[0][1])
    finally:
        await runner.cleanup()


async def get(url: str) -> Any:  # noqa: ANN401 - JSON can be anything
    """Return the JSON at a URL."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return json.loads(await response.read())


async def query(process: Running, text: str) -> list[dict[str, Any]]:
    """Return what a query gives."""
    url = f"{process.url}/api/v1/query?{urllib.parse.urlencode({'query': text})}"
    found: list[dict[str, Any]] = (await get(url))["data"]["result"]
    return found


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until something holds in another process."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():  # noqa: ASYNC110 - it is another process that tells
            await asyncio.sleep(PAUSE_SECONDS)


async def targets(process: Running, job: str = "dcgm-exporter") -> list[dict[str, str]]:
    """Return the labels of the targets that a job has."""
    found = (await get(f"{process.url}/api/v1/targets?state=active"))["data"]["activeTargets"]
    return [target["labels"] for target in found if target["scrapePool"] == job]


async def ids(process: Running) -> set[str]:
    """Return the ids of the nodes that are targets."""
    return {labels["gpu_node_id"] for labels in await targets(process)}


async def has_targets(process: Running, wanted: set[str]) -> None:
    """Wait until these nodes are targets, and no others."""

    async def same() -> bool:
        return await ids(process) == wanted

    await asyncio.to_thread(process.wait_until_ready)
    await until(same)


async def refreshed(process: Running) -> None:
    """Wait until Prometheus has asked the exporter for its targets again, more than once."""

    async def refreshes() -> float:
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"{process.url}/metrics") as response,
        ):
            lines = (await response.text()).splitlines()
        name = "prometheus_sd_refresh_duration_seconds_count"
        counts = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name)]
        assert counts
        return sum(counts)

    wanted = await refreshes() + 12  # of four lists

    async def enough() -> bool:
        return await refreshes() >= wanted

    await until(enough)


async def forgotten(app: Application) -> None:
    """Wait until the page shows no node any more."""

    async def gone() -> bool:
        return b"scp_gpu_node_state{" not in app.page("").body

    await until(gone)


async def test_targets_appear_with_their_labels_are_scraped_and_vanish(
    tool: str, fleet: Fleet
) -> None:
    """One job finds every node; what it scrapes carries the control plane's labels."""
    async with fleet.exporter():
        with fleet.prometheus(tool) as process:
            await has_targets(process, fleet.nodes())
            labels = {each["gpu_node_id"]: each for each in await targets(process)}
            nodes = (await get(f"http://127.0.0.1:{fleet.port}/api/v1/nodes"))["nodes"]
            shown = ("account", "environment", "region", "gpu_node_name", "cluster_fabric_name")
            for node in nodes:
                target = labels[node["gpu_node_id"]]
                assert [target[name] for name in shown] == [node[name] for name in shown]
            assert len(await targets(process, "node-exporter")) == len(nodes)

            async def scraped() -> bool:
                found = await query(process, 'DCGM_FI_DEV_GPU_TEMP{job="dcgm-exporter"}')
                return {each["metric"]["gpu_node_id"] for each in found} == fleet.nodes()

            await until(scraped)
            gone = next(iter(fleet.nodes(WEST)))
            fleet.terminate(gone)
            assert gone not in fleet.nodes()
            await has_targets(process, fleet.nodes())


async def test_targets_stay_through_an_outage_and_a_restart_of_prometheus(
    tool: str, fleet: Fleet
) -> None:
    """Also when the page shows no node any more, to a Prometheus that never knew any."""
    async with fleet.exporter() as app:
        with fleet.prometheus(tool) as process:
            await has_targets(process, fleet.nodes())
            for region in (WEST, EAST):
                fleet.simulator.drills.kill_region("e", region)
            await forgotten(app)
            await refreshed(process)
            assert await ids(process) == fleet.nodes()
        with fleet.prometheus(tool) as process:
            await has_targets(process, fleet.nodes())
            await refreshed(process)
            assert await ids(process) == fleet.nodes()


async def test_a_dead_region_holds_up_no_other(tool: str, fleet: Fleet) -> None:
    """The others come and go; those of the dead one appear when it answers for the first time."""
    fleet.simulator.drills.kill_region("e", EAST)
    async with fleet.exporter():
        with fleet.prometheus(tool) as process:
            await has_targets(process, fleet.nodes(WEST))
            fleet.terminate(next(iter(fleet.nodes(WEST))))
            await has_targets(process, fleet.nodes(WEST))
            fleet.simulator.drills.revive_region("e", EAST)
            await has_targets(process, fleet.nodes())


async def test_targets_stay_where_the_exporter_is_restarted_in_an_outage(
    tool: str, fleet: Fleet
) -> None:
    """It knows nothing of the dead region, and so empties no list that Prometheus has."""
    async with AsyncExitStack() as first:
        await first.enter_async_context(fleet.exporter())
        with fleet.prometheus(tool) as process:
            await has_targets(process, fleet.nodes())
            east = fleet.nodes(EAST)
            await first.aclose()
            fleet.simulator.drills.kill_region("e", EAST)
            async with fleet.exporter():
                fleet.terminate(next(iter(fleet.nodes(WEST))))
                await has_targets(process, fleet.nodes(WEST) | east)
                await refreshed(process)
                assert await ids(process) == fleet.nodes(WEST) | east
