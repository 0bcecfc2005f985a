"""NSML runs: which run, which rank, and how it ended."""

from boards import links, variables
from boards.board import Board, Row
from boards.kinds import bars, stat, states_over_time, table, timeline
from boards.panels import LIMIT, Column, Query
from boards.queries import NSML, RUN_NODES, RUNS, coded
from boards.states import BAD, GOOD, WARN
from boards.steps import AGES, ALARMING, DOUBTFUL
from boards.trouble import RUN, RUNNING, in_trouble

MOST = 100
PROJECT = f'{NSML}, project_id=~"$project"'
CHOSEN = f'{PROJECT}, run_name=~"$run"'
STATES = f"(nsml_run_state{{{CHOSEN}}} == 1)"
NAMED = f"on ({RUN}) group_left (project_name)\n" + RUNS.newest(f"nsml_run_info{{{CHOSEN}}}")
NOT_RUNNING = ', state!="RUNNING"'
QUIET = ((None, GOOD), (3600, WARN), (6 * 3600, BAD))
LISTED = f"topk({MOST}, max by ({RUN}, state) ({RUNS.newest(STATES)}) * {NAMED})"
EXIT_CODES = ((None, BAD), (0, GOOD), (1, BAD))
EXIT = RUN_NODES.newest(f"nsml_run_node_exit_code{{{CHOSEN}}}")
IN_PROGRESS = RUNS.newest(f'(nsml_run_state{{{CHOSEN}, state="IN_PROGRESS"}} == 1)')

UPDATED_RUNS = RUNS.newest(f"nsml_run_updated_timestamp_seconds{{{CHOSEN}}}")

_RUN_LINK = links.to(
    "gpu-nsml-runs",
    "This run",
    f"var-account={links.field('Account')}",
    f"var-project={links.field('Project id')}",
    f"var-run={links.field('Run')}",
)


def ranks(matchers: str = "") -> str:
    """Return the nodes of each chosen run by state."""
    return RUN_NODES.newest(f"nsml_run_nodes{{{CHOSEN}{matchers}}}")


def worst_ranks() -> str:
    """Return the code of the state of each node that the timeline shows, in the order of runs."""
    states = f'(nsml_run_node_state{{{CHOSEN}, node_id=~"$worst_rank"}} == 1)'
    info = f"on ({RUN_NODES.key}) group_left (project_name) nsml_run_node_info{{{CHOSEN}}}"
    codes = coded(RUN_NODES.newest(f"({states} * {info})"))
    called = f'label_join({codes}, "called", " / ", "project_name", "run_name", "rank")'
    return f"max by (called, node_id) ({called})"


def quiet() -> str:
    """Return how long ago each run in progress was updated, in seconds, with its project's name."""
    return f"(time() - {UPDATED_RUNS} and on ({RUN}) {IN_PROGRESS})\n* {NAMED}"


NOW = Row(
    "Now",
    [
        stat(
            "Runs chosen",
            "The runs that were chosen, in any state.",
            f"count({RUNS.newest(STATES)})",
            width=4,
        ),
        stat(
            "In progress",
            "Of these, under way.",
            f"count({IN_PROGRESS}) or 0 * count({RUNS.newest(STATES)})",
            width=4,
            steps=((None, GOOD),),
        ),
        stat(
            "Nodes running",
            "Nodes of the runs that are RUNNING.",
            f"sum({ranks(RUNNING)})",
            width=4,
            steps=((None, GOOD),),
        ),
        stat(
            "Nodes not running",
            "Nodes of runs in progress in any other state.",
            f"sum({ranks(NOT_RUNNING)} and on ({RUN}) {IN_PROGRESS})"
            f" or 0 * count({RUNS.newest(STATES)})",
            width=4,
            steps=DOUBTFUL,
        ),
        stat(
            "Failed nodes",
            "Nodes that ended with a code other than 0.",
            f"sum({EXIT} != bool 0) or 0 * count({RUNS.newest(STATES)})",
            width=4,
            steps=ALARMING,
        ),
        stat(
            "Age of values",
            "How long ago the nodes of the runs were read.",
            f"max(time() - max by (account) ({RUN_NODES.updated}))",
            unit="s",
            width=4,
            steps=AGES,
            links=[links.to("gpu-exporter", "Exporter health", "${account:queryparam}")],
        ),
    ],
)

HISTORY = Row(
    "Over time",
    [
        timeline(
            "States by rank",
            f"The state of each node: of more than {LIMIT}, those of runs in progress come first,"
            " and then the worst. A row is a project, a run and a rank.",
            Query(worst_ranks(), "{{called}}"),
            height=20,
        ),
        states_over_time(
            "Runs by state",
            "The chosen runs. One that ended is shown for as long as the exporter keeps it.",
            Query(f"count by (state) ({RUNS.newest(STATES)})", "{{state}}"),
            width=12,
        ),
        states_over_time(
            "Nodes by state",
            "The nodes of the chosen runs.",
            Query(f"sum by (state) ({ranks()}) > 0", "{{state}}"),
            width=12,
        ),
    ],
)

DETAIL = Row(
    "Runs and nodes",
    [
        table(
            "Runs",
            f"The chosen runs with their nodes, {MOST} at most.",
            [
                Column("project_name", "Project"),
                Column("run_name", "Run", width=60, links=[_RUN_LINK]),
                Column("state", "State", width=130, state=True),
                Column("Value #B", "Running", "short", 80),
                Column("Value #C", "Updated", "dateTimeFromNow", 140),
                Column("account", "Account", width=130),
                Column("project_id", "Project id", hidden=True),
            ],
            Query(LISTED),
            Query(f"max by ({RUN}) ({ranks(RUNNING)}) and on ({RUN}) {LISTED}"),
            Query(f"max by ({RUN}) (1000 * {UPDATED_RUNS}) and on ({RUN}) {LISTED}"),
            width=12,
            sort="Project",
        ),
        bars(
            "Longest without an update",
            "Runs in progress by the time since the cloud last updated them. A run may be well"
            " for days without one: this is where to look, not an alarm.",
            Query(f"topk(12, {quiet()})", "{{project_name}} / {{run_name}}"),
            unit="s",
            width=6,
            steps=QUIET,
            links=[
                links.to(
                    "gpu-nsml-runs",
                    "This run",
                    f"var-account={links.label('account')}",
                    f"var-project={links.label('project_id')}",
                    f"var-run={links.label('run_name')}",
                )
            ],
        ),
        table(
            "In trouble",
            f"What is the matter with each run, {MOST} at most.",
            [
                Column("project_name", "Project"),
                Column("run_name", "Run", width=60, links=[_RUN_LINK]),
                Column("trouble", "Trouble", width=120),
                Column("account", "Account", hidden=True),
                Column("project_id", "Project id", hidden=True),
            ],
            Query(f"topk({MOST}, {in_trouble(CHOSEN)})"),
            width=6,
            sort="Project",
        ),
        table(
            "Exit codes",
            f"Nodes that ended, those with the highest codes first, {MOST} at most.",
            [
                Column("project_name", "Project"),
                Column("run_name", "Run", width=60),
                Column("rank", "Rank", width=60),
                Column("Value", "Exit code", "none", 100, steps=EXIT_CODES),
                Column("node_id", "Node id"),
            ],
            Query(f"topk({MOST}, {EXIT} * {NAMED})"),
            width=12,
            sort="-Exit code",
        ),
        table(
            "Nodes",
            f"What is known of the nodes of the chosen runs, {MOST} at most.",
            [
                Column("project_name", "Project"),
                Column("run_name", "Run", width=60),
                Column("rank", "Rank", width=60),
                Column("state", "State", width=110, state=True),
                Column("resource_type", "Resource", width=120),
                Column("host", "Host"),
                Column("container_image", "Image"),
            ],
            Query(
                f"topk({MOST}, "
                + RUN_NODES.newest(
                    f"(nsml_run_node_info{{{CHOSEN}}} * on ({RUN_NODES.key}) group_left (state)\n"
                    f"    (nsml_run_node_state{{{CHOSEN}}} == 1))"
                )
                + ")"
            ),
            width=12,
            sort="Project",
        ),
    ],
)

RUNS_BOARD = Board(
    uid="gpu-nsml-runs",
    title="GPU clusters / NSML runs",
    description="Training runs of CLOVA NSML, their nodes by rank, and how they ended.",
    variables=[
        variables.datasource(),
        *variables.places("nsml"),
        variables.project(),
        variables.run(),
        variables.worst_run_nodes(),
    ],
    rows=[NOW, HISTORY, DETAIL],
    alerts=f'provider=~"nsml|", {CHOSEN}',
)
