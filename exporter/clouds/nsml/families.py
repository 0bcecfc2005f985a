"""The metric families of CLOVA NSML, one table for each resource."""

from operator import attrgetter

from exporter.clouds.nsml.models import Project, Run, RunMembers, RunNode
from exporter.families import Info, State, StateCounts, Table, Value
from exporter.states import Vocabulary

_PROJECTS = "GET /projects"
_RUNS = "GET /projects/runs"
_NODES = "GET /projects/{project_id}/runs/{run_name}/nodes"

_PROJECT = ("project_id",)
_RUN = ("project_id", "run_name")
_NODE = ("project_id", "run_name", "node_id", "rank")

RUN_STATES = ("IN_PROGRESS", "COMPLETED", "UNKNOWN")
NODE_STATES = ("RUNNING", "UNKNOWN")
PROJECT_STATES = ("CREATING", "CREATED", "CHANGING", "DELETING", "DELETED", "UNKNOWN")


def vocabularies() -> dict[str, Vocabulary]:
    """Return the states of each kind of object, none met yet."""
    kinds = {"run": RUN_STATES, "run_node": NODE_STATES, "project": PROJECT_STATES}
    return {kind: Vocabulary(kind, states) for kind, states in kinds.items()}


PROJECTS: Table[Project] = Table(
    "projects",
    (
        Info(
            name="nsml_project_info",
            help="A project, as labels of a series that is 1.",
            source=_PROJECTS,
            labels=("project_id", "project_name"),
        ),
        State(
            name="nsml_project_state",
            help="The state of a project: 1 for the state that it is in.",
            source=f"{_PROJECTS}, field status",
            labels=_PROJECT,
            kind="project",
        ),
        Value(
            name="nsml_project_runs",
            help="Runs of the project, as the API counts them.",
            source=f"{_PROJECTS}, field runCount",
            labels=_PROJECT,
            value="run_count",
        ),
        Value(
            name="nsml_project_nodes",
            help="Nodes of the project, as the API counts them.",
            source=f"{_PROJECTS}, field nodeCount",
            labels=_PROJECT,
            value="node_count",
        ),
    ),
)

RUNS: Table[Run] = Table(
    "runs",
    (
        Info(
            name="nsml_run_info",
            help="What is known of a run, as labels of a series that is 1.",
            source=_RUNS,
            labels=(*_RUN, "project_name", "run_type"),
        ),
        State(
            name="nsml_run_state",
            help="The state of a run: 1 for the state that it is in.",
            source=f"{_RUNS}, field status",
            labels=_RUN,
            kind="run",
        ),
        Value(
            name="nsml_run_created_timestamp_seconds",
            help="When the run was created, as Unix time.",
            source=f"{_RUNS}, field createTime",
            labels=_RUN,
            value="created",
        ),
        Value(
            name="nsml_run_updated_timestamp_seconds",
            help="When the run was last updated, as Unix time.",
            source=f"{_RUNS}, field updateTime",
            labels=_RUN,
            value="updated",
        ),
    ),
)

RUN_NODES: Table[RunNode] = Table(
    "run_nodes",
    (
        Info(
            name="nsml_run_node_info",
            help="What is known of a node of a run, as labels of a series that is 1.",
            source=_NODES,
            labels=(*_NODE, "project_name", "resource_type", "container_image", "host"),
        ),
        State(
            name="nsml_run_node_state",
            help="The state of a node of a run: 1 for the state that it is in.",
            source=f"{_NODES}, field state",
            labels=_NODE,
            kind="run_node",
        ),
        Value(
            name="nsml_run_node_exit_code",
            help="The code that the node ended with; no sample while it runs.",
            source=f"{_NODES}, field exitCode",
            labels=_NODE,
            value="exit_code",
        ),
        Value(
            name="nsml_run_node_created_timestamp_seconds",
            help="When the node was created, as Unix time.",
            source=f"{_NODES}, field createTime",
            labels=_NODE,
            value="created",
        ),
        Value(
            name="nsml_run_node_updated_timestamp_seconds",
            help="When the node was last updated, as Unix time.",
            source=f"{_NODES}, field updateTime",
            labels=_NODE,
            value="updated",
        ),
    ),
)

RUN_MEMBERS: Table[RunMembers] = Table(
    "run_members",
    (
        StateCounts(
            name="nsml_run_nodes",
            help="Nodes of a run by state.",
            source=f"{_NODES}, field state",
            labels=_RUN,
            kind="run_node",
            states=attrgetter("states"),
        ),
    ),
)

TABLES = (PROJECTS, RUNS, RUN_NODES, RUN_MEMBERS)
