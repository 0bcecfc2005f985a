"""How runs begin, end and fail."""

import pytest

from exporter.simulator.run_lifecycle import ENDED_KEPT, FIRST_RANK, KILL_AFTER, RunLifecycle
from exporter.simulator.runs import Project, Run
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import START, SetClock


@pytest.fixture
def still() -> Simulator:
    """Give a simulator that only moves when it is pushed."""
    return Simulator(14, clock=SetClock(), alive=False)


def project_of(simulator: Simulator) -> Project:
    """Return the first project."""
    return next(iter(simulator.world.projects.values()))


def outcome(run: Run) -> list[tuple[str, int]]:
    """Return state and exit code of each rank."""
    return [(node.state.removeprefix("NODE_STATE_"), node.exit_code) for node in run.nodes]


def test_ranks_start_at_different_times(still: Simulator) -> None:
    """A new run is in progress at once; its ranks come up one after another."""
    run = RunLifecycle(still.world).start(project_of(still), 4)
    assert run.running
    assert {state for state, _ in outcome(run)} == {"PENDING"}
    still.advance(FIRST_RANK)
    assert [state for state, _ in outcome(run)] == ["RUNNING", "PENDING", "PENDING", "PENDING"]
    still.advance(10)
    assert {state for state, _ in outcome(run)} == {"RUNNING"}


def test_a_run_that_completes_ends_every_rank_with_0(still: Simulator) -> None:
    """The run is COMPLETED once its last rank has ended."""
    lifecycle = RunLifecycle(still.world)
    run = lifecycle.start(project_of(still), 2)
    still.advance(20)
    lifecycle.complete(run)
    still.advance(1)
    assert (outcome(run), run.running) == ([("COMPLETED", 0), ("RUNNING", -1)], True)
    still.advance(10)
    assert (outcome(run), run.status) == ([("COMPLETED", 0)] * 2, "RUN_STATE_COMPLETED")


def test_a_failing_rank_takes_its_run_with_it(still: Simulator) -> None:
    """One rank fails with its code; seconds later the others are killed and the run is over."""
    lifecycle = RunLifecycle(still.world)
    run = lifecycle.start(project_of(still), 3)
    still.advance(20)
    lifecycle.fail(run, rank=1, exit_code=137)
    assert outcome(run) == [("RUNNING", -1), ("FAILED", 137), ("RUNNING", -1)]
    assert run.running
    still.advance(KILL_AFTER)
    assert outcome(run) == [("FAILED", 143), ("FAILED", 137), ("FAILED", 143)]
    assert run.status == "RUN_STATE_FAILED"


def test_ended_runs_are_kept_up_to_a_number(still: Simulator) -> None:
    """Old ended runs leave the list, with their nodes' history, so that memory stays flat."""
    lifecycle, project = RunLifecycle(still.world), project_of(still)
    started = [lifecycle.start(project, 2)]
    for _ in range(ENDED_KEPT + 5):
        lifecycle.complete(started[-1])
        still.advance(30)
        started.append(lifecycle.start(project, 2))
    ended = [run for run in project.runs.values() if not run.running]
    assert len(ended) == ENDED_KEPT
    assert started[0].name not in project.runs
    assert still.world.history.of(started[0].key, START)[-1].state is None
