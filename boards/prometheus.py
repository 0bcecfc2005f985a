"""A Prometheus that is asked as Grafana asks it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

Json = dict[str, Any]
_PROCESSOR = "process_cpu_seconds_total "

Point = tuple[float, float]


class QueryError(Exception):
    """A query that Prometheus refused, with its reason."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time that a dashboard shows: Unix times, and the scrape interval, in seconds.

    A step shorter than the scrape interval is taken only where `least_step` says so.
    """

    start: float
    end: float
    scrape: float
    points: int = 300
    least_step: float | None = None

    @property
    def step(self) -> float:
        """The time from one point to the next."""
        least = self.scrape if self.least_step is None else self.least_step
        return max(round((self.end - self.start) / self.points), least, 1.0)

    @property
    def macros(self) -> Mapping[str, str]:
        """What Grafana puts for its own variables."""
        rate = max(self.step + self.scrape, 4 * self.scrape)
        return {
            "__interval": f"{self.step:.0f}s",
            "__rate_interval": f"{rate:.0f}s",
            "__range": f"{self.end - self.start:.0f}s",
        }


@dataclass(frozen=True, slots=True)
class Series:
    """A series of a result: its labels, and its points in order."""

    labels: Mapping[str, str]
    points: Sequence[Point]

    @property
    def last(self) -> float:
        """The value of the last point."""
        return self.points[-1][1]


class Prometheus:
    """The API of a Prometheus at an address without a path."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self._session = session

    async def instant(self, expr: str, at: float) -> list[Series]:
        """Return what an expression gives at a Unix time. Raises QueryError."""
        result = (await self._ask("query", {"query": expr, "time": f"{at}"}))["result"]
        return [_series(one["metric"], [one["value"]]) for one in result]

    async def over(self, expr: str, window: Window) -> list[Series]:
        """Return what an expression gives over time. Raises QueryError."""
        # As Grafana does: the points lie on multiples of the step.
        start, end = (edge // window.step * window.step for edge in (window.start, window.end))
        asked = {"query": expr, "start": f"{start}", "end": f"{end}", "step": f"{window.step}"}
        result = (await self._ask("query_range", asked))["result"]
        return [_series(one["metric"], one["values"]) for one in result]

    async def label_values(self, series: str, label: str, window: Window) -> list[str]:
        """Return the values of a label in some series. Raises QueryError."""
        asked = {"match[]": series, "start": f"{window.start}", "end": f"{window.end}"}
        found: list[str] = await self._ask(f"label/{label}/values", asked, "GET")
        return found

    async def processor_seconds(self) -> float:
        """Return the time of a processor that Prometheus has taken since its start."""
        async with self._session.get(f"{self._url}/metrics") as response:
            lines = (await response.text()).splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(_PROCESSOR))

    async def _ask(self, path: str, asked: Mapping[str, str], method: str = "POST") -> Any:  # noqa: ANN401 - it depends on the path
        given = {"params" if method == "GET" else "data": asked}
        async with self._session.request(method, f"{self._url}/api/v1/{path}", **given) as response:  # type: ignore[arg-type]  # params or data
            answer = await response.json()
        if answer["status"] != "success":
            raise QueryError(answer["error"])
        return answer["data"]


def _series(labels: Mapping[str, str], points: Sequence[Sequence[Any]]) -> Series:
    return Series(labels, [(float(at), float(value)) for at, value in points])
