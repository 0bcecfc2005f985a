"""What the queries mean, told by promtool on series that are written out.

Two replicas that disagree, an outage, a state that nobody listed: what a live fleet does
not show on demand.
"""

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

from boards import fleet, trouble
from boards.prometheus import Window
from boards.queries import GPU_NODES, coded
from boards.states import LOOKS, UNLISTED
from boards.viewer import Viewer, panels
from tests.dashboards.files import ALL

NOW = 3600
UPDATED = "gpu_cluster_exporter_target_last_update_timestamp_seconds"
Series = Mapping[str, float]
Gives = Callable[[Series, Mapping[str, Series]], None]

pytestmark = pytest.mark.tool("promtool")

A = {"job": "exporter", "instance": "a"}
B = {"job": "exporter", "instance": "b"}
PLACE = {"account": "prod", "environment": "e", "region": "kr-west1"}
NODES = {"provider": "scp", "collector": "gpu_nodes", **PLACE}
OF_FABRIC = {"cluster_fabric_id": "f", "node_pool_id": "p", "server_type": "g2"}
STATES = (fleet.NOT_RUNNING, fleet.RUNNING)
RESEARCH = {"account": "research"}
RUNS = {"provider": "nsml", "collector": "runs", **RESEARCH}
RUN_NODES = {"provider": "nsml", "collector": "run_nodes", **RESEARCH}


def named(name: str, *labels: Mapping[str, str], **more: str) -> str:
    """Write a series."""
    joined = {key: value for each in (*labels, more) for key, value in each.items()}
    inner = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(joined.items()))
    return f"{name}{{{inner}}}"


@pytest.fixture
def gives(tool: str, tmp_path: Path) -> Gives:
    """Give what holds that expressions have results an hour after the beginning."""

    def gives(series: Series, expected: Mapping[str, Series]) -> None:
        inputs = [{"series": name, "values": f"{value}x400"} for name, value in series.items()]
        asked = [_asked(expr, samples) for expr, samples in expected.items()]
        test = {"interval": "15s", "input_series": inputs, "promql_expr_test": asked}
        file = tmp_path / "test.yml"
        file.write_text(yaml.safe_dump({"evaluation_interval": "15s", "tests": [test]}))
        command = [tool, "test", "rules", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - promtool
        assert done.returncode == 0, done.stdout + done.stderr

    return gives


def _asked(expr: str, samples: Series) -> object:
    expected = [{"labels": labels, "value": value} for labels, value in samples.items()]
    return {"expr": expr, "eval_time": f"{NOW}s", "exp_samples": expected}


def stat(uid: str, title: str) -> str:
    """Return the query of a stat with All chosen."""
    [panel] = [panel for panel in panels(ALL[uid]) if panel["title"] == title]
    return filled(panel["targets"][0]["expr"])


def filled(expr: str) -> str:
    """Return an expression with All chosen."""
    window = Window(0, NOW, 15)
    names = {one["name"] for board in ALL.values() for one in board["templating"]["list"]}
    return Viewer({}, None, window, values=dict.fromkeys(names, ".*")).fill(expr)  # type: ignore[arg-type]  # it asks nothing


def nodes_of(replica: Mapping[str, str], updated: float, **states: int) -> Series:
    """Return what a replica says of a fabric, and when it polled it."""
    return {
        named(UPDATED, replica, NODES): updated,
        **{
            named("scp_gpu_nodes", replica, PLACE, OF_FABRIC, state=state): count
            for state, count in states.items()
        },
    }


def test_the_replica_counts_that_polled_last(gives: Gives) -> None:
    """One that lost sight of a region shows none of its old values beside the new ones."""
    old = nodes_of(A, NOW - 200, RUNNING=7, ERROR=1)
    new = nodes_of(B, NOW - 10, RUNNING=8, ERROR=0)
    expected: Mapping[str, Series] = {
        stat("gpu-fleet", "GPU nodes"): {"{}": 8},
        stat("gpu-fleet", "Failed nodes"): {"{}": 0},
    }
    gives({**old, **new}, expected)


def test_replicas_that_polled_at_once_count_once(gives: Gives) -> None:
    """Nothing is a sum over replicas."""
    both = {**nodes_of(A, NOW - 10, RUNNING=8), **nodes_of(B, NOW - 10, RUNNING=8)}
    gives(both, {stat("gpu-fleet", "GPU nodes"): {"{}": 8}})


def test_no_data_is_not_zero(gives: Gives) -> None:
    """Where nothing is known the overview has no number, and says that it sees no region."""
    up = {named("gpu_cluster_exporter_target_up", A, NODES): 0}
    interval = {named("gpu_cluster_exporter_target_interval_seconds", A, NODES): 30}
    unknown = (
        "GPU nodes",
        "Failed nodes",
        "GPUs in service",
        "GPUs out of service",
        "Degraded fabrics",
        "Runs in trouble",
    )
    expected: dict[str, Series] = {stat("gpu-fleet", title): {} for title in unknown}
    expected[stat("gpu-fleet", "Regions out of sight")] = {"{}": 1}
    gives(up | interval, expected)


@pytest.mark.parametrize(
    ("updated", "interval", "unseen"),
    [(NOW - 299, 30, 0), (NOW - 301, 30, 1), (NOW - 301, 200, 0), (NOW - 601, 200, 1)],
)
def test_a_region_is_out_of_sight_when_its_values_are_dropped(
    gives: Gives, updated: float, interval: float, unseen: int
) -> None:
    """That is after 5 minutes, or three intervals where these are longer."""
    series = {
        named("gpu_cluster_exporter_target_up", A, NODES): 0,
        named("gpu_cluster_exporter_target_interval_seconds", A, NODES): interval,
        named(UPDATED, A, NODES): updated,
    }
    gives(series, {stat("gpu-fleet", "Regions out of sight"): {"{}": unseen}})


def one_node(state: str, **others: int) -> Series:
    """Return a node of 8 GPUs in a state, and zeros for its other states, where there are any."""
    node = {**PLACE, "gpu_node_id": "n"}
    states = {state: 1, **others}
    return {
        named(UPDATED, A, NODES): NOW - 10,
        named("scp_gpu_node_gpus", A, node): 8,
        named("scp_gpu_node_info", A, node, gpu_model="H100", server_type="g2"): 1,
        **{
            named("scp_gpu_node_state", A, node, state=each): value
            for each, value in states.items()
        },
        **{
            named("scp_gpu_nodes", A, PLACE, OF_FABRIC, state=each): int(each == state)
            for each in {*states, "RUNNING"}
        },
    }


@pytest.mark.parametrize("others", [{}, {"RUNNING": 0}, {"RUNNING": 0, "STOPPED": 0}])
def test_gpus_of_a_node_that_is_not_running_are_out_of_service(
    gives: Gives, others: dict[str, int]
) -> None:
    """Whether or not the states that it is not in are written as zeros."""
    series = one_node("ERROR", **others)
    out, within = (filled(fleet.gpus(how)) for how in STATES)
    gives(series, {out: {'{gpu_model="H100"}': 8}, within: {'{gpu_model="H100"}': 0}})


def test_a_node_without_a_known_model_is_named_so(gives: Gives) -> None:
    """An empty name would look like a fault of the dashboard."""
    series = {name.replace("H100", ""): value for name, value in one_node("RUNNING").items()}
    expr = filled(fleet.gpus(fleet.RUNNING))
    gives(series, {expr: {'{gpu_model="unknown model"}': 8}})


@pytest.mark.parametrize(
    ("state", "code"),
    [("RUNNING", 1), ("ERROR", LOOKS["ERROR"].code), ("MAINTENANCE", UNLISTED.code)],
)
def test_a_state_has_its_code_also_when_it_is_not_listed(
    gives: Gives, state: str, code: int
) -> None:
    """An unlisted state is shown as one, and does not vanish from a timeline."""
    states = GPU_NODES.newest("(scp_gpu_node_state == 1)")
    expr = filled(f"max by (gpu_node_id) ({coded(states)})")
    gives(one_node(state, STOPPED=0), {expr: {'{gpu_node_id="n"}': code}})


def members(**states: int) -> Series:
    """Return the members of a fabric by state."""
    target = {**NODES, "collector": "cluster_fabrics"}
    return {named(UPDATED, A, target): NOW - 10} | {
        named("scp_cluster_fabric_nodes", A, PLACE, cluster_fabric_id="f", state=state): count
        for state, count in states.items()
    }


@pytest.mark.parametrize(
    ("states", "degraded"),
    [
        ({"RUNNING": 8, "ERROR": 0}, 0),
        ({"RUNNING": 7, "ERROR": 1}, 1),
        ({"RUNNING": 7, "ERROR": 0, "NEW": 1}, 1),
    ],
)
def test_a_fabric_is_degraded_when_a_member_does_not_run(
    gives: Gives, states: dict[str, int], degraded: int
) -> None:
    """In whatever state it is; a fabric whose members all run is counted as none."""
    gives(members(**states), {stat("gpu-fleet", "Degraded fabrics"): {"{}": degraded}})


def run(state: str, *ranks: tuple[str, int | None], created: float = 0) -> Series:
    """Return a run whose ranks are each in a state, or ended with a code."""
    of = {**RESEARCH, "project_id": "p", "run_name": "3"}
    series = {
        named(UPDATED, A, RUNS): NOW - 10,
        named(UPDATED, A, RUN_NODES): NOW - 10,
        named("nsml_run_info", A, of, project_name="speech"): 1,
        named("nsml_run_state", A, of, state=state): 1,
        named("nsml_run_created_timestamp_seconds", A, of): created,
        named("nsml_run_nodes", A, of, state="RUNNING"): sum(s == "RUNNING" for s, _ in ranks),
    }
    for rank, (each, code) in enumerate(ranks):
        node = {**of, "node_id": f"n{rank}", "rank": f"{rank}"}
        series[named("nsml_run_node_state", A, node, state=each)] = 1
        if code is not None:
            series[named("nsml_run_node_exit_code", A, node)] = code
    return series


RUNNING, ENDED, FAILED = ("RUNNING", None), ("COMPLETED", 0), ("FAILED", 1)
IN_TROUBLE = [
    (run("FAILED", FAILED, FAILED), "ended badly"),
    (run("IN_PROGRESS", RUNNING, FAILED), "ranks lost"),
    (run("IN_PROGRESS", RUNNING, ("LOST", None)), "ranks lost"),
    (run("IN_PROGRESS", ENDED, ENDED), "no node runs"),
]
WELL = [
    run("IN_PROGRESS", RUNNING, RUNNING),
    run("IN_PROGRESS", RUNNING, ENDED),
    run("IN_PROGRESS", created=NOW - 800),
    run("COMPLETED", ENDED, ENDED),
]


@pytest.mark.parametrize(("series", "what"), IN_TROUBLE)
def test_a_run_in_trouble_says_what_is_the_matter(gives: Gives, series: Series, what: str) -> None:
    """It ended badly, or some of its ranks are gone while others run, or all are."""
    labels = {"trouble": what, "project_name": "speech", "project_id": "p", "run_name": "3"}
    listed = {named("", RESEARCH, labels): 1}
    counted = stat("gpu-fleet", "Runs in trouble")
    gives(series, {filled(trouble.in_trouble()): listed, counted: {"{}": 1}})


@pytest.mark.parametrize("series", WELL)
def test_a_run_that_is_well_is_in_no_trouble(gives: Gives, series: Series) -> None:
    """All its ranks run, or ended with 0, or it was created just now, or it is over."""
    counted = stat("gpu-fleet", "Runs in trouble")
    gives(series, {filled(trouble.in_trouble()): {}, counted: {"{}": 0}})


def test_a_server_type_has_one_model(gives: Gives) -> None:
    """Also where one region's products do not tell it: neither is an error, nor counted twice."""
    node = {**PLACE, "region": "kr-east1", "gpu_node_id": "m"}
    other = {
        named(UPDATED, A, NODES, region="kr-east1"): NOW - 10,
        named("scp_gpu_node_gpus", A, node): 8,
        named("scp_gpu_node_info", A, node, server_type="g2"): 1,
        named("scp_gpu_nodes", A, PLACE, OF_FABRIC, region="kr-east1", state="RUNNING"): 1,
    }
    expr = filled(fleet.gpus(fleet.RUNNING))
    gives({**one_node("RUNNING"), **other}, {expr: {'{gpu_model="H100"}': 16}})


@pytest.mark.parametrize(
    ("seen", "updated", "unaccounted"),
    [
        (8, NOW - 10, {"{}": 0}),
        (7, NOW - 10, {"{}": 1}),
        (None, NOW - 10, {"{}": 1}),
        (None, 9, {}),
    ],
)
def test_servers_are_accounted_for_by_nodes_seen(
    gives: Gives, seen: int | None, updated: float, unaccounted: Series
) -> None:
    """Also where none is seen; but nothing is said while the list of nodes is not fresh."""
    target = {**NODES, "collector": "cluster_fabrics"}
    series: dict[str, float] = {
        named(UPDATED, A, NODES): updated,
        named(UPDATED, A, target): NOW - 10,
        named("scp_cluster_fabric_used_servers", A, PLACE, cluster_fabric_id="f"): 8,
    }
    if seen is not None:
        series[named("scp_gpu_nodes", A, PLACE, OF_FABRIC, state="RUNNING")] = seen
    gives(series, {stat("gpu-fabric", "Unaccounted for"): unaccounted})
