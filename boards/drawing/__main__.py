"""Draws every dashboard for the documentation: `python -m boards.drawing`, about 5 minutes.

It runs simulated clouds, two replicas of the exporter and a Prometheus, lets a few things
fail, and draws what the dashboards then show.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path

from boards.all import BOARDS
from boards.drawing.page import draw
from boards.prometheus import Window
from boards.stage import SCRAPE_SECONDS, Stage, stage
from boards.viewer import Viewer
from exporter.simulator.faults import RateLimit, Status
from exporter.simulator.server import Simulator

ROOT = Path(__file__).parent.parent.parent
DIRECTORY = ROOT / "docs" / "dashboards"
NODES = 64
PAUSE_SECONDS = 40


async def play(on: Stage) -> None:
    """Let some of it fail and recover, as it would in the field."""
    drills, faults = on.simulator.drills, on.simulator.faults
    await asyncio.sleep(PAUSE_SECONDS)
    failed = drills.fail_node()
    stopped = drills.fail_node(state="STOPPING")
    drills.fail_run_node()
    faults.add(RateLimit(environment="g", region="kr-south2", seconds=1, requests=12))
    await asyncio.sleep(PAUSE_SECONDS / 2)
    drills.fail_node(stopped, "STOPPED")
    drills.vanish_node()
    await asyncio.sleep(PAUSE_SECONDS)
    drills.fail_run()
    drills.recover_node(failed)
    faults.add(Status(environment="s", region="kr-east1", status=503, requests=40))
    await asyncio.sleep(PAUSE_SECONDS / 2)
    drills.fail_node(stopped, "STARTING")
    drills.kill_region("g", "kr-south3")
    await asyncio.sleep(PAUSE_SECONDS)
    drills.fail_node(failed, "UNKNOWN")
    await asyncio.sleep(PAUSE_SECONDS)


async def picture(prometheus: str) -> None:
    """Write a drawing of each dashboard."""
    simulator = Simulator(NODES, seed=3)
    with tempfile.TemporaryDirectory() as name:
        async with stage(Path(name), simulator, prometheus) as on:
            began = on.now
            await play(on)
            window = Window(began, on.now, SCRAPE_SECONDS)
            for board in BOARDS:
                read = json.loads((ROOT / "dashboards" / board.file).read_text(encoding="utf-8"))
                viewer = Viewer(read, on.prometheus, window)
                await viewer.choose(None)
                file = DIRECTORY / board.file.replace(".json", ".svg")
                file.write_text(await draw(viewer), encoding="utf-8")


if __name__ == "__main__":
    program = shutil.which("prometheus")
    if program is None:
        sys.exit("needs prometheus")
    asyncio.run(picture(program))
