"""The answers of a cloud with a fleet of any size, and how they change from poll to poll.

The simulator makes the fleet once; its rows are then served, or handed over, as prepared
bytes, so that what it costs to make them is no part of any measure.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import msgspec
from yarl import URL

from exporter.clouds.answers import split
from exporter.clouds.http import open_session, request
from exporter.clouds.scp import api
from exporter.clouds.scp.signing import ScpDialect
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator

PLACE = Place("e", "kr-west1")
ROOT = f"/scp/{PLACE.environment}/{PLACE.region}"
PAGE_ROWS = 1000
CHANGES = ("same", "changed", "shuffled")
"""The same bytes; every node in another state; other order, and one node of 100 changed."""

_PAGED = {api.NODES_PATH: "gpu_nodes", api.FABRICS_PATH: "cluster_fabrics"}
_SINGLE: Mapping[str, Mapping[str, str | int]] = {
    api.POOLS_PATH: {},
    api.PRODUCTS_PATH: {},
    api.IMAGES_PATH: {"region_id": PLACE.region},
    api.VERSIONS_PATH: {},
}
_CHANGED_SHARE = 100
_STATES = ("RUNNING", "STOPPED")
_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What one region answers: the pages of each list by its path."""

    pages: Mapping[str, Sequence[bytes]]
    nodes: Sequence[bytes]

    def version(self, change: str, number: int) -> list[bytes]:
        """Return the pages of nodes as the poll of this number sees them."""
        if change == "same":
            return list(self.pages[api.NODES_PATH])
        if change == "changed":
            return _pages("gpu_nodes", [_changed(row, number) for row in self.nodes])
        rng = random.Random(number)  # noqa: S311 - nothing to hide
        rows = list(self.nodes)
        for place in rng.sample(range(len(rows)), max(len(rows) // _CHANGED_SHARE, 1)):
            rows[place] = _changed(rows[place], number)
        rng.shuffle(rows)
        return _pages("gpu_nodes", rows)


def _changed(row: bytes, number: int) -> bytes:
    node = msgspec.json.decode(row, type=dict[str, msgspec.Raw])
    modified = (_START + timedelta(seconds=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    values = {"state": _STATES[number % len(_STATES)], "modified_at": modified}
    return msgspec.json.encode(node | values)


def _pages(field: str, rows: Sequence[bytes]) -> list[bytes]:
    """Write rows as pages, with the empty one behind the last."""
    head = f'{{"count":{len(rows)},"{field}":['.encode()
    starts = range(0, len(rows) + PAGE_ROWS, PAGE_ROWS)
    return [head + b",".join(rows[start : start + PAGE_ROWS]) + b"]}" for start in starts]


def save(fleet: Fleet, path: Path) -> None:
    """Write a fleet to a file."""
    path.write_bytes(msgspec.msgpack.encode(fleet))


def load(path: Path) -> Fleet:
    """Read a fleet from a file."""
    return msgspec.msgpack.decode(path.read_bytes(), type=Fleet)


async def make_fleet(nodes: int) -> Fleet:
    """Make a fleet of so many nodes in one region."""
    simulator = Simulator(nodes, seed=1, speed=0, alive=False, places=(PLACE,))
    async with simulator:
        lists = {path: await _rows(simulator, path, field) for path, field in _PAGED.items()}
        single = {path: [await _get(simulator, path, q)] for path, q in _SINGLE.items()}
    paged = {path: _pages(field, lists[path]) for path, field in _PAGED.items()}
    return Fleet(paged | single, lists[api.NODES_PATH])


async def _rows(simulator: Simulator, path: str, field: str) -> list[bytes]:
    rows: list[bytes] = []
    for page in count():
        body = await _get(simulator, path, {"page": page, "size": PAGE_ROWS})
        more = list(split(body, field)[0])
        if not more:
            break
        rows += more
    return rows


async def _get(simulator: Simulator, path: str, query: Mapping[str, str | int]) -> bytes:
    keys = simulator.credentials
    pair = {"access_key": keys["SCP_ACCESS_KEY"], "secret_key": keys["SCP_SECRET_KEY"]}
    url = simulator.url + ROOT + request(path, query).target
    now = int(simulator.timeline.clock() * 1000)
    headers = ScpDialect(lambda: pair, "1.2").headers("GET", url, now)
    session = open_session()
    async with session, session.get(URL(url, encoded=True), headers=headers) as response:
        response.raise_for_status()
        return await response.read()
