"""What is bounded, whatever the clouds and the readers do: memory, tasks, series, time."""

import asyncio
import contextlib
import gc
import itertools
import socket
from collections.abc import Iterator

import pytest

from exporter.negotiation import TEXT
from exporter.web import sending
from tests.clouds.loopback import Head, answer, loopback
from tests.field.conftest import Open
from tests.field.rig import PREFIX, Field, check_page
from tests.simulated import config_text, samples, until, value

READERS = 25
POLLS = 2_000


def slow_reader(port: int) -> socket.socket:
    """Ask for the page, with room for next to nothing of it, and don't wait for any."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
    reader.connect(("127.0.0.1", port))
    reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: exporter\r\n\r\n")
    reader.setblocking(False)  # noqa: FBT003 - the socket's own way
    return reader


def read_a_byte(reader: socket.socket) -> None:
    """Read one byte, if there is one."""
    with contextlib.suppress(BlockingIOError, ConnectionError):
        reader.recv(1)


async def test_readers_of_single_bytes_delay_nobody_and_are_closed(
    field_of: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 that keep reading, but never finish: scrapes and polls go on beside them."""
    monkeypatch.setattr(sending, "READ_TIMEOUT_SECONDS", 1.5)
    async with field_of(60) as field:
        shrink_send_buffers(field)
        await field.start()
        readers = [slow_reader(field.port) for _ in range(READERS)]
        await until(lambda: field.server.scrapes.now == READERS)
        polls = await field.own("polls_total") or 0
        async with asyncio.timeout(1.0):
            await field.page()
        await field.next_poll()
        assert await field.own("polls_total") == polls + 1
        await until(lambda: field.server.scrapes.now == READERS)  # those answered have ended

        def closed() -> bool:
            for reader in readers:
                read_a_byte(reader)
            return field.server.scrapes.now == 0

        await until(closed)
        size = len(await field.page())
        assert max(rest_of(reader) for reader in readers) < size / 2
        for reader in readers:
            reader.close()


def rest_of(reader: socket.socket) -> int:
    """Count the bytes that are left to read, up to the end or the reset."""
    size = 0
    with contextlib.suppress(ConnectionError):
        reader.setblocking(True)  # noqa: FBT003 - the socket's own way
        while chunk := reader.recv(65536):
            size += len(chunk)
    return size


def shrink_send_buffers(field: Field) -> None:
    """Let the kernel take as little as it can of what is sent."""
    for site in field.runner.sites:
        assert isinstance(site._server, asyncio.Server)
        for listening in site._server.sockets:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)


def fleets() -> Iterator[bytes]:
    """Yield lists of two nodes, of which none was ever seen before, nor its state."""
    for number in itertools.count():
        rows = [
            {
                "id": f"node-{number}-{side}",
                "gpu_node_name": f"name-{number}-{side}",
                "cluster_fabric_id": f"fabric-{number}",
                "cluster_fabric_name": f"fabric-{number}",
                "server_type": "g2c96h8_metal",
                "state": f"STATE_{number}",
                "created_at": "2026-01-01T00:00:00Z",
            }
            for side in "ab"
        ]
        yield answer({"count": 2, "gpu_nodes": rows})


@pytest.mark.slow
@pytest.mark.scale
async def test_two_thousand_polls_of_new_objects_leave_everything_flat(field: Field) -> None:
    """Neither objects in memory, nor tasks, nor series grow with the ids that came and went."""
    made = fleets()

    def reply(head: Head, _writer: object) -> bytes:
        first = head.query["page"] == "0"
        return next(made) if first else answer({"count": 2, "gpu_nodes": []})

    async with loopback(reply) as cloud:
        text = config_text(cloud.url, regions=["kr-west1"], nsml=False)
        await field.start(text + "    collectors: [gpu_nodes]\n")
        poller = field.poller()
        alive, series, tasks = [], [], []
        for number in range(POLLS):
            if number % (POLLS // 2) == POLLS // 2 - 1 or number == POLLS // 10:
                cloud.heads.clear()
                gc.collect()
                alive.append(len(gc.get_objects()))
                series.append(len(samples(field.app.page(TEXT).body)))
                tasks.append(len(asyncio.all_tasks()))
            await poller.poll()
        assert poller.snapshot.health.up
    page = await field.page()
    assert value(page, f"{PREFIX}polls_total", collector="gpu_nodes") == POLLS + 1
    assert tasks[0] == tasks[-1]
    assert series[0] == series[-1]
    assert alive[-1] - alive[0] < POLLS / 10  # less than one object for ten of the polls


@pytest.mark.slow
async def test_a_page_that_scrapers_may_refuse_tells_its_size(field_of: Open) -> None:
    """5,000 nodes with all their states: the size is a metric, the page before's to the byte."""
    async with field_of(5_000) as field:
        text = config_text(field.simulator.url, regions=["kr-west1"], nsml=False)
        await field.start(text + "    collectors: [gpu_nodes]\n")
        status, page = await field.ask("/metrics")
        assert status == 200
        check_page(page)
        assert len(page) > 12 * 2**20
        following = field.app.page(TEXT).body
        assert value(following, f"{PREFIX}exposition_bytes") == len(page)
        assert value(following, f"{PREFIX}exposition_samples") == len(samples(page))
