"""A cloud on loopback whose lists are Python objects, and collectors that ask it."""

from dataclasses import dataclass, field
from typing import Any

import aiohttp

from exporter.clouds.http import Caller
from exporter.collectors import Collector, Pace
from exporter.snapshots import Sighting
from tests.clouds.calls import SteppedClock, client_of
from tests.clouds.loopback import Head, answer

Row = dict[str, Any]
PACE = Pace(interval=30.0, timeout=30.0, stale_after=300.0, max_backoff=120.0)
CATALOG = Pace(interval=900.0, timeout=60.0, stale_after=2700.0, max_backoff=900.0)

GONE: Row = {
    "errors": [{"code": "NotFound", "title": "NotFound", "detail": "gone", "status": 404}],
    "error": {"errorCode": "300", "message": "Not Found"},
}
"""What either service says of what is not there, or not any more."""


@dataclass
class Cloud:
    """Answers by path: a document, a status, or a function from the query to either.

    A path that is not there gets the 404 of both services; a plain 404 is a gateway's.
    """

    pages: dict[str, Any] = field(default_factory=dict)

    def __call__(self, head: Head, _writer: object) -> bytes:
        """Answer a request."""
        found = self.pages.get(head.path, GONE)
        if callable(found):
            found = found(head.query)
        if found is GONE:
            return answer(GONE, 404)
        return answer(b"because", found) if isinstance(found, int) else answer(found)


@dataclass
class Asking:
    """Polls of collectors, each within a minute of a clock that stands still."""

    session: aiohttp.ClientSession
    url: str
    clock: SteppedClock

    def caller(self, *, urgent: bool = True) -> Caller:
        """Return a caller for one poll."""
        client = client_of(self.session, self.url, clock=self.clock)
        return client.until(self.clock.monotonic() + 60.0, urgent=urgent)

    async def poll(self, collector: Collector) -> Sighting:
        """Poll once, as a poller does."""
        return await collector.poll(self.caller(urgent=collector.urgent))


def keys(sighting: Sighting, table: str) -> list[tuple[str, ...]]:
    """Return the keys of what was seen, sorted."""
    return sorted(sighting.tables[table])
