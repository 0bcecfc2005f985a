"""Serving the page of one fleet: beside the bare handler, and beside Pushgateway."""

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks import daemons
from benchmarks.figures import Series
from benchmarks.processes import Running
from benchmarks.scrapes import Scraper, in_turn, push

PUSHGATEWAY = "prometheus-pushgateway"
_OF_THE_PROCESS = (b"process_", b"python_", b"go_")


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it was served, plain and gzipped."""

    plain: bytes
    gzipped: bytes

    @property
    def samples(self) -> int:
        """The number of samples."""
        return sum(not line.startswith(b"#") for line in self.plain.splitlines())


@dataclass(frozen=True, slots=True)
class Gateway:
    """What Pushgateway needs for the same page; its memory is of after both scrapes."""

    gzipped: Series
    memory: int


@dataclass(frozen=True, slots=True)
class Serving:
    """Seconds of scrapes, and memory in bytes: now, and the most ever."""

    page: Page
    gzipped: Series
    bare_gzipped: Series
    plain: Series
    bare_plain: Series
    memory: int
    peak: int
    gateway: Gateway | None


def measure(directory: Path, fleet: Path, runs: int, gateway_runs: int) -> Serving:
    """Measure the exporter after one poll of a fleet; the plain page less often."""
    with daemons.cloud(fleet, "same") as url, daemons.polled_exporter(directory, url) as process:
        page = fetch(process)
        with daemons.bare(directory, page.plain, page.gzipped) as bare:
            gzipped, bare_gzipped = _beside(process, bare, "gzip", runs)
            plain, bare_plain = _beside(process, bare, "identity", max(runs // 10, 3))
        memory, peak = process.memory(), process.memory("VmHWM")
    gateway = _gateway(page, gateway_runs)
    return Serving(page, gzipped, bare_gzipped, plain, bare_plain, memory, peak, gateway)


def page_of(directory: Path, fleet: Path, series: str) -> Page:
    """Return the page of a fleet with a setting of `state_series`."""
    with (
        daemons.cloud(fleet, "same") as url,
        daemons.polled_exporter(directory, url, series) as process,
    ):
        return fetch(process)


def fetch(process: Running) -> Page:
    """Scrape both ways; what is gzipped has to be the same page."""
    with Scraper(process.port, "identity") as plain, Scraper(process.port, "gzip") as gzipped:
        page = Page(plain.scrape().body, gzipped.scrape().body)
    if gzip.decompress(page.gzipped).count(b"\n") != page.plain.count(b"\n"):
        raise RuntimeError("the gzipped page is another one")
    return page


def _beside(one: Running, other: Running, encoding: str, runs: int) -> list[Series]:
    with Scraper(one.port, encoding) as first, Scraper(other.port, encoding) as second:
        return in_turn([first, second], runs)


def _gateway(page: Page, runs: int) -> Gateway | None:
    program = shutil.which(PUSHGATEWAY)
    if program is None:
        return None
    with daemons.pushgateway(program) as process:
        push(process.url, _without_process(page.plain))
        with Scraper(process.port, "gzip") as gzipped:
            (seconds,) = in_turn([gzipped], runs)
        with Scraper(process.port, "identity") as plain:
            plain.scrape()
        return Gateway(seconds, process.memory())


def _without_process(page: bytes) -> bytes:
    """Leave out what Pushgateway tells of itself under the same names."""
    named = (line.removeprefix(b"# HELP ").removeprefix(b"# TYPE ") for line in page.splitlines())
    lines = zip(page.splitlines(keepends=True), named, strict=True)
    return b"".join(line for line, name in lines if not name.startswith(_OF_THE_PROCESS))
