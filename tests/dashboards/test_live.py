"""Every query of every dashboard, asked of a real Prometheus that scrapes two real exporters.

The exporters poll the same simulated clouds; one writes all states of an object and the
other only the present one. Some of the fleet has failed.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio

from boards.panels import LIMIT
from boards.prometheus import QueryError, Window
from boards.stage import SCRAPE_SECONDS, Stage, stage
from boards.viewer import Viewer, panels
from exporter.simulator.faults import Status
from exporter.simulator.server import Simulator
from tests.dashboards.files import ALL, UIDS, Json

pytestmark = [
    pytest.mark.scale,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
]

NODES = 64
HISTORY_SECONDS = 20
FAILED = 2

# What shows nothing although all is chosen: nothing may.
EMPTY_WITH_ALL: dict[str, str] = {}

# What may show nothing where only one or two values of each variable are chosen.
_NOTHING_WRONG = "nothing of that kind is wrong with what was chosen"
_NO_RUNS = "the chosen account is none of NSML's"
EMPTY_WITH_SOME = {
    "gpu-fleet / Runs in trouble": _NO_RUNS,
    "gpu-fleet / NSML runs by state": _NO_RUNS,
    "gpu-fleet / Runs in trouble now": _NO_RUNS,
    "gpu-fleet / GPUs by model": "all nodes that were chosen run",
    "gpu-fleet / Failed nodes now": _NOTHING_WRONG,
    "gpu-fleet / Degraded fabrics now": _NOTHING_WRONG,
    "gpu-fabric / Members that entered a state": "no member changed",
    "gpu-nsml-runs / Longest without an update": "the chosen runs have ended",
    "gpu-nsml-runs / In trouble": _NOTHING_WRONG,
    "gpu-nsml-runs / Exit codes": "no node of the chosen runs has ended",
    "gpu-exporter / Failed polls by reason": _NOTHING_WRONG,
    "gpu-exporter / Attempts that failed, by region and code": _NOTHING_WRONG,
}


@pytest.fixture(scope="module")
def prometheus() -> str:
    """Return the path of the program; without it a test is skipped, or fails in CI."""
    path = shutil.which("prometheus")
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("prometheus is not installed")
        pytest.skip("NEEDS prometheus")
    return path


@dataclass(frozen=True, slots=True)
class Wall:
    """The stage, and the window that all dashboards on the wall show."""

    on: Stage
    window: Window

    async def viewer(self, uid: str, number: int | None) -> Viewer:
        """Return a viewer of a dashboard who chose so many values, or All."""
        viewer = Viewer(ALL[uid], self.on.prometheus, self.window)
        await viewer.choose(number)
        return viewer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wall(prometheus: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wall]:
    """Give a stage on which some of everything has failed for a while."""
    simulator = Simulator(NODES, seed=1, alive=False)
    async with stage(tmp_path_factory.mktemp("stage"), simulator, prometheus) as on:
        began = on.now
        await asyncio.sleep(HISTORY_SECONDS)
        _break(simulator)
        await asyncio.sleep(HISTORY_SECONDS)
        yield Wall(on, Window(began, on.now, SCRAPE_SECONDS))


def _break(simulator: Simulator) -> None:
    drills = simulator.drills
    drills.fail_node()
    drills.fail_node(state="UNKNOWN")
    drills.fail_node(state="STOPPED")
    drills.fail_run_node()
    drills.fail_run()
    simulator.faults.add(Status(environment="g", region="kr-south2", status=503, requests=60))


async def results(viewer: Viewer, panel: Json) -> dict[str, int | str]:
    """Return how many series each query of a panel gives, or what is wrong with it."""
    found: dict[str, int | str] = {}
    for target in panel["targets"]:
        try:
            found[target["refId"]] = len(await viewer.ask(target))
        except QueryError as error:
            found[target["refId"]] = str(error)
    return found


@pytest.mark.parametrize("number", [1, 2, None], ids=["one value", "two values", "All"])
@pytest.mark.parametrize("uid", UIDS)
async def test_every_query_has_an_answer(wall: Wall, uid: str, number: int | None) -> None:
    """No query is refused, and each gives something, but for those that are listed by name."""
    viewer = await wall.viewer(uid, number)
    may_be_empty = EMPTY_WITH_SOME if number else EMPTY_WITH_ALL
    wrong = {}
    for panel in panels(ALL[uid]):
        name = f"{uid} / {panel['title']}"
        for letter, found in (await results(viewer, panel)).items():
            if isinstance(found, str) or (found == 0 and name not in may_be_empty):
                wrong[name, letter] = found
    assert wrong == {}


@pytest.mark.parametrize("uid", UIDS)
async def test_every_variable_has_choices(wall: Wall, uid: str) -> None:
    """Those that a viewer sees, and those that choose what a timeline has room for."""
    viewer = await wall.viewer(uid, None)
    assert [name for name, options in viewer.options.items() if not options] == []
    assert all(len(options) <= LIMIT for name, options in viewer.options.items() if "worst" in name)


@pytest.mark.parametrize("uid", UIDS)
async def test_the_annotations_show_what_fires(wall: Wall, uid: str) -> None:
    """Each dashboard whose choice has to do with an alert marks it; without rules, none does."""
    viewer = await wall.viewer(uid, None)
    names = {series.labels["alertname"] for series in await viewer.firing()}
    assert names == (set() if uid == "gpu-nsml-runs" else {"ScpGpuNodeFailed"})


async def number(wall: Wall, uid: str, title: str) -> float:
    """Return what a stat shows with All."""
    viewer = await wall.viewer(uid, None)
    [panel] = [panel for panel in panels(ALL[uid]) if panel["title"] == title]
    [series] = await viewer.ask(panel["targets"][0])
    return series.last


async def test_two_replicas_show_each_node_once(wall: Wall) -> None:
    """What the overview says is what is true in the clouds."""
    states = [
        node.state
        for place in wall.on.simulator.truth().scp
        for node in place.gpu_nodes
        if node.state is not None
    ]
    assert len(states) == await number(wall, "gpu-fleet", "GPU nodes")
    assert states.count("ERROR") + states.count("UNKNOWN") == FAILED
    assert await number(wall, "gpu-fleet", "Failed nodes") == FAILED
    running = states.count("RUNNING")
    assert await number(wall, "gpu-fleet", "GPUs in service") == running * 8
    assert await number(wall, "gpu-fleet", "GPUs out of service") == (len(states) - running) * 8
    assert await number(wall, "gpu-fleet", "Regions out of sight") == 0


async def test_dashboards_agree(wall: Wall) -> None:
    """The same question has the same answer on each dashboard that asks it."""
    nodes = await number(wall, "gpu-fleet", "GPU nodes")
    assert await number(wall, "gpu-fabric", "Nodes seen") == nodes
    assert await number(wall, "gpu-fabric", "Members") == nodes
    assert await number(wall, "gpu-node", "Nodes chosen") == nodes
    assert await number(wall, "gpu-fabric", "Failed") == FAILED
    assert await number(wall, "gpu-node", "Failed") == FAILED
    running = await number(wall, "gpu-node", "Running")
    assert await number(wall, "gpu-fabric", "Running") == running
    assert await number(wall, "gpu-fabric", "Not running") == nodes - running
