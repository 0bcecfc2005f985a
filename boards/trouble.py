"""Which NSML runs are in trouble, and what is the matter with each."""

from boards.queries import NSML, RUN_NODES, RUNS

RUN = "account, project_id, run_name"
START_SECONDS = 15 * 60
"""So long may a run be without a running node after it was created."""

UNDER_WAY = 'state="IN_PROGRESS"'
ENDED_BADLY = 'state!~"IN_PROGRESS|COMPLETED"'
RUNNING = ', state="RUNNING"'


def state_of_runs(chosen: str, matcher: str) -> str:
    """Return the runs that are in a state."""
    states = f"(nsml_run_state{{{chosen}, {matcher}}} == 1)"
    return f"group by ({RUN}) ({RUNS.newest(states)})"


def lost_ranks(chosen: str) -> str:
    """Return the ranks that neither run nor ended with 0."""
    states = f'(nsml_run_node_state{{{chosen}, state!="RUNNING"}} == 1)'
    ended_well = f"(nsml_run_node_exit_code{{{chosen}}} == 0)"
    return RUN_NODES.newest(f"({states} unless on ({RUN_NODES.key}) {ended_well})")


def troubles(chosen: str) -> dict[str, str]:
    """Return the runs in trouble, by what is the matter."""
    under_way = f"and on ({RUN}) {state_of_runs(chosen, UNDER_WAY)}"
    created = RUNS.newest(f"nsml_run_created_timestamp_seconds{{{chosen}}}")
    old = f"(time() - {created} > {START_SECONDS})"
    counts = RUN_NODES.newest(f"nsml_run_nodes{{{chosen}{RUNNING}}}")
    running, lost = f"sum by ({RUN}) ({counts})", lost_ranks(chosen)
    return {
        "ended badly": state_of_runs(chosen, ENDED_BADLY),
        "ranks lost": f"group by ({RUN}) ({lost} {under_way} and on ({RUN}) ({running} > 0))",
        "no node runs": f"group by ({RUN}) (({running} == 0) {under_way} and on ({RUN}) {old})",
    }


def in_trouble(chosen: str = NSML) -> str:
    """Return the runs in trouble, with the label `trouble` and their project's name."""
    union = "\nor on (account, project_id, run_name)\n".join(
        f'label_replace({runs}, "trouble", "{trouble}", "", "")'
        for trouble, runs in troubles(chosen).items()
    )
    named = RUNS.newest(f"nsml_run_info{{{chosen}}}")
    return f"({union})\n* on ({RUN}) group_left (project_name) {named}"
