"""The objects of NSML: projects, runs and the nodes (ranks) of runs, and those a seed gives."""

import random
from dataclasses import dataclass, field

IN_PROGRESS = "RUN_STATE_IN_PROGRESS"
PENDING = "NODE_STATE_PENDING"
RESOURCE_TYPES = ("[H100] 8GPU, 192vCPU, 1920GB Mem", "[A100] 8GPU, 96vCPU, 960GB Mem")
NOTEBOOK_TYPE = "[Notebook] 4vCPU, 16GB Mem"
CONTAINER_IMAGES = ("nvcr.io/nvidia/pytorch:24.07-py3", "nvcr.io/nvidia/nemo:24.05")
CREATORS = ("user-a", "user-b", "user-c")
PROJECT_NAMES = ("speech-foundation", "vision-language")
# Something that nobody should ever see outside of the API.
COMMAND = "torchrun --nnodes {ranks} train.py --token made-up-command-token"
HOSTS = 250
PORTS_PER_HOST = 8000
FIRST_PORT = 15_001
PORTS_PER_NODE = 3
RUN_SIZES = (4, 8, 2, 16)
NODES_PER_RUN = 64
MOST_RUNS = 60
HOUR = 3600.0


@dataclass(slots=True)
class RunNode:
    """One rank of a run. `exit_code` is -1 until it ended."""

    id: str
    rank: int
    resource_type: str
    container_image: str
    host: str
    ports: tuple[int, int, int]
    command: str
    created_at: float
    updated_at: float
    state: str = "NODE_STATE_RUNNING"
    exit_code: int = -1


@dataclass(slots=True)
class Run:
    """A job. Its name is a number that is unique only within its project.

    `plans` numbers what was decided about it, so that an older plan is dropped.
    """

    project: "Project"
    name: str
    type: str
    creator: str
    created_at: float
    updated_at: float
    status: str = IN_PROGRESS
    nodes: list[RunNode] = field(default_factory=list)
    plans: int = 0

    @property
    def key(self) -> str:
        """Return what names the run among all projects."""
        return f"{self.project.id}/{self.name}"

    @property
    def running(self) -> bool:
        """Say whether the run goes on."""
        return self.status == IN_PROGRESS


@dataclass(slots=True)
class Project:
    """What runs belong to."""

    id: str
    name: str
    created_at: float
    updated_at: float
    status: str = "CREATED"
    runs: dict[str, Run] = field(default_factory=dict)
    last_run: int = 0


class RunSource:
    """Makes up projects, runs and ranks."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._ports = 0

    def seed(self, scale: int, now: float) -> dict[str, Project]:
        """Make up the projects of a fleet of `scale` GPU nodes, as they stand at `now`."""
        projects = {}
        for name in PROJECT_NAMES:
            project = Project(self._id(), name, now - 900 * HOUR, now - 5 * HOUR)
            projects[project.id] = project
        first, second = projects.values()
        for project, hours in ((first, 300.0), (second, 200.0), (first, 90.0)):
            self._ended(project, 4, now - hours * HOUR)
        self.run(second, 1, now - 30 * HOUR, kind="NOTEBOOK")
        for number in range(min(3 + scale // NODES_PER_RUN, MOST_RUNS)):
            project = (first, second)[number % 2]
            self.run(project, RUN_SIZES[number % len(RUN_SIZES)], now - (number + 2) * HOUR)
        return projects

    def run(self, project: Project, ranks: int, now: float, kind: str = "TRAINING") -> Run:
        """Make up a run of that many ranks in the project, all of them running since `now`."""
        project.last_run += 1
        run = Run(project, str(project.last_run), kind, self._rng.choice(CREATORS), now, now)
        resource = NOTEBOOK_TYPE if kind == "NOTEBOOK" else self._rng.choice(RESOURCE_TYPES)
        image = self._rng.choice(CONTAINER_IMAGES)
        command = "" if kind == "NOTEBOOK" else COMMAND.format(ranks=ranks)
        for rank in range(ranks):
            started = now + 60 + rank
            host, ports = self._endpoint()
            run.nodes.append(
                RunNode(self._id(), rank, resource, image, host, ports, command, now, started)
            )
        project.runs[run.name] = run
        return run

    def _ended(self, project: Project, ranks: int, created: float) -> None:
        run = self.run(project, ranks, created)
        run.status = "RUN_STATE_COMPLETED"
        run.updated_at = created + 20 * HOUR
        for node in run.nodes:
            node.state, node.exit_code = "NODE_STATE_COMPLETED", 0
            node.updated_at = run.updated_at - 10 + node.rank

    def _endpoint(self) -> tuple[str, tuple[int, int, int]]:
        """Hand out a host of the documentation range with three ports of it."""
        number = self._ports
        self._ports += 1
        port = FIRST_PORT + (number // HOSTS % PORTS_PER_HOST) * PORTS_PER_NODE
        return f"203.0.113.{1 + number % HOSTS}", (port, port + 1, port + 2)

    def _id(self) -> str:
        return "".join(self._rng.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20))
