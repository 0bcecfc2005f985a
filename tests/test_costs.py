"""What polls and scrapes make the exporter do, counted: the cause of what they cost.

Times are measured by `make bench`; here no test looks at a clock. A fleet of one list is
served on loopback, polled by the daemon's own pollers, and scraped over HTTP.
"""

import gzip
import json
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest

from exporter import families, sites
from exporter.app import Application
from exporter.clouds import rows
from exporter.clouds.rows import read_row
from exporter.clouds.scp.models import GpuNode
from exporter.config import Config
from exporter.deflate import Packed, Packer
from exporter.exposition import Exposition
from exporter.sheet import Sheet
from exporter.web.listening import listen
from exporter.web.server import Options, Server
from tests.clocks import FakeClock, run_threads_inline
from tests.clouds.loopback import Head, Loopback, answer, loopback

NODES = 300
FABRICS = 10
FAMILIES = {family.name: family for family in sites.FAMILIES}
PER_NODE = [
    name
    for name, family in FAMILIES.items()
    if name.startswith("scp_gpu_node") and isinstance(family, families.ObjectFamily)
]


@dataclass
class Work:
    """How often each kind of work was done since it was last asked for."""

    parsed: int = 0
    rendered: Counter[str] = field(default_factory=Counter)
    compressed: Counter[str] = field(default_factory=Counter)
    assembled: int = 0

    def take(self) -> "Work":
        """Return the counts, and begin anew."""
        taken = Work(self.parsed, self.rendered, self.compressed, self.assembled)
        self.parsed = self.assembled = 0
        self.rendered, self.compressed = Counter(), Counter()
        return taken

    @property
    def none(self) -> bool:
        """Whether nothing was done at all."""
        return not (self.parsed or self.rendered or self.compressed or self.assembled)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Count what is done to objects; the exporter's own metrics are left out."""
    work = Work()
    _count_parsing(monkeypatch, work)
    _count_rendering(monkeypatch, work)
    _count_compressing(monkeypatch, work)
    _count_assembling(monkeypatch, work)
    return work


def _count_parsing(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    def counted(model: type[Any], raw: bytes) -> Any:  # noqa: ANN401
        work.parsed += model is GpuNode
        return read_row(model, raw)

    monkeypatch.setattr(rows, "read_row", counted)


def _count_rendering(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    kinds: set[Any] = {type(family) for family in sites.FAMILIES}
    for kind in kinds:
        real = kind.bind

        def bind(self: Any, to: Any, real: Callable[..., Any] = real) -> Callable[..., bytes]:  # noqa: ANN401
            write = real(self, to)

            def counted(what: Any) -> bytes:  # noqa: ANN401
                work.rendered[self.name] += 1
                written: bytes = write(what)
                return written

            return counted

        monkeypatch.setattr(kind, "bind", bind)


def _count_compressing(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    real = Packer.pack

    def pack(self: Packer, text: bytes) -> Packed:
        name = text.partition(b"{")[0].decode()
        if name in FAMILIES:
            work.compressed[name] += 1
        return real(self, text)

    monkeypatch.setattr(Packer, "pack", pack)


def _count_assembling(monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    real = Exposition._put_together

    def put_together(self: Exposition, views: Any) -> Any:  # noqa: ANN401
        work.assembled += 1
        return real(self, views)

    monkeypatch.setattr(Exposition, "_put_together", put_together)


class Cloud:
    """A list of nodes in pages of 100, which a test may change."""

    def __init__(self) -> None:
        self.nodes = [_node(number) for number in range(NODES)]
        self.status = 200

    def answer(self, head: Head, _writer: object) -> bytes:
        """Answer with a page."""
        if self.status != 200:
            return answer(b"out of order", self.status)
        start = int(head.query["page"]) * 100
        return answer({"count": len(self.nodes), "gpu_nodes": self.nodes[start : start + 100]})


def _node(number: int) -> dict[str, object]:
    return {
        "id": f"node-{number}",
        "gpu_node_name": f"name-{number}",
        "cluster_fabric_id": f"fabric-{number % FABRICS}",
        "server_type": "g2c96h8_metal",
        "state": "RUNNING",
        "lock_enabled": True,
        "policy_use_nat": False,
        "pfs_ip": ["192.0.2.1"],
        "created_at": "2026-01-01T00:00:00Z",
        "modified_at": "2026-01-01T00:00:00Z",
    }


@dataclass
class Daemon:
    """The exporter on that cloud."""

    cloud: Cloud
    work: Work
    application: Application
    url: str
    session: aiohttp.ClientSession

    async def poll(self) -> Work:
        """Poll once; return what was done for it."""
        return await self._doing(self.application.poll_once())

    async def scrape(self, encoding: str = "gzip", accept: str = "text/plain") -> Work:
        """Scrape once; return what was done for it."""
        return await self._doing(self.page(encoding, accept))

    async def page(self, encoding: str = "gzip", accept: str = "text/plain") -> str:
        """Return the page as a scraper gets it."""
        headers = {"Accept-Encoding": encoding, "Accept": accept}
        async with self.session.get(self.url + "/metrics", headers=headers) as response:
            body = await response.read()
        return (gzip.decompress(body) if encoding == "gzip" else body).decode()

    async def _doing(self, what: Awaitable[object]) -> Work:
        self.work.take()
        await what
        return self.work.take()


def _config(server: Loopback) -> Config:
    account = {
        "account": "prod",
        "environment": "e",
        "regions": ("kr-west1",),
        "collectors": ("gpu_nodes",),
        "endpoint": server.url,
        "polling": {"page_size": 100, "requests_per_second": 1e6},
        **{name: {"value": "made-up"} for name in ("access_key", "secret_key")},
    }
    return Config.model_validate({"scp": (account,)})


@pytest.fixture
async def daemon(work: Work) -> AsyncIterator[Daemon]:
    """Give an exporter that has polled the fleet once, and was scraped once."""
    run_threads_inline()
    cloud = Cloud()
    async with (
        loopback(cloud.answer) as server,
        Application(environ={}, clock=FakeClock()) as application,
        aiohttp.ClientSession(auto_decompress=False) as session,
    ):
        await application.apply(_config(server), loops=False)
        options = Options(["127.0.0.1:0"])
        runner = await listen(Server(application, options).web_application(), options.addresses)
        host, port = runner.addresses[0][:2]
        daemon = Daemon(cloud, work, application, f"http://{host}:{port}", session)
        first = await daemon.poll()
        assert first.parsed == NODES
        assert all(first.rendered[name] == NODES for name in PER_NODE)
        assert first.assembled == 1
        yield daemon
        await runner.cleanup()


def _sheet(daemon: Daemon) -> Sheet[Any]:
    (poller,) = daemon.application.pollers
    return poller.snapshot.sheets[0]


async def test_the_first_poll_does_each_thing_once(daemon: Daemon) -> None:
    """Each bucket of each family is compressed once; no object is looked at twice."""
    buckets = len(_sheet(daemon)._buckets)
    assert 1 < buckets < NODES
    for node in daemon.cloud.nodes:
        node["id"] = f"new-{node['id']}"
    work = await daemon.poll()
    assert work.parsed == NODES
    assert {work.rendered[name] for name in PER_NODE} == {NODES}
    assert {work.compressed[name] for name in PER_NODE} == {buckets}
    assert work.rendered["scp_gpu_nodes"] == 1
    assert not work.compressed["scp_gpu_nodes"]  # there are as many in each state as before
    assert work.assembled == 1


async def test_an_answer_of_the_same_bytes_costs_nothing(daemon: Daemon) -> None:
    """However often it comes, nothing is parsed, rendered, compressed or put together."""
    for _ in range(20):
        assert (await daemon.poll()).none


async def test_rows_in_another_order_are_neither_parsed_nor_rendered(daemon: Daemon) -> None:
    """An object is known by its row's bytes, on whatever page and place it stands."""
    rng = random.Random(7)  # noqa: S311 - a shuffle
    for _ in range(5):
        rng.shuffle(daemon.cloud.nodes)
        work = await daemon.poll()
        assert not work.parsed
        assert not work.rendered
        assert not work.compressed


async def test_one_changed_node_costs_one_node(daemon: Daemon) -> None:
    """One row is parsed; in the family that differs it is rendered, and its bucket compressed."""
    daemon.cloud.nodes[42]["state"] = "ERROR"
    work = await daemon.poll()
    assert work.parsed == 1
    assert work.rendered == {"scp_gpu_node_state": 1, "scp_gpu_nodes": 1}
    assert work.compressed == {"scp_gpu_node_state": 1, "scp_gpu_nodes": 1}
    assert work.assembled == 1
    assert 'gpu_node_name="name-42",region="kr-west1",state="ERROR"} 1.0' in await daemon.page()


async def test_a_field_that_is_not_shown_costs_no_lines(daemon: Daemon) -> None:
    """A row that differs in what no family shows is read and counted, and that is all."""
    daemon.cloud.nodes[42]["init_script"] = "another"
    work = await daemon.poll()
    assert work.parsed == 1
    assert work.rendered == {"scp_gpu_nodes": 1}
    assert not work.compressed


async def test_changed_and_shuffled_costs_what_changed(daemon: Daemon) -> None:
    """Three nodes of a list in another order are three parses, and three buckets at most."""
    for number in (10, 150, 290):
        daemon.cloud.nodes[number]["modified_at"] = "2026-01-02T00:00:00Z"
    random.Random(7).shuffle(daemon.cloud.nodes)  # noqa: S311 - a shuffle
    work = await daemon.poll()
    assert work.parsed == 3
    assert work.rendered == {"scp_gpu_node_modified_timestamp_seconds": 3, "scp_gpu_nodes": 1}
    assert work.compressed.keys() == {"scp_gpu_node_modified_timestamp_seconds"}
    assert 1 <= work.compressed["scp_gpu_node_modified_timestamp_seconds"] <= 3


async def test_a_node_that_goes_costs_its_bucket(daemon: Daemon) -> None:
    """Nothing is parsed or rendered for it; one bucket of each family is compressed."""
    del daemon.cloud.nodes[299]
    work = await daemon.poll()
    assert not work.parsed
    assert not work.rendered.keys() & set(PER_NODE)
    assert {work.compressed[name] for name in PER_NODE} == {1}
    assert "node-299" not in await daemon.page()


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text;version=1.0.0"])
async def test_a_scrape_does_nothing_to_objects(daemon: Daemon, encoding: str, accept: str) -> None:
    """In no format and encoding is an object rendered or compressed, or the page put together."""
    for _ in range(5):
        assert (await daemon.scrape(encoding, accept)).none
    page = await daemon.page(encoding, accept)
    assert page.count("\nscp_gpu_node_info{") == NODES


async def test_a_change_is_paid_for_by_the_poll(daemon: Daemon) -> None:
    """The scrape after a poll that changed everything has as little to do as any other."""
    for node in daemon.cloud.nodes:
        node["state"] = "STOPPED"
    assert (await daemon.poll()).parsed == NODES
    assert (await daemon.scrape()).none
    assert (await daemon.page()).count('state="STOPPED"} 1.0\n') == NODES


async def test_a_poll_that_fails_costs_nothing(daemon: Daemon) -> None:
    """Neither the failure nor the next good answer of the same bytes touches an object."""
    daemon.cloud.status = 403
    work = await daemon.poll()
    assert not next(daemon.application.pollers).snapshot.health.up
    assert work.none
    assert (await daemon.scrape()).none
    daemon.cloud.status = 200
    assert (await daemon.poll()).none
    assert next(daemon.application.pollers).snapshot.health.up


def test_the_fleet_has_what_its_families_show() -> None:
    """The rows of these tests fill every family of nodes, or the counts would prove nothing."""
    record = read_row(GpuNode, json.dumps(_node(1)).encode())
    assert record is not None
    assert len(PER_NODE) == 8
    assert all(
        getattr(record.item, family.value) is not None
        for family in FAMILIES.values()
        if isinstance(family, families.Value) and family.name in PER_NODE
    )
