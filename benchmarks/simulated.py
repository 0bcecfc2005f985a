"""How long the simulator takes to start with 10,000 nodes, and to give a page of 100 of them.

`python -m benchmarks.simulated` prints both; the client shares the process.
"""

import asyncio
import statistics
import sys
import time

import aiohttp

from exporter.clouds.scp.signing import ScpDialect
from exporter.simulator.fleet import PLACES
from exporter.simulator.server import Simulator

NODES = 10_000
ROUNDS = 50


async def measure() -> tuple[float, list[float]]:
    """Return the seconds of the start, and those of each page."""
    began = time.perf_counter()
    simulator = Simulator(NODES, alive=False, places=PLACES[:1])
    await simulator.start()
    started = time.perf_counter() - began
    keys = {
        "access_key": simulator.credentials["SCP_ACCESS_KEY"],
        "secret_key": simulator.credentials["SCP_SECRET_KEY"],
    }
    dialect, took = ScpDialect(lambda: keys, "1.2"), []
    place = f"{PLACES[0].environment}/{PLACES[0].region}"
    async with aiohttp.ClientSession() as session:
        for page in range(ROUNDS):
            url = f"{simulator.url}/scp/{place}/v1/gpu-nodes?page={page}&size=100"
            began = time.perf_counter()
            headers = dialect.headers("GET", url, int(time.time() * 1000))
            async with session.get(url, headers=headers) as response:
                assert len((await response.json())["gpu_nodes"]) == 100  # noqa: PLR2004, S101
            took.append(time.perf_counter() - began)
    await simulator.stop()
    return started, took


def main() -> int:
    """Measure, and print a line for each."""
    started, took = asyncio.run(measure())
    worst = sorted(took)[int(len(took) * 0.99) - 1]
    print(f"start with {NODES} nodes: {started:.2f} s")  # noqa: T201
    print(f"page of 100: median {statistics.median(took) * 1e3:.1f} ms, p99 {worst * 1e3:.1f} ms")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
