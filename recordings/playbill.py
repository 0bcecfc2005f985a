"""Which drills there are, and the clouds that each is performed on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from recordings import drills, fleets, runs
from recordings.recorder import Recorder
from recordings.rules import scraped
from recordings.stage import Stage, open_stage
from tests.clocks import FakeClock

_OF_THE_PROCESS = {
    "gpu_cluster_exporter_config_last_reload_successful",
    "gpu_cluster_exporter_event_loop_lag_seconds_bucket",
    "gpu_cluster_exporter_exposition_bytes",
    "gpu_cluster_exporter_polls_total",
}
ONE_REGION = (Place("e", "kr-west1"),)


@dataclass(frozen=True, slots=True)
class Drill:
    """What is performed, and the fleet: so many nodes of a seed, in these places.

    `process` is whether what the exporter tells of its own process is recorded as well, and
    `objects` whether what it tells of the clouds' objects is.
    """

    act: Callable[[Stage], Awaitable[None]]
    process: bool = False
    objects: bool = True
    nodes: int = 5
    seed: int = 5
    places: Sequence[Place] = ONE_REGION


_REGIONS = (
    Place("e", "kr-west1"),
    Place("e", "kr-east1"),
    Place("g", "kr-south1"),
    Place("g", "kr-south2"),
)

DRILLS = {
    "pages": Drill(drills.pages),
    "pages_all": Drill(drills.pages_all),
    "deletions": Drill(drills.deletions),
    "plans": Drill(drills.plans),
    "slow": Drill(drills.slow, nodes=10, seed=14),
    "mended": Drill(drills.mended, nodes=10, seed=14),
    "versions": Drill(drills.versions),
    "day": Drill(drills.day),
    "removed": Drill(drills.removed),
    "unseen": Drill(drills.unseen),
    "replicas": Drill(fleets.replicas),
    "regions": Drill(fleets.regions, nodes=6, places=_REGIONS),
    "runs": Drill(runs.runs),
    "ranks": Drill(runs.ranks),
    "stops": Drill(runs.stops),
    "exporter": Drill(fleets.exporter, process=True),
    "refused": Drill(fleets.refused),
    "partial": Drill(fleets.partial),
    "large": Drill(fleets.large, nodes=4600, process=True, objects=False),
}


async def perform(drill: Drill, directory: Path) -> Recorder:
    """Perform a drill, and return what was recorded of it."""
    clock = FakeClock()
    wanted = {
        name: asked
        for name, asked in scraped().items()
        if (drill.process or name not in _OF_THE_PROCESS)
        and (drill.objects or name.startswith("gpu_cluster_exporter_"))
    }
    recorder = Recorder(wanted)
    simulator = Simulator(
        drill.nodes, seed=drill.seed, clock=clock.wall, speed=0, alive=False, places=drill.places
    )
    async with open_stage(simulator, clock, recorder, directory) as stage:
        await drill.act(stage)
    return recorder
