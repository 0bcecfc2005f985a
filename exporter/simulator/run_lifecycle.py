"""How NSML runs begin, end and fail, rank by rank, in simulated time."""

from collections.abc import Callable

from exporter.simulator.history import Gone
from exporter.simulator.runs import PENDING, Project, Run, RunNode
from exporter.simulator.world import World

FIRST_RANK = 4.0  # seconds until the first rank of a new run runs
STAGGER = 1.5  # seconds between two ranks
KILL_AFTER = 6.0  # seconds until a run notices that it lost a rank
KILLED = 143  # the exit code of a process ended by SIGTERM
ENDED_KEPT = 20


class RunLifecycle:
    """Carries out what drills and chance do to runs."""

    def __init__(self, world: World) -> None:
        self._world = world

    def start(self, project: Project, ranks: int) -> Run:
        """Begin a run whose ranks come up one after another."""
        run = self._world.run_source.run(project, ranks, self._world.timeline.wall)
        self._put_run(run, run.status)
        for node in run.nodes:
            self._put_node(node, PENDING)
            self._later(run, FIRST_RANK + STAGGER * node.rank, self._starter(node))
        self._forget_old(project)
        return run

    def complete(self, run: Run) -> None:
        """Let every rank end well, one after another, and then the run."""
        run.plans += 1
        for node in run.nodes:
            self._later(run, STAGGER * node.rank, self._ender(node, 0))
        self._later(
            run, STAGGER * len(run.nodes), lambda: self._put_run(run, "RUN_STATE_COMPLETED")
        )

    def fail(self, run: Run, rank: int = 0, exit_code: int = 1) -> None:
        """Let one rank fail, and the run with it once it notices."""
        self.fail_rank(run, rank, exit_code)
        self._later(run, KILL_AFTER, lambda: self._kill(run))

    def fail_rank(self, run: Run, rank: int, exit_code: int = 1) -> None:
        """Let one rank fail while the others hang on; nothing more was planned for the run."""
        run.plans += 1
        self._put_node(run.nodes[rank], "NODE_STATE_FAILED", exit_code)

    def _kill(self, run: Run) -> None:
        for node in run.nodes:
            if node.state in {PENDING, "NODE_STATE_RUNNING"}:
                self._put_node(node, "NODE_STATE_FAILED", KILLED)
        self._put_run(run, "RUN_STATE_FAILED")

    def _starter(self, node: RunNode) -> Callable[[], None]:
        return lambda: self._put_node(node, "NODE_STATE_RUNNING")

    def _ender(self, node: RunNode, exit_code: int) -> Callable[[], None]:
        return lambda: self._put_node(node, "NODE_STATE_COMPLETED", exit_code)

    def _put_node(self, node: RunNode, state: str, exit_code: int = -1) -> None:
        node.state, node.exit_code = state, exit_code
        node.updated_at = self._world.timeline.wall
        self._world.history.record(node.id, state, node.updated_at)

    def _put_run(self, run: Run, status: str) -> None:
        run.status, run.updated_at = status, self._world.timeline.wall
        self._world.history.record(run.key, status, run.updated_at)

    def _later(self, run: Run, seconds: float, action: Callable[[], None]) -> None:
        """Carry the action out after so long, unless something else was decided by then."""
        planned = run.plans

        def due() -> None:
            if run.plans == planned:
                action()

        self._world.timeline.after(seconds, due)

    def _forget_old(self, project: Project) -> None:
        ended = [run for run in project.runs.values() if not run.running]
        for run in ended[:-ENDED_KEPT]:
            del project.runs[run.name]
            wall = self._world.timeline.wall
            self._world.history.bury(Gone("run", project.id, run.key, run.name, wall))
            for node in run.nodes:
                self._world.history.bury(Gone("run_node", run.key, node.id, str(node.rank), wall))
