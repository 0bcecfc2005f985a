"""What the targets are and what they last saw, as objects for JSON."""

from exporter import objects
from exporter.objects import Moment, Object
from exporter.snapshots import Snapshot
from tests.seen import (
    STALE_AFTER,
    fabric,
    fabric_target,
    gpu_node,
    gpu_node_target,
    run,
    run_node,
    run_node_target,
    run_nodes,
    run_target,
    sighting,
)

WALL = 1_800_000_000.0


def at(monotonic: float) -> Moment:
    """Return a moment of a clock that was at 0 when the wall clock stood at WALL."""
    return Moment(WALL + monotonic, monotonic)


def runs_of(*snapshots: Snapshot, now: float = 10.0) -> dict[str, Object]:
    """Return the runs by their names."""
    return {each["run_name"]: each for each in objects.runs(snapshots, at(now))}


def test_a_target_before_its_first_poll() -> None:
    """Nothing is known: null, and not a number of objects that would be an outage as zero."""
    assert objects.target(gpu_node_target(), 30.0) == {
        "provider": "scp",
        "account": "prod",
        "environment": "e",
        "region": "kr-west1",
        "collector": "gpu_nodes",
        "up": False,
        "last_attempt": None,
        "last_success": None,
        "interval_seconds": 30.0,
        "consecutive_failures": 0,
        "next_poll": None,
        "objects": None,
        "reported_objects": None,
        "last_error": None,
    }


def test_a_target_that_recovered() -> None:
    """It is up, and its last error stays, with its time."""
    snapshot = gpu_node_target()
    health = snapshot.health
    health.up, health.last_attempt, health.last_success = True, WALL + 30, WALL + 30
    health.next_poll, health.objects, health.reported_objects = WALL + 60, 0, 7
    health.error_reason, health.error_message, health.error_at = "auth", "HTTP 401", WALL

    told = objects.target(snapshot, 30.0)
    assert (told["up"], told["consecutive_failures"]) == (True, 0)
    assert (told["objects"], told["reported_objects"]) == (0, 7)
    assert (told["last_success"], told["next_poll"]) == (WALL + 30, WALL + 60)
    assert told["last_error"] == {"reason": "auth", "message": "HTTP 401", "at": WALL}


def test_a_message_is_on_one_line() -> None:
    """What cannot be printed, or written as UTF-8, is replaced."""
    snapshot = gpu_node_target()
    snapshot.health.error_reason, snapshot.health.error_message = "connection", "a\x1b[1m\ud800\n"
    assert objects.target(snapshot, 30.0)["last_error"]["message"] == "a\ufffd[1m\ufffd\ufffd"


def test_a_node_has_the_labels_of_its_info_family() -> None:
    """Those of the target too, derived ones, and the empty text for what is not known."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a", server_type="g2", policy_nat=None)), 5.0)

    [node] = objects.nodes([snapshot], at(10.0))
    assert node == {
        "account": "prod",
        "environment": "e",
        "region": "kr-west1",
        "gpu_node_id": "a",
        "gpu_node_name": "name-a",
        "account_id": "",
        "cluster_fabric_id": "",
        "cluster_fabric_name": "",
        "node_pool_id": "",
        "server_type": "g2",
        "product_type_id": "",
        "gpu_model": "model of g2",
        "image_id": "",
        "image_version": "",
        "os_type": "",
        "vpc_id": "",
        "network_id": "",
        "policy_ip": "10.0.0.1",
        "policy_nat": "",
        "state": "RUNNING",
        "last_seen": WALL + 5.0,
        "stale": False,
    }


def test_what_is_stale_is_what_the_page_no_longer_shows() -> None:
    """To the moment; the object itself stays, with the time at which it was seen."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a")), 5.0)
    for age, stale in ((STALE_AFTER, False), (STALE_AFTER + 1, True), (86400.0, True)):
        [node] = objects.nodes([snapshot], at(5.0 + age))
        assert (node["stale"], node["last_seen"]) == (stale, WALL + 5.0)
        shown = snapshot.pieces(5.0 + age)
        assert bool(shown) is not stale


def test_objects_of_one_target_have_times_of_their_own() -> None:
    """What a partial poll did not see keeps the time of the poll that did."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a"), gpu_node("b")), 0.0)
    snapshot.update(sighting(gpu_node("b"), complete=False), 30.0)
    seen = {each["gpu_node_id"]: each["last_seen"] for each in objects.nodes([snapshot], at(40.0))}
    assert seen == {"a": WALL, "b": WALL + 30.0}


def test_a_step_of_the_wall_clock_does_not_age_what_was_seen() -> None:
    """A time is told by its age on the monotonic clock."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a")), 5.0)
    [node] = objects.nodes([snapshot], Moment(WALL + 10_000.0, 10.0))
    assert (node["last_seen"], node["stale"]) == (WALL + 9_995.0, False)


def test_states_are_named_as_on_the_page() -> None:
    """Unlisted ones too, and one that was not reported."""
    snapshot = gpu_node_target()
    nodes = (gpu_node("a", state="odd state"), gpu_node("b", state=None))
    snapshot.update(sighting(*nodes), 5.0)
    states = [each["state"] for each in objects.nodes([snapshot], at(5.0))]
    assert states == ["ODD_STATE", "NOT_REPORTED"]


def test_objects_stand_in_a_lasting_order() -> None:
    """Target by target, by their ids, however the API lists them."""
    west, east = gpu_node_target(), gpu_node_target(region="kr-east1")
    west.update(sighting(gpu_node("c"), gpu_node("a")), 5.0)
    east.update(sighting(gpu_node("b")), 5.0)
    ids = [each["gpu_node_id"] for each in objects.nodes([west, east], at(5.0))]
    assert ids == ["a", "c", "b"]


def test_each_list_has_its_own_kind_alone() -> None:
    """Fabrics are no nodes; targets that saw nothing yet have none."""
    nodes, fabrics = gpu_node_target(), fabric_target()
    fabrics.update(sighting(fabric("f", cluster_name="first")), 5.0)
    assert list(objects.nodes([nodes, fabrics], at(5.0))) == []
    [told] = objects.fabrics([nodes, fabrics], at(5.0))
    assert (told["cluster_fabric_id"], told["cluster_fabric_name"]) == ("f", "first")
    assert told["state"] == "ACTIVE"


def test_a_run_has_its_nodes_by_rank() -> None:
    """As numbers, those without a rank last; each node has labels and state of its own."""
    runs, nodes = run_target(), run_node_target()
    runs.update(sighting(run("1", runType="TRAINING")), 5.0)
    ranks = [("a", 10), ("b", None), ("c", 2), ("d", 0)]
    found = [run_node(node_id, rank=rank) for node_id, rank in ranks]
    nodes.update(run_nodes({"1": found}), 6.0)

    [told] = objects.runs([runs, nodes], at(10.0))
    assert (told["state"], told["run_type"], told["last_seen"]) == (
        "IN_PROGRESS",
        "TRAINING",
        WALL + 5.0,
    )
    assert [node["rank"] for node in told["nodes"]] == ["0", "2", "10", ""]
    assert told["nodes"][0]["node_id"] == "d"
    assert told["nodes"][0]["last_seen"] == WALL + 6.0


def test_nodes_that_could_not_be_read_are_not_none() -> None:
    """Null while a run's nodes were never read, and an empty list where it truly has none."""
    runs, nodes = run_target(), run_node_target()
    runs.update(sighting(run("1"), run("2")), 5.0)
    nodes.update(run_nodes({"2": []}, complete=False), 6.0)
    told = runs_of(runs, nodes)
    assert told["1"]["nodes"] is None
    assert told["2"]["nodes"] == []


def test_a_run_of_which_only_the_nodes_are_known_is_told() -> None:
    """Its own state is null, and its age that of its nodes; also where one is only half read."""
    nodes = run_node_target()
    found = run_nodes({"1": [run_node("a")], "2": []})
    half = run_node("b", of="3")
    found.tables["run_nodes"][half.key] = half  # type: ignore[index]  # it is a dict
    nodes.update(found, 6.0)

    told = runs_of(run_target(), nodes)
    assert told.keys() == {"1", "2", "3"}
    assert told["2"] == {
        "account": "research",
        "project_id": "project",
        "run_name": "2",
        "project_name": "",
        "run_type": "",
        "state": None,
        "last_seen": WALL + 6.0,
        "stale": False,
        "nodes": [],
    }
    assert [node["node_id"] for node in told["3"]["nodes"]] == ["b"]
    assert told["3"]["last_seen"] == WALL + 6.0


def test_the_order_of_the_targets_does_not_matter_to_runs() -> None:
    """An account may name its collectors in any order."""
    runs, nodes = run_target(), run_node_target()
    runs.update(sighting(run("1")), 5.0)
    nodes.update(run_nodes({"1": [run_node("a")]}), 6.0)
    assert runs_of(runs, nodes) == runs_of(nodes, runs)


def test_runs_of_one_name_in_two_accounts_are_two() -> None:
    """Each has the nodes of its own account."""
    targets = [run_target("a"), run_node_target("a"), run_target("b"), run_node_target("b")]
    for each in (targets[0], targets[2]):
        each.update(sighting(run("1")), 5.0)
    targets[1].update(run_nodes({"1": [run_node("x")]}), 5.0)
    targets[3].update(run_nodes({"1": [run_node("y")]}), 5.0)
    told = [
        (each["account"], [node["node_id"] for node in each["nodes"]])
        for each in objects.runs(targets, at(5.0))
    ]
    assert told == [("a", ["x"]), ("b", ["y"])]
