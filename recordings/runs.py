"""The drills on runs of CLOVA NSML, by the minute."""

from exporter.simulator.faults import ChildrenGone, Reset
from exporter.simulator.run_lifecycle import KILLED, RunLifecycle
from exporter.simulator.runs import Run
from recordings.configurations import nsml
from recordings.stage import Stage


def training(stage: Stage) -> list[Run]:
    """Return the training runs in progress, the smallest first."""
    found = [
        run
        for project in stage.simulator.world.projects.values()
        for run in project.runs.values()
        if run.running and run.type == "TRAINING"
    ]
    return sorted(found, key=lambda run: len(run.nodes))


def configuration(stage: Stage, runs: list[Run]) -> str:
    """Write a configuration of these runs alone."""
    return nsml(stage.simulator.url, [(run.project.id, run.name) for run in runs])


def end_rank(stage: Stage, run: Run, rank: int, code: int) -> None:
    """Let a rank end with a code, whatever becomes of the others."""
    RunLifecycle(stage.simulator.world).fail_rank(run, rank, code)


def put(stage: Stage, run: Run, status: str) -> None:
    """Put a run into a state."""
    run.status, run.updated_at = status, stage.simulator.timeline.wall


async def runs(stage: Stage) -> None:
    """Let runs fail in every way; have an outage of each kind; then delete all of them."""
    simulator = stage.simulator
    small, middle, large = training(stage)
    daemon = await stage.replica(configuration(stage, [small, middle, large]))
    await stage.until(3, "calm")
    for rank, code in enumerate((2, KILLED)):
        end_rank(stage, small, rank, code)
    put(stage, small, "RUN_STATE_FAILED")
    simulator.drills.fail_run_node(middle.project.id, middle.name, rank=1, exit_code=1)
    simulator.faults.add(
        ChildrenGone(cloud="nsml", path=f"/projects/{large.project.id}/runs/{large.name}/nodes$")
    )
    await stage.until(24, "fault")
    down = simulator.faults.add(Reset(cloud="nsml"))
    await stage.until(34, "outage")
    await daemon.stop()
    await stage.until(36, "outage")
    await daemon.start()
    await stage.until(38, "outage")
    stage.scraping = False
    simulator.faults.clear(down.id)
    await stage.until(42, "outage")
    stage.scraping = True
    await stage.until(45, "back")
    for run in (small, middle, large):
        del run.project.runs[run.name]
    await stage.until(50, "deleted")


async def ranks(stage: Stage) -> None:
    """Kill a rank, take one away, break one, and the run with it; let others only start."""
    simulator = stage.simulator
    _, middle, large = training(stage)
    # The site's own labels of these names stay on series that have none, as those of runs.
    await stage.replica(
        configuration(stage, [middle, large]), team="speech", environment="office", region="dc1"
    )
    for node in large.nodes[4:]:
        node.state = "NODE_STATE_PENDING"
    await stage.until(4, "calm")
    end_rank(stage, middle, 2, 137)
    await stage.until(9, "fault")
    middle.nodes[2].state, middle.nodes[2].exit_code = "NODE_STATE_RUNNING", -1
    for node in large.nodes[4:]:
        node.state = "NODE_STATE_RUNNING"
    await stage.until(13, "back")
    lost = middle.nodes.pop()
    await stage.until(18, "fault")
    middle.nodes.append(lost)
    await stage.until(22, "back")
    simulator.drills.fail_run_node(middle.project.id, middle.name, rank=0, exit_code=1)
    await stage.until(26, "fault")
    simulator.drills.fail_run(middle.project.id, middle.name)
    await stage.until(30, "fault")


async def stops(stage: Stage) -> None:
    """Begin runs, end them well, and stop them by plan, rank after rank."""
    simulator = stage.simulator
    small, middle, _ = training(stage)
    begun = RunLifecycle(simulator.world).start(small.project, 4)
    await stage.replica(configuration(stage, [small, middle, begun]))
    await stage.until(4, "plan")
    simulator.drills.end_run(small.project.id, small.name)
    await stage.until(8, "plan")
    for rank in range(2):
        end_rank(stage, middle, rank, KILLED)
    await stage.until(9, "plan")
    for rank in range(2, 4):
        end_rank(stage, middle, rank, KILLED)
    put(stage, middle, "RUN_STATE_STOPPED")
    await stage.until(16, "plan")
