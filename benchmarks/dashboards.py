"""How long the dashboards' queries take in a Prometheus with a fleet of 10,000 nodes.

`python -m benchmarks.dashboards` prints each query that is not quick, with its time and that
of Prometheus' processor, and the slowest of each dashboard, in about 8 minutes; `--nodes` and
`--seconds` make it smaller. All is chosen everywhere. Two replicas of the exporter are
scraped, and a query over time asks for 300 points, as a panel of a usual width does.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from boards.all import BOARDS
from boards.prometheus import QueryError, Window
from boards.stage import Stage, stage
from boards.viewer import Json, Viewer, panels
from exporter.simulator.server import Simulator

PACE_SECONDS = 15
POINTS = 300
SLOW_SECONDS = 0.5
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Took:
    """How long a query of a dashboard took at best, and how many series it gave.

    `processor` is what it took of Prometheus' own time: on a machine that has nothing else to
    do, both are about the same.
    """

    board: str
    name: str
    seconds: float
    processor: float
    series: int | str

    def __str__(self) -> str:
        times = f"{self.seconds:6.2f} s {self.processor:6.2f} s"
        return f"{times}  {self.series!s:>5}  {self.board} / {self.name}"


async def measure(nodes: int, seconds: float, prometheus: str) -> list[Took]:
    """Return what each query took, variables included, once there is so much history."""
    simulator = Simulator(nodes, seed=1, alive=False)
    with tempfile.TemporaryDirectory() as name:
        async with stage(Path(name), simulator, prometheus, PACE_SECONDS) as on:
            await on.until(f"count by (instance) (scp_gpu_node_info) >= {nodes}", 2)
            await asyncio.sleep(seconds)
            window = Window(on.now - POINTS, on.now, PACE_SECONDS, POINTS, least_step=1)
            for exporter in on.exporters:  # so that Prometheus has nothing else to do
                await asyncio.to_thread(exporter.stop)
            return [took for board in BOARDS for took in await _board(on, board.to_json(), window)]


async def _board(on: Stage, board: Json, window: Window) -> list[Took]:
    viewer = Viewer(board, on.prometheus, window)

    async def choose() -> int:
        await viewer.choose(None)
        return len(viewer.options)

    found = [await _best(viewer, "all variables", choose)]
    for panel in panels(board):
        for target in panel["targets"]:
            name = f"{panel['title']} {target['refId']}"
            found.append(await _best(viewer, name, partial(_series, viewer, target)))
    return found


async def _series(viewer: Viewer, target: Json) -> int:
    return len(await viewer.ask(target))


async def _best(viewer: Viewer, name: str, ask: Callable[[], Awaitable[int]]) -> Took:
    """Return the shortest of some rounds: what else the machine does only makes them longer."""
    rounds: list[tuple[float, float]] = []
    found: int | str = 0
    for _ in range(ROUNDS):
        spent, began = await viewer.prometheus.processor_seconds(), time.perf_counter()
        try:
            found = await ask()
        except QueryError as error:
            found = str(error)
        took = time.perf_counter() - began
        rounds.append((took, await viewer.prometheus.processor_seconds() - spent))
    seconds, processor = (min(times) for times in zip(*rounds, strict=True))
    return Took(viewer.board["uid"], name, seconds, processor, found)


def main(argv: Sequence[str]) -> None:
    """Measure, and print what is slow."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboards", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=320.0, help="of history")
    given = parser.parse_args(argv)
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("needs prometheus")
    found = asyncio.run(measure(given.nodes, given.seconds, program))
    slowest = {took.board: took for took in sorted(found, key=lambda took: took.processor)}
    slow = [took for took in found if took.processor > SLOW_SECONDS or isinstance(took.series, str)]
    print(f"{given.nodes} nodes, {len(found)} queries; over {SLOW_SECONDS} s of a processor:")  # noqa: T201
    print(*slow, "slowest of each dashboard:", *slowest.values(), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
