"""The whole way as one thing: simulated clouds, the exporter, and who reads its page."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from exporter.app import Application
from exporter.config import load
from exporter.poller import Poller
from exporter.reload import Reloader
from exporter.simulator.server import Request, Simulator
from exporter.web.listening import listen
from exporter.web.server import Options, Server
from tests.clocks import FakeClock, settle
from tests.simulated import PATIENCE_SECONDS, config_text, samples, value, write

INTERVAL = 30.0
NODES = {"collector": "gpu_nodes", "region": "kr-west1"}
PREFIX = "gpu_cluster_exporter_"
_TURN_SECONDS = 0.001  # of the real time, in which sockets get their turn
_STEP_SECONDS = 0.25  # of the clock's, that pass at a time while polls back off
_LEAST_SECONDS = 0.01
_NO_VALUE = re.compile(r'"(None|null|nan)"| (None|null|nan)$', re.IGNORECASE)


@dataclass
class Field:
    """An exporter that polls simulated clouds, and serves what it sees, on one clock."""

    simulator: Simulator
    app: Application
    clock: FakeClock
    directory: Path
    environ: dict[str, str]
    session: aiohttp.ClientSession
    server: Server
    runner: web.AppRunner
    reloader: Reloader

    @property
    def port(self) -> int:
        """The port that the exporter listens on."""
        port: int = self.runner.addresses[0][1]
        return port

    async def start(self, text: str = "", **options: object) -> None:
        """Put a configuration in force, and wait until every target was polled once."""
        self.configure(text, **options)
        await self.app.apply(load(self.file, self.environ))
        await self.quiet()

    @property
    def file(self) -> Path:
        """The configuration file."""
        return self.directory / "gpu-cluster-exporter.yml"

    def configure(self, text: str = "", **options: object) -> None:
        """Write the configuration file."""
        options = {"regions": ["kr-west1"], "nsml": False, **options}
        made = config_text(self.simulator.url, **options)  # type: ignore[arg-type]  # passed on
        write(self.file, text or made)

    async def quiet(self) -> None:
        """Wait until no poll is under way; time passes only while all that are back off."""
        await settle()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while any(busy(poller, self.clock.monotonic()) for poller in self.app.pollers):
                await asyncio.sleep(_TURN_SECONDS)
                if not self._requests_open():
                    await self.clock.advance(_STEP_SECONDS)
        await settle()

    def _requests_open(self) -> bool:
        session = self.app._session
        assert session is not None
        assert session.connector is not None
        return bool(session.connector._acquired)

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and every poll that becomes due meanwhile come to its end."""
        end = self.clock.monotonic() + seconds
        while (now := self.clock.monotonic()) < end:
            due = min(poller._next for poller in self.app.pollers)
            await self.clock.advance(max(min(due, end) - now, _LEAST_SECONDS))
            await self.quiet()

    async def next_poll(self, **labels: str) -> None:
        """Let time pass until a target has been polled once more."""
        poller = self.poller(**labels)
        await self.pass_time(max(poller._next - self.clock.monotonic(), 0.0) + _LEAST_SECONDS)

    def poller(self, **labels: str) -> Poller:
        """Return the poller of the only target with these labels."""
        wanted = labels or NODES
        [found] = [
            poller
            for poller in self.app.pollers
            if wanted.items() <= poller.collector.target.labels.items()
        ]
        return found

    async def ask(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """Return status and body of what the exporter answers."""
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self.session.request(method, url) as response:
            return response.status, await response.read()

    async def page(self) -> bytes:
        """Return the page, which is there and well-formed whatever happens."""
        status, body = await self.ask("/metrics")
        assert status == 200
        check_page(body)
        return body

    async def own(self, name: str, **labels: str) -> float | None:
        """Return one of the exporter's own series of a target, the nodes' where none is named."""
        return value(await self.page(), PREFIX + name, **(labels or NODES))

    async def objects(self) -> list[str]:
        """Return the lines of the clouds' objects."""
        return object_lines(await self.page())

    async def outcome(self, **labels: str) -> tuple[float | None, str]:
        """Return whether a target is up, and why not: the reason of its last failure."""
        poller = self.poller(**labels)
        up = await self.own("target_up", **(labels or NODES))
        return up, poller.snapshot.health.error_reason

    def requests(self, path: str, **query: str) -> list[Request]:
        """Return the requests that came for a path, and have these parameters."""
        return [
            request
            for request in self.simulator.requests
            if request.path == path and query.items() <= request.query.items()
        ]


async def serve(app: Application, reloader: Reloader) -> tuple[Server, web.AppRunner]:
    """Serve an application on a free port, its reload allowed."""
    options = Options(["127.0.0.1:0"], reload=reloader.reload)
    server = Server(app, options)
    return server, await listen(server.web_application(), options.addresses)


def busy(poller: Poller, now: float) -> bool:
    """Return whether a poll is due or under way."""
    return poller._next <= now


def check_page(page: bytes) -> None:
    """Hold that a scraper can read a page: no series twice, no family in two parts, no None."""
    text = page.decode()
    assert text
    series = Counter(line.rpartition(" ")[0] for line in samples(page))
    assert [name for name, times in series.items() if times > 1] == []
    families = Counter(line for line in text.splitlines() if line.startswith("# TYPE "))
    assert [name for name, times in families.items() if times > 1] == []
    assert [line for line in samples(page) if _NO_VALUE.search(line)] == []


def object_lines(page: bytes) -> list[str]:
    """Return the lines of the clouds' objects, sorted: their order says nothing."""
    return sorted(line for line in samples(page) if line.startswith(("scp_", "nsml_")))


def labels_of(line: str) -> Mapping[str, str]:
    """Return the labels of a sample."""
    return dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', line))


def label_values(lines: Sequence[str], family: str, label: str) -> list[str]:
    """Return the values of a label in the lines of a family, sorted."""
    found = (labels_of(line)[label] for line in lines if line.startswith(family + "{"))
    return sorted(found)


def node_ids(simulator: Simulator, region: str = "kr-west1", environment: str = "e") -> list[str]:
    """Return the ids of the nodes that a region truly has, sorted."""
    [place] = [
        place
        for place in simulator.truth().scp
        if (place.environment, place.region) == (environment, region)
    ]
    return sorted(node.id for node in place.gpu_nodes if node.state is not None)
