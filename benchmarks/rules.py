"""What the alert rules cost a Prometheus with a fleet of 10,000 nodes.

`python -m benchmarks.rules` runs two replicas of the exporter against a cloud that answers from
memory, and a Prometheus with the bundled rules; it prints what an evaluation of all rules takes
of the processor, what each rule takes that takes long, and Prometheus' processor a minute, in
about 7 minutes. `--rules DIR` measures other rules, and, given again, those of several folders one
after the other in the same conditions. A Prometheus without rules comes first: what it takes to
scrape is no cost of the rules.
"""

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import daemons
from benchmarks.fleet import PLACE, make_fleet, save
from benchmarks.processes import Running, running
from benchmarks.scrapes import ready, wait_until
from recordings.rules import ALERTS, FILES

PACE_SECONDS = 15
_CPU = "process_cpu_seconds_total"
_DONE = "prometheus_rule_group_iterations_"
_GROUP = "gpu-cluster-scp"
WARM_SECONDS = 75.0
SHOWN = 12
_REGION = """\
polling: {{interval: 30s, requests_per_second: 100000}}
metrics: {{state_series: {states}}}
scp:
  - account: bench
    environment: {place.environment}
    regions: [{place.region}]
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    endpoint: {url}/scp/{{environment}}/{{region}}
"""
_SCRAPING = """\
global: {{scrape_interval: {pace}s, scrape_timeout: {pace}s, evaluation_interval: {pace}s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: gpu-cluster-exporter
    honor_labels: true
    static_configs: [{{targets: [{targets}]}}]
"""

Times = Mapping[tuple[str, int, str], float]
"""How long a rule took: by its group, its place in there and its name."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What rules cost: a typical evaluation of each, and Prometheus' processor a minute.

    `evaluations` is how many a minute there were; where one takes too long the next is left out.
    """

    name: str
    rules: Times
    processor: float
    evaluations: float

    def lines(self, nothing: "Cost") -> Iterator[str]:
        """Yield the sums, and the rules that take longest, beside a Prometheus without rules."""
        each = (self.processor - nothing.processor) / self.evaluations
        yield (
            f"{self.name}: {each:.2f} s of a processor an evaluation, of which there were"
            f" {self.evaluations:.1f} a minute; {sum(self.rules.values()):.2f} s from start to end;"
            f" Prometheus {self.processor:.1f} s of a processor a minute,"
            f" {nothing.processor:.1f} s without rules"
        )
        longest = sorted(self.rules.items(), key=lambda rule: -rule[1])
        yield from (f"  {took * 1e3:6.0f} ms  {name}" for (_, _, name), took in longest[:SHOWN])


@contextmanager
def exporters(directory: Path, nodes: int, states: str) -> Iterator[list[Running]]:
    """Run two replicas that have polled a fleet of so many nodes, and go on polling it."""
    path = directory / "fleet"
    save(asyncio.run(make_fleet(nodes)), path)
    with daemons.cloud(path, "same") as url:
        config = directory / "gpu-cluster-exporter.yml"
        config.write_text(_REGION.format(states=states, place=PLACE, url=url))
        with daemons.exporter(config) as one, daemons.exporter(config) as other:
            wait_until(lambda: ready(one.port) and ready(other.port))
            yield [one, other]


def measure(
    directory: Path, targets: Sequence[Running], folder: Path | None, seconds: float
) -> Cost:
    """Return what the rules of a folder cost, or what none do."""
    name = str(folder or "no rules")
    with tempfile.TemporaryDirectory(dir=directory) as data:
        config = Path(data) / "prometheus.yml"
        rules = [str((folder / file).resolve()) for file in FILES] if folder else []
        ports = ", ".join(f'"127.0.0.1:{each.port}"' for each in targets)
        config.write_text(
            _SCRAPING.format(pace=PACE_SECONDS, rules=", ".join(rules), targets=ports)
        )
        with running(_command(config), None, Path(data)) as process:
            process.wait_until_ready()
            return asyncio.run(_watch(process.url, name, seconds))


def _command(config: Path) -> list[str]:
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("needs prometheus")
    return [
        program,
        f"--config.file={config}",
        "--web.listen-address=127.0.0.1:0",
        f"--storage.tsdb.path={config.parent / 'data'}",
    ]


async def _watch(url: str, name: str, seconds: float) -> Cost:
    """Look at each evaluation for so long, once the first ones are over."""
    async with aiohttp.ClientSession() as session:
        await asyncio.sleep(WARM_SECONDS)
        seen: defaultdict[tuple[str, int, str], list[float]] = defaultdict(list)
        before, began = await _counters(url, session), time.monotonic()
        for _ in range(max(int(seconds / PACE_SECONDS), 1)):
            await asyncio.sleep(PACE_SECONDS)
            for rule, took in (await _times(url, session)).items():
                seen[rule].append(took)
        after, minutes = await _counters(url, session), (time.monotonic() - began) / 60
    processor, evaluations = ((after[each] - before[each]) / minutes for each in (_CPU, _DONE))
    typical = {rule: statistics.median(times) for rule, times in seen.items()}
    return Cost(name, typical, processor, evaluations)


async def _counters(url: str, session: aiohttp.ClientSession) -> Mapping[str, float]:
    """Return Prometheus' processor so far, and how often the main group of nodes was evaluated."""
    async with session.get(f"{url}/metrics") as response:
        lines = [line.rpartition(" ") for line in (await response.text()).splitlines()]
    found: defaultdict[str, float] = defaultdict(float)
    for series, _, value in lines:
        if series == _CPU:
            found[_CPU] += float(value)
        if series.startswith(_DONE) and f';{_GROUP}"' in series:
            found[_DONE] += -float(value) if "missed" in series else float(value)
    return found


async def _times(url: str, session: aiohttp.ClientSession) -> Times:
    """Return how long each rule took when it was last evaluated; all of them were without error."""
    async with session.get(f"{url}/api/v1/rules") as response:
        groups: list[dict[str, Any]] = (await response.json())["data"]["groups"]
    rules = [
        (group["name"], place, rule)
        for group in groups
        for place, rule in enumerate(group["rules"])
    ]
    if ill := [rule["name"] for *_, rule in rules if rule["health"] == "err"]:
        sys.exit(f"rules that can't be evaluated: {ill}")
    return {(group, place, rule["name"]): rule["evaluationTime"] for group, place, rule in rules}


def main(argv: Sequence[str]) -> None:
    """Measure, and print what the rules cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=120.0, help="to look at each")
    parser.add_argument("--states", choices=("all", "current"), default="all")
    parser.add_argument(
        "--rules", type=Path, action="append", metavar="DIR", help="in place of alerts/"
    )
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with exporters(directory, given.nodes, given.states) as targets:
            found = [
                measure(directory, targets, folder, given.seconds)
                for folder in (None, *(given.rules or [ALERTS]))
            ]
    print(f"{given.nodes} nodes, two replicas, state_series: {given.states}")  # noqa: T201
    nothing, *costs = found
    for cost in costs:
        print(*cost.lines(nothing), sep="\n")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
