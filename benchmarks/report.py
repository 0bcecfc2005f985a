"""The table of results, and what the machine is that they were measured on."""

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.figures import Series, growth, mebibytes, milliseconds
from benchmarks.first_page import FirstPages
from benchmarks.polls import PollCosts
from benchmarks.serving import Page, Serving

_BEGIN, _END = "<!-- results: begin -->\n", "<!-- results: end -->\n"
_PACKAGES = ("aiohttp", "msgspec", "orjson", "prometheus-client", "pydantic")
_TARGETS = {"changed": 8.0, "same": 1.5, "shuffled": 3.0}
_POLLS = {
    "changed": "every node changed its state",
    "same": "the same bytes",
    "shuffled": "other order, 1 % changed",
    "new": "every node is new",
}
_TARGET_NODES = 10_000
_SLOWER_THAN_BARE = 1.5
_LATER_THAN_BARE_SECONDS = 0.001
_FASTER_THAN_GATEWAY = 200
_VM_LIMIT = 16 * 2**20
_LAG_SECONDS = 0.020
_FIRST_PAGE = 1.5


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured with a fleet of one size."""

    nodes: int
    serving: Serving
    current: Page
    polls: Mapping[str, PollCosts]
    lag: Mapping[str, Series]


@dataclass(frozen=True, slots=True)
class Cell:
    """A measured figure, and whether it meets the target, where there is one."""

    text: str
    met: bool | None = None

    @property
    def judged(self) -> str:
        """The figure with its verdict."""
        return self.text + {None: "", True: " (met)", False: " (**missed**)"}[self.met]

    def at(self, nodes: int) -> str:
        """Return the figure, judged where it is of the fleet that the targets speak of."""
        return self.judged if nodes == _TARGET_NODES else self.text


def table(results: Sequence[Results], first_pages: FirstPages) -> str:
    """Write the table: a row for each measure, a column for each size."""
    sizes = [f"{each.nodes:,} nodes" for each in results]
    rows = [["", "target", *sizes], ["---", "---", *("---:" for _ in sizes)]]
    for name, target, cell in _rows():
        rows.append([name, target, *(cell(each).at(each.nodes) for each in results)])
    rows += [*_growth(results), _first_page_row(first_pages, len(sizes))]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def _rows() -> list[tuple[str, str, Callable[[Results], Cell]]]:
    return [
        ("samples on the page", "", lambda of: Cell(f"{of.serving.page.samples:,}")),
        ("page, plain and gzipped, MiB", "", _page_sizes),
        ("the same, `state_series: current`", "", _current_sizes),
        ("nodes that fit 16 MiB: all states, current state", "", _fitting),
        ("scrape, gzip, ms: median, p99", "1.5 times the bare one + 1 ms", _scrape),
        ("bare handler, the same bytes, ms: median, p99", "", _bare),
        ("scrape, plain, ms: median, p99; bare handler", "", _plain),
        ("Pushgateway, gzip, ms: median; how often the exporter is faster", "200 times", _gateway),
        ("memory, MiB; Pushgateway", "at most Pushgateway's", _memory),
        *(
            (
                f"poll, {text}, CPU ms: median; against orjson.loads: median, p99",
                f"{_TARGETS[change]:g} times" if change in _TARGETS else "",
                lambda of, change=change: _poll(of, change),
            )
            for change, text in _POLLS.items()
        ),
        ("orjson.loads of the same answers, CPU ms", "", _loads),
        *(
            (
                f"event loop's lag, {_POLLS[change]}, ms: median, p99, longest",
                "p99 20 ms",
                lambda of, change=change: _lag(of, change),
            )
            for change in ("same", "shuffled", "changed")
        ),
    ]


def _page_sizes(of: Results) -> Cell:
    return _sizes(of.serving.page)


def _current_sizes(of: Results) -> Cell:
    return _sizes(of.current)


def _fitting(of: Results) -> Cell:
    pages = (of.serving.page, of.current)
    return Cell(", ".join(f"{of.nodes * _VM_LIMIT // len(page.plain):,}" for page in pages))


def _sizes(page: Page) -> Cell:
    return Cell(f"{mebibytes(len(page.plain))}, {mebibytes(len(page.gzipped))}")


def _scrape(of: Results) -> Cell:
    mine, bare = of.serving.gzipped, of.serving.bare_gzipped
    pairs = ((mine.median, bare.median), (mine.p99, bare.p99))
    met = all(one <= _SLOWER_THAN_BARE * other + _LATER_THAN_BARE_SECONDS for one, other in pairs)
    return Cell(_two(mine), met)


def _bare(of: Results) -> Cell:
    return Cell(_two(of.serving.bare_gzipped))


def _plain(of: Results) -> Cell:
    return Cell(f"{_two(of.serving.plain)}; {_two(of.serving.bare_plain)}")


def _two(series: Series) -> str:
    return f"{milliseconds(series.median)}, {milliseconds(series.p99)}"


def _gateway(of: Results) -> Cell:
    gateway = of.serving.gateway
    if gateway is None:
        return Cell("not installed")
    ratio = gateway.gzipped.median / of.serving.gzipped.median
    return Cell(
        f"{milliseconds(gateway.gzipped.median)}; {ratio:.0f}", ratio >= _FASTER_THAN_GATEWAY
    )


def _memory(of: Results) -> Cell:
    mine, gateway = of.serving.memory, of.serving.gateway
    text = f"{mebibytes(mine)} (at most {mebibytes(of.serving.peak)})"
    if gateway is None:
        return Cell(text)
    return Cell(f"{text}; {mebibytes(gateway.memory)}", of.serving.peak <= gateway.memory)


def _poll(of: Results, change: str) -> Cell:
    costs, ratio = of.polls[change], of.polls[change].polls.median / _load(of)
    worst = costs.polls.p99 / _load(of)
    text = f"{milliseconds(costs.polls.median)}; {ratio:.2g}, {worst:.2g}"
    return Cell(text, ratio <= _TARGETS[change] if change in _TARGETS else None)


def _loads(of: Results) -> Cell:
    return Cell(milliseconds(_load(of)))


def _load(of: Results) -> float:
    """Return the median over all the polls' answers, which are of one size."""
    return Series([load for each in of.polls.values() for load in each.loads.values]).median


def _lag(of: Results, change: str) -> Cell:
    lag = of.lag[change]
    times = (lag.median, lag.p99, lag.largest)
    return Cell(", ".join(map(milliseconds, times)), lag.p99 <= _LAG_SECONDS)


def _growth(results: Sequence[Results]) -> list[list[str]]:
    """Return how the cost of one node grew with the fleet, from the smallest to each size."""
    costs: dict[str, Callable[[Results], float]] = {
        "of a poll, every node changed": lambda of: of.polls["changed"].polls.median,
        "of a poll, the same bytes": lambda of: of.polls["same"].polls.median,
        "of a scrape, gzip": lambda of: of.serving.gzipped.median,
        "of memory": lambda of: of.serving.memory,
    }
    first = results[0]
    return [
        [
            f"cost a node {name}, against {first.nodes:,} nodes",
            "linear: 1",
            *(
                f"{growth((first.nodes, of(first)), (each.nodes, of(each))):.2g}"
                for each in results
            ),
        ]
        for name, of in costs.items()
    ]


def _first_page_row(pages: FirstPages, sizes: int) -> list[str]:
    delays = pages.delays
    cell = Cell(f"{delays.median:.2f}, {delays.largest:.2f}", delays.median <= _FIRST_PAGE)
    fleet = f"7 regions, {pages.nodes:,} nodes and {pages.runs} runs"
    name = f"first full page, {fleet}, in times of one answer: median, longest"
    return [name, f"{_FIRST_PAGE:g} times", cell.judged, *([""] * (sizes - 1))]


def machine() -> str:
    """Describe the machine and the versions."""
    info = Path("/proc/cpuinfo").read_text()
    model = next(
        (line.partition(":")[2].strip() for line in info.splitlines() if "model name" in line), "?"
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return (
        f"{os.cpu_count()} cores ({model}), {memory / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}; "
        f"{packages}.\n"
    )


def write_into(path: Path, text: str) -> None:
    """Put the results between the marks of a document."""
    before, _, rest = path.read_text().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    path.write_text(before + _BEGIN + "\n" + text + "\n" + _END + after)
