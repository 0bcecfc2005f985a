"""How long the event loop is held while the exporter polls, and is scraped."""

import itertools
import json
import time
from pathlib import Path

from benchmarks import daemons
from benchmarks.figures import Series
from benchmarks.scrapes import Scraper

_PAUSE_SECONDS = 0.2
_PLAIN_EVERY = 10


def measure(directory: Path, fleet: Path, change: str, seconds: float) -> Series:
    """Return how late the loop was, in seconds, at every tick of a probe.

    A fleet that changes is polled without a pause, and the page scraped five times a
    second, mostly gzipped.
    """
    with (
        daemons.cloud(fleet, change) as url,
        daemons.probed(directory, url) as process,
        Scraper(process.port, "gzip") as gzipped,
        Scraper(process.port, "identity") as plain,
    ):
        deadline = time.monotonic() + seconds
        for number in itertools.count():
            (gzipped if number % _PLAIN_EVERY else plain).scrape()
            if time.monotonic() > deadline:
                break
            time.sleep(_PAUSE_SECONDS)
        polls = json.loads(process.stop().splitlines()[-1])
    return Series([lag for poll in polls for lag in poll])
