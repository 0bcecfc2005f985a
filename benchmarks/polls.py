"""What a poll costs in CPU, from the answers to bytes that are ready to be served.

The poller, the reading, the lines, their compression and the page are the daemon's own; in
the place of the connection stand answers from memory. After the polls orjson reads the
same answers, with nothing else in the process.
"""

import asyncio
import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import orjson

from benchmarks.figures import Series
from benchmarks.fleet import PLACE, Fleet
from exporter import logs
from exporter.app import Application
from exporter.clouds.http import Client, Request
from exporter.config import Config
from exporter.negotiation import TEXT
from exporter.poller import Poller

_KEYS = {"access_key": {"value": "made-up"}, "secret_key": {"value": "made-up"}}
_ACCOUNT = {"account": "bench", "environment": PLACE.environment, "regions": (PLACE.region,)}
_POLLING = {"interval": 600.0, "requests_per_second": 1e6}


@dataclass(slots=True)
class Prepared(Client):
    """A client that has the pages of its one list in memory."""

    pages: Sequence[bytes] = ()

    async def attempt(self, what: Request) -> bytes:
        """Return a page."""
        return self.pages[int(dict(parse_qsl(urlsplit(what.target).query))["page"])]


@dataclass(frozen=True, slots=True)
class PollCosts:
    """CPU seconds of polls, and of orjson.loads of the same answers."""

    polls: Series
    loads: Series


@dataclass(frozen=True, slots=True)
class Rig:
    """An application of one target, whose answers are handed to it."""

    application: Application
    poller: Poller
    client: Prepared

    async def poll(self, pages: Sequence[bytes]) -> float:
        """Poll once; return the CPU seconds of all threads."""
        self.client.pages = pages
        began = time.process_time()
        await self.poller.poll()
        polled = time.process_time()
        if not self.poller.snapshot.health.up:
            raise RuntimeError(self.poller.snapshot.health.error_message)
        return polled - began


def _load(pages: Sequence[bytes]) -> float:
    """Return the CPU seconds of orjson; what it reads is kept until the end, as a poll does."""
    began = time.process_time()
    documents = [orjson.loads(page) for page in pages]
    took = time.process_time() - began
    del documents
    return took


async def _rig(application: Application) -> Rig:
    account = {**_ACCOUNT, **_KEYS, "collectors": ("gpu_nodes",), "polling": _POLLING}
    await application.apply(Config.model_validate({"scp": (account,)}), loops=False)
    (poller,) = application.pollers
    known = poller.client
    client = Prepared(
        known.session,
        known.base_url,
        known.dialect,
        known.budget,
        known.observer,
        known.clock,
        known.request_timeout,
    )
    poller.client = client
    return Rig(application, poller, client)


async def _polls(fleet: Fleet, change: str, runs: int) -> list[float]:
    """Measure so many polls, each of which sees the fleet changed in this way."""
    async with Application() as application:
        rig = await _rig(application)
        await rig.poll(fleet.version(change, 0))
        application.page(TEXT)
        gc.collect()
        return [await rig.poll(fleet.version(change, number + 1)) for number in range(runs)]


async def _first_polls(fleet: Fleet, runs: int) -> list[float]:
    """Measure polls by applications that have seen nothing yet: every node is new."""
    costs = []
    for number in range(runs):
        async with Application() as application:
            rig = await _rig(application)
            costs.append(await rig.poll(fleet.version("changed", number)))
    return costs


def measure(fleet: Fleet, change: str, runs: int) -> PollCosts:
    """Measure polls of a fleet that changes in this way, or every node of which is new."""
    logs.configure("error", "logfmt", logs.Redactor())
    first = change == "new"
    polls = asyncio.run(_first_polls(fleet, runs) if first else _polls(fleet, change, runs))
    gc.collect()
    pages = fleet.version("changed" if first else change, 0)
    return PollCosts(Series(polls), Series([_load(pages) for _ in range(runs)]))
