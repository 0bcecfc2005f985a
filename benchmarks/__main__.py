"""Runs all benchmarks and prints their table: `python -m benchmarks [--quick]`."""

import argparse
import asyncio
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import first_page, lag, polls, report, serving
from benchmarks.fleet import CHANGES, Fleet, make_fleet, save
from exporter.cli import settle_interpreter


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: what is slow is repeated less often with large fleets."""

    sizes: Sequence[int]
    scrapes: int
    polls: int
    gateway_scrapes: int
    lag_seconds: float
    first_pages: int
    delay_seconds: float

    def runs(self, of: int, nodes: int) -> int:
        """Return how often to repeat what takes longer the more nodes there are."""
        return max(of * 1000 // max(nodes, 1000), min(of, 5))


FULL = Plan((1_000, 10_000, 50_000), 300, 300, 200, 30.0, 5, 2.0)
MIDDLE = Plan((1_000, 10_000), 150, 80, 60, 10.0, 2, 1.0)
QUICK = Plan((200, 1_000), 30, 5, 3, 2.0, 1, 0.5)


def main(argv: Sequence[str]) -> None:
    """Measure, and print the table; write it into a document where one is named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small fleets, about a minute")
    parser.add_argument("--middle", action="store_true", help="up to 10,000 nodes, some minutes")
    parser.add_argument("--write", type=Path, metavar="FILE", help="a document with marks")
    arguments = parser.parse_args(argv)
    # So that whoever ends this also ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    plan = QUICK if arguments.quick else MIDDLE if arguments.middle else FULL
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        results = [_measure(directory, nodes, plan) for nodes in plan.sizes]
        _tell("first pages")
        pages = first_page.measure(directory, plan.delay_seconds, plan.first_pages)
    text = report.machine() + "\n" + report.table(results, pages)
    sys.stdout.write(text)
    if arguments.write:
        report.write_into(arguments.write, text)


def _measure(directory: Path, nodes: int, plan: Plan) -> report.Results:
    fleet, path = asyncio.run(make_fleet(nodes)), directory / f"fleet-{nodes}"
    save(fleet, path)
    _tell(f"{nodes} nodes: scrapes")
    served = serving.measure(directory, path, plan.scrapes, plan.runs(plan.gateway_scrapes, nodes))
    current = serving.page_of(directory, path, "current")
    _tell(f"{nodes} nodes: polls")
    costs = {change: _polls(fleet, change, plan) for change in (*CHANGES, "new")}
    _tell(f"{nodes} nodes: event loop")
    lags = {change: lag.measure(directory, path, change, plan.lag_seconds) for change in CHANGES}
    return report.Results(nodes, served, current, costs, lags)


def _polls(fleet: Fleet, change: str, plan: Plan) -> polls.PollCosts:
    settle_interpreter()  # as the daemon does; orjson has the same of it
    return polls.measure(fleet, change, plan.runs(plan.polls, len(fleet.nodes)))


def _tell(what: str) -> None:
    sys.stderr.write(f"{what}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
