"""What a scrape takes, as the scraper sees it: from the request to the page's last byte."""

import http.client
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self

from benchmarks.figures import Series

PATH = "/metrics"
_TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: its body as sent, and how long it took."""

    body: bytes
    seconds: float


class Scraper:
    """A scraper that keeps its connection, as Prometheus does."""

    def __init__(self, port: int, encoding: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        self._headers = {"Accept-Encoding": encoding}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def scrape(self) -> Answer:
        """Scrape once."""
        began = time.perf_counter()
        self._connection.request("GET", PATH, headers=self._headers)
        response = self._connection.getresponse()
        body = response.read()
        seconds = time.perf_counter() - began
        if response.status != HTTPStatus.OK:
            raise RuntimeError(f"a scrape was answered {response.status}")
        return Answer(body, seconds)


def in_turn(scrapers: Sequence[Scraper], runs: int) -> list[Series]:
    """Scrape them one after the other, so many times; return the seconds of each."""
    for scraper in scrapers:
        scraper.scrape()
    rounds = [[scraper.scrape().seconds for scraper in scrapers] for _ in range(runs)]
    return [Series(seconds) for seconds in zip(*rounds, strict=True)]


def push(url: str, page: bytes) -> None:
    """Hand a page to a Pushgateway."""
    asked = urllib.request.Request(  # noqa: S310 - a loopback address
        url + "/metrics/job/bench", data=page, method="PUT"
    )
    with urllib.request.urlopen(asked, timeout=_TIMEOUT_SECONDS) as response:  # noqa: S310
        response.read()


def wait_until(true: Callable[[], bool], pause: float = 0.005, seconds: float = 120.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come true")
        time.sleep(pause)


def ready(port: int) -> bool:
    """Return whether the exporter's first polls have ended."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    connection.request("GET", "/-/ready")
    status = connection.getresponse().status
    connection.close()
    return status == HTTPStatus.OK
