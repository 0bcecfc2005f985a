"""The truth: what a checker compares an exporter with."""

from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import START, Client, SetClock


async def test_the_truth_agrees_with_the_apis(client: Client) -> None:
    """Ids, names and states of the truth are those that the clouds list."""
    truth = (await client.own("/_truth")).json
    assert len(truth["scp"]) == 7
    for region in truth["scp"]:
        place = f"{region['environment']}/{region['region']}"
        nodes = (await client.scp("/v1/gpu-nodes?size=100", place=place)).json["gpu_nodes"]
        listed = {(row["id"], row["gpu_node_name"], row["state"]) for row in nodes}
        assert {(it["id"], it["name"], it["state"]) for it in region["gpu_nodes"]} == listed
    runs = (await client.nsml("/projects/runs?pageSize=100")).json["runList"]
    told = [run for project in truth["nsml"]["projects"] for run in project["runs"]]
    assert {run["id"]: run["state"] for run in told} == {
        f"{row['projectId']}/{row['runName']}": row["status"] for row in runs
    }


async def test_the_history_tells_when_each_state_began(client: Client, clock: SetClock) -> None:
    """For any instant of the last minutes the state that a node then had can be found."""
    region = next(iter(client.simulator.world.regions.values()))
    node = next(node for node in region.nodes.values() if node.state == "RUNNING")
    clock.time += 10
    await client.scp("/v1/gpu-nodes/stop", "POST", {"gpu_node_ids": [node.id]})
    clock.time += 60
    told = {it["id"]: it for it in (await client.own("/_truth")).json["scp"][0]["gpu_nodes"]}
    assert told[node.id]["history"] == [
        {"at": START, "state": "RUNNING"},
        {"at": START + 10, "state": "STOPPING"},
        {"at": START + 18, "state": "STOPPED"},
    ]


async def test_what_left_the_list_is_told_with_null(client: Client, clock: SetClock) -> None:
    """A node that is gone is still told of, with the instant it went, for 15 minutes."""
    clock.time += 5
    node_id = client.simulator.drills.vanish_node()
    clock.time += 60
    told = client.simulator.truth().scp[0].gpu_nodes[-1]
    assert (told.id, told.state) == (node_id, None)
    assert (told.history[-1].at, told.history[-1].state) == (START + 5, None)
    clock.time += 15 * 60
    assert node_id not in {node.id for node in client.simulator.truth().scp[0].gpu_nodes}


def test_runs_that_left_the_list_are_told_of() -> None:
    """Days of runs leave a bounded number, of which the last to go have the state null."""
    clock = SetClock()
    simulator = Simulator(14, clock=clock)
    clock.time += 200 * 120
    runs = [run for project in simulator.truth().nsml.projects for run in project.runs]
    assert len(runs) < 80
    assert any(run.state is None for run in runs)
