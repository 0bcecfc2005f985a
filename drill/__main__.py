"""Runs the drill: `python -m drill --seconds 120 --seed 1`; `make drill` does it for you.

The exporter runs as a process of its own with short intervals. Beside it the simulated
fleet lives, and faults of every kind come and go. Every half second a page is scraped and
held against the truth; at the end stands a report, and the exit code is 0 if it is clean.
"""

import argparse
import asyncio
import contextlib
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import aiohttp

from drill.checks import Findings, Limits, check
from drill.faults import Planned, plan
from drill.truth import Lies
from exporter.simulator.server import Simulator

NODES = 84
SPEED = 12.0
SCRAPE_SECONDS = 0.5
LIMITS = Limits(timeout=1.0, stale_after=5.0)
CONFIG = """
polling: &polling
  interval: 1s
  timeout: 1s
  request_timeout: 500ms
  catalog_interval: 3s
  stale_after: 5s
  max_backoff: 2s
  requests_per_second: 200
  max_concurrent_requests: 8
  page_size: 5
scp:
  - {account: drill-s, environment: s, access_key_env: SCP_ACCESS_KEY, secret_key_env: SCP_SECRET_KEY, endpoint: "URL/scp/{environment}/{region}"}
  - {account: drill-g, environment: g, access_key_env: SCP_ACCESS_KEY, secret_key_env: SCP_SECRET_KEY, endpoint: "URL/scp/{environment}/{region}"}
  - {account: drill-e, environment: e, access_key_env: SCP_ACCESS_KEY, secret_key_env: SCP_SECRET_KEY, endpoint: "URL/scp/{environment}/{region}"}
nsml:
  - {account: drill, access_key_env: NCP_ACCESS_KEY, secret_key_env: NCP_SECRET_KEY, api_key_env: NCP_API_KEY, endpoint: "URL/nsml/v1", polling: *polling, terminal_run_retention: 10s}
"""  # noqa: E501


class Drill:
    """One run of the drill."""

    def __init__(self, seed: int, seconds: float) -> None:
        self.dice = random.Random(seed)
        self.seconds = seconds
        self.simulator = Simulator(NODES, seed=seed, speed=SPEED)
        self.lies = Lies()
        self.findings = Findings()
        self.faults: Counter[str] = Counter()
        self._history: list[tuple[str, float]] = []
        self._explained = 0
        self.highest_memory_kib = 0
        self.polls = 0.0

    async def run(self) -> None:
        """Run everything for the time that was asked for."""
        async with self.simulator, self._exporter() as (url, pid):
            deadline = time.monotonic() + self.seconds
            troublemakers = [asyncio.create_task(self._trouble(deadline)) for _ in range(4)]
            await self._watch(url, pid, deadline)
            await asyncio.gather(*troublemakers)

    @contextlib.asynccontextmanager
    async def _exporter(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
        with tempfile.TemporaryDirectory() as directory:
            config = Path(directory) / "drill.yml"
            config.write_text(CONFIG.replace("URL", self.simulator.url))
            log = (Path(directory) / "log").open("wb")
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "exporter", "--config.file", str(config),
                "--web.listen-address=127.0.0.1:0",
                env={**os.environ, **self.simulator.credentials},
                stderr=log,
            )  # fmt: skip
            try:
                yield await self._address(Path(directory) / "log"), process.pid
            finally:
                process.terminate()
                await process.wait()
                log.close()
                self._keep_log(Path(directory) / "log")

    async def _address(self, log: Path) -> str:
        async with asyncio.timeout(20):
            while True:
                for word in log.read_text().split():
                    if word.startswith("addresses="):
                        return word.removeprefix("addresses=")
                await asyncio.sleep(0.05)

    def _keep_log(self, log: Path) -> None:
        text = log.read_text(errors="replace")
        if "Traceback" in text or "defect" in text:
            self.findings.wrong.append(
                "a traceback in the log: " + text[text.find("defect") :][:2000]
            )

    async def _trouble(self, deadline: float) -> None:
        """Put faults in force one after the other, with pauses in which all is well."""
        while time.monotonic() < deadline:
            planned = plan(self.dice)
            await self._inflict(planned)
            await asyncio.sleep(self.dice.uniform(0.1, 4.0))

    async def _inflict(self, planned: Planned) -> None:
        self.faults[type(planned.fault).__name__] += 1
        began = time.time()
        if planned.lies:
            self.lies.add(planned.place, began, began + planned.seconds + 2.0)
        what = f"{planned.place} {planned.fault!r} for {planned.seconds:.1f} s"
        self._history.append((what, began + planned.seconds))
        standing = self.simulator.faults.add(planned.fault)
        await asyncio.sleep(planned.seconds)
        self.simulator.faults.clear(standing.id)

    async def _watch(self, url: str, pid: int, deadline: float) -> None:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
            while time.monotonic() < deadline:
                try:
                    async with session.get(f"{url}/metrics") as response:
                        text = await response.text()
                        at = time.time()
                    if response.status != 200 or not text:
                        self.findings.failed_scrapes.append(f"HTTP {response.status}")
                    else:
                        check(text, self.simulator.truth(), at, self.lies, LIMITS, self.findings)
                        self._explain(at)
                        self._note(text, pid)
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.findings.failed_scrapes.append(repr(error))
                await asyncio.sleep(SCRAPE_SECONDS)

    def _explain(self, at: float) -> None:
        """Say beside new findings which faults were in force just then."""
        findings = self.findings.wrong
        if len(findings) > self._explained:
            lately = [what for what, end in self._history if end > at - LIMITS.stale_after]
            findings.append("  faults then: " + "; ".join(lately))
            self._explained = len(findings)

    def _note(self, text: str, pid: int) -> None:
        lines = (line for line in text.splitlines() if "exporter_polls_total{" in line)
        self.polls = sum(float(line.rpartition(" ")[2]) for line in lines)
        status = Path(f"/proc/{pid}/status").read_text()
        high = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        self.highest_memory_kib = int(high.split()[1])

    def report(self) -> bool:
        """Print what happened; return whether it was clean."""
        found = self.findings
        print(f"polls                  {self.polls:.0f}")
        print(f"faults                 {sum(self.faults.values())}")
        for kind, number in sorted(self.faults.items()):
            print(f"  {kind:<20} {number}")
        print(f"pages checked          {found.pages}, values {found.values}")
        for name, what in (
            ("wrong values", found.wrong),
            ("false zeros", found.false_zeros),
            ("failed scrapes", found.failed_scrapes),
        ):
            print(f"{name:<22} {len(what)}")
            for line in what[:10]:
                print(f"  {line}")
        print(f"highest memory         {self.highest_memory_kib / 1024:.0f} MiB")
        return not (found.wrong or found.false_zeros or found.failed_scrapes)


def main() -> int:
    """Run the drill of the command line; 0 if nothing untrue was seen."""
    parser = argparse.ArgumentParser(prog="drill", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=180.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    drill = Drill(arguments.seed, arguments.seconds)
    print(f"seed {arguments.seed}, {arguments.seconds:.0f} s")
    asyncio.run(drill.run())
    return 0 if drill.report() else 1


if __name__ == "__main__":
    sys.exit(main())
