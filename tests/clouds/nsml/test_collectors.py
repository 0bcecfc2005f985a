"""The collectors of one account of CLOVA NSML, and which runs they watch."""

from typing import Any

import aiohttp
import pytest

from exporter.clouds.nsml.signing import NsmlDialect
from exporter.clouds.outcomes import BadResponse, Failure, NotFound, ServerError
from exporter.config import NSML_COLLECTORS
from exporter.simulator.server import Simulator
from tests.clouds.api import GONE, Asking, Cloud, Row, keys
from tests.clouds.calls import NOW, SteppedClock, client_of
from tests.clouds.loopback import Loopback
from tests.clouds.nsml.account import (
    HOUR,
    RUNS,
    detail_path,
    listed,
    made,
    nodes,
    nodes_path,
    paged,
    run,
)

AN_HOUR_AGO = "2023-11-15 06:13:20"  # in Korea, before 2023-11-14T22:13:20Z


async def test_projects_are_listed(cloud: tuple[Cloud, Loopback], asking: Asking) -> None:
    """What the API lists is what there is."""
    cloud[0].pages["/projects"] = paged("projects", {"projectId": "p", "status": "CREATED"})
    sighting = await asking.poll(made(asking.clock)["projects"])
    assert keys(sighting, "projects") == [("p",)]
    assert cloud[1].targets[0] == "/projects?page=1&pageSize=100"


async def test_every_run_that_is_listed_is_watched(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Runs of one name in two projects are two."""
    cloud[0].pages[RUNS] = listed(run("1"), run("2"), run("1", project="q"))
    sighting = await asking.poll(made(asking.clock)["runs"])
    assert keys(sighting, "runs") == [("p", "1"), ("p", "2"), ("q", "1")]
    assert (sighting.complete, sighting.reported) == (True, 3)


async def test_discovery_is_limited_to_projects(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A run of the configuration is watched in whatever project, and not asked for twice."""
    cloud[0].pages[RUNS] = listed(run("1"), run("1", project="q"), run("2", project="q"))
    collector = made(asking.clock, projects=["p"], configured=[("q", "2")])["runs"]
    sighting = await asking.poll(collector)
    assert keys(sighting, "runs") == [("p", "1"), ("q", "2")]
    assert detail_path("2", "q") not in cloud[1].targets


async def test_a_run_that_is_not_listed_is_asked_for(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Its families come from its detail, whichever of its ids that repeats."""
    cloud[0].pages |= {RUNS: listed(run("1")), detail_path("9"): {"run": run("9")}}
    collector = made(asking.clock, configured=[("p", "9")])["runs"]
    sighting = await asking.poll(collector)
    assert keys(sighting, "runs") == [("p", "1"), ("p", "9")]
    assert sighting.complete


async def test_without_discovery_nothing_is_listed(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Only the runs of the configuration are asked for."""
    cloud[0].pages |= {detail_path("9"): run("9"), nodes_path("9"): nodes("a")}
    every = made(asking.clock, discover=False, configured=[("p", "9")])
    assert keys(await asking.poll(every["runs"]), "runs") == [("p", "9")]
    assert keys(await asking.poll(every["run_nodes"]), "run_nodes") == [("p", "9", "a")]
    assert not [target for target in cloud[1].targets if target.startswith(RUNS)]


async def test_a_configured_run_that_is_gone_is_settled(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A 404 is no failure, and takes along what belongs to the run."""
    cloud[0].pages[RUNS] = listed(run("1"))
    collector = made(asking.clock, configured=[("p", "9")])["runs"]
    sighting = await asking.poll(collector)
    assert sighting.complete
    assert sighting.settled == {("p", "9")}


async def test_a_configured_run_that_fails_makes_it_partial(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The listed runs count all the same, also where there are none."""
    cloud[0].pages |= {RUNS: listed(run("1")), detail_path("9"): 403}
    collector = made(asking.clock, configured=[("p", "9")])["runs"]
    sighting = await asking.poll(collector)
    assert (keys(sighting, "runs"), sighting.complete) == ([("p", "1")], False)
    cloud[0].pages[RUNS] = listed()
    sighting = await asking.poll(collector)
    assert (keys(sighting, "runs"), sighting.complete) == ([], False)


async def test_a_list_that_fails_makes_it_partial_where_a_detail_is_had(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Some was learnt; where nothing was, the list's failure is the poll's."""
    cloud[0].pages |= {RUNS: 403, detail_path("9"): run("9")}
    collector = made(asking.clock, configured=[("p", "9")])["runs"]
    sighting = await asking.poll(collector)
    assert (keys(sighting, "runs"), sighting.complete) == ([("p", "9")], False)
    cloud[0].pages[detail_path("9")] = 500
    with pytest.raises(Failure, match="403"):
        await asking.poll(collector)


async def test_a_list_that_fails_is_the_failure(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Where nothing else is configured there is nothing else to learn."""
    cloud[0].pages[RUNS] = 500
    with pytest.raises(ServerError):
        await asking.poll(made(asking.clock)["runs"])


async def test_a_run_that_ends_is_shown_for_the_retention(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The time counts from when its end was first seen, and not from what the API says."""
    collector = made(asking.clock)["runs"]
    cloud[0].pages[RUNS] = listed(run("1"))
    await asking.poll(collector)
    cloud[0].pages[RUNS] = listed(run("1", "COMPLETED", updateTime="2023-01-01 00:00:00"))
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]
    asking.clock.now += HOUR - 1
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]
    asking.clock.now += 2
    sighting = await asking.poll(collector)
    assert keys(sighting, "runs") == []
    assert sighting.settled == {("p", "1")}
    assert sighting.complete


@pytest.mark.parametrize(
    ("updated", "left"),
    [(AN_HOUR_AGO, 0.0), ("2023-11-15 06:43:20", HOUR / 2), (None, HOUR), ("soon", HOUR)],
)
async def test_a_run_that_was_over_at_the_start_counts_from_its_last_update(
    cloud: tuple[Cloud, Loopback], asking: Asking, updated: str | None, left: float
) -> None:
    """Where it has none, from when it was first seen."""
    collector = made(asking.clock)["runs"]
    cloud[0].pages[RUNS] = listed(run("1", "FAILED", updateTime=updated))
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]
    asking.clock.now += left + 1
    assert keys(await asking.poll(collector), "runs") == []


async def test_a_run_that_was_updated_in_the_future_ended_now(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A clock that is off keeps no run for longer."""
    collector = made(asking.clock)["runs"]
    cloud[0].pages[RUNS] = listed(run("1", "FAILED", updateTime="2030-01-01 00:00:00"))
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]
    asking.clock.now += HOUR + 1
    assert keys(await asking.poll(collector), "runs") == []


async def test_a_run_that_goes_on_again_is_shown_again(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """An end that was none is forgotten."""
    collector = made(asking.clock)["runs"]
    over = listed(run("1", "STOPPED", updateTime="2020-01-01 00:00:00"))
    cloud[0].pages[RUNS] = over
    assert keys(await asking.poll(collector), "runs") == []
    cloud[0].pages[RUNS] = listed(run("1"))
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]
    cloud[0].pages[RUNS] = over
    assert keys(await asking.poll(collector), "runs") == [("p", "1")]


async def test_what_is_known_of_runs_that_are_no_more_is_forgotten(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A list in which every run is new leaves nothing behind, not even beside a failure."""
    every = made(asking.clock, configured=[("p", "9")])
    collector = every["run_nodes"]
    cloud[0].pages[detail_path("9")] = 403
    for number in range(20):
        name, old = f"new-{number}", f"old-{number}"
        rows = run(name), run(old, "COMPLETED", updateTime=AN_HOUR_AGO)
        cloud[0].pages |= {RUNS: listed(*rows), nodes_path(name): nodes("a")}
        assert not (await asking.poll(collector)).complete
    endings = collector.directory.endings
    assert len(collector._lists) <= 2
    assert len(endings.seen.going) + len(endings.seen.ended) <= 3


async def test_each_run_has_its_nodes_and_their_counts(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Nodes of one id in two runs are two; which run it is, the path says."""
    cloud[0].pages |= {
        RUNS: listed(run("1"), run("2")),
        nodes_path("1"): nodes("a", "b", projectId="p", runName="1"),
        nodes_path("2"): nodes("a"),
    }
    caller = asking.caller()
    sighting = await made(asking.clock)["run_nodes"].poll(caller)
    assert keys(sighting, "run_nodes") == [("p", "1", "a"), ("p", "1", "b"), ("p", "2", "a")]
    members = sighting.tables["run_members"]
    assert {key: record.item.states for key, record in members.items()} == {
        ("p", "1", ""): ("RUNNING", "RUNNING"),
        ("p", "2", ""): ("RUNNING",),
    }
    assert (sighting.complete, sighting.objects) == (True, 3)
    assert caller.announced == 4


@pytest.mark.parametrize("gone", [GONE, paged("nodes")], ids=["404", "empty"])
async def test_a_run_whose_nodes_are_gone_has_none(
    cloud: tuple[Cloud, Loopback],
    asking: Asking,
    gone: Any,  # noqa: ANN401 - as a cloud answers
) -> None:
    """It is counted with zeros, and the poll is a success."""
    cloud[0].pages |= {RUNS: listed(run("1")), nodes_path("1"): gone}
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == []
    assert sighting.tables["run_members"]["p", "1", ""].item.states == ()
    assert sighting.complete


@pytest.mark.parametrize("told", [{"runName": "2"}, {"runName": 2}, {"projectId": "q"}])
async def test_nodes_of_another_run_are_refused(
    cloud: tuple[Cloud, Loopback], asking: Asking, told: dict[str, object]
) -> None:
    """An answer that says itself that it is about another run tells nothing of this one."""
    cloud[0].pages |= {
        RUNS: listed(run("1"), run("2")),
        nodes_path("1"): nodes("a", "b", **told),
        nodes_path("2"): nodes("c", runName="2"),
    }
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == [("p", "2", "c")]
    assert not sighting.complete
    assert sighting.problem == "bad_response: nodes of another run than was asked for"


async def test_runs_whose_only_nodes_have_all_lost_their_state_are_refused(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A field that was renamed shows over all runs, where each has a single node."""
    cloud[0].pages |= {RUNS: listed(run("1"), run("2"))}
    bare = paged("nodes", {"nodeId": "a", "status": "NODE_STATE_RUNNING"})
    cloud[0].pages |= dict.fromkeys((nodes_path("1"), nodes_path("2")), bare)
    with pytest.raises(BadResponse):
        await asking.poll(made(asking.clock)["run_nodes"])


async def test_a_round_that_was_cut_short_goes_on_with_the_others_the_next_time(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """One run whose nodes are refused for good does not hide those that come after it."""
    names = [str(number) for number in range(1, 31)]
    cloud[0].pages |= {RUNS: listed(*(run(name) for name in names))}
    cloud[0].pages |= {nodes_path(name): nodes("a") for name in names}
    cloud[0].pages[nodes_path("3")] = 401
    collector = made(asking.clock)["run_nodes"]
    seen: set[tuple[str, ...]] = set()
    for _ in range(3):
        seen.update(keys(await asking.poll(collector), "run_nodes"))
    assert {name for _, name, _ in seen} == set(names) - {"3"}


async def test_a_run_that_fails_makes_it_partial_and_the_others_are_settled(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """What could not be read is not counted, and what was read is all there is of that run."""
    cloud[0].pages |= {
        RUNS: listed(run("1"), run("2")),
        nodes_path("1"): 403,
        nodes_path("2"): nodes("a"),
    }
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == [("p", "2", "a")]
    assert keys(sighting, "run_members") == [("p", "2", "")]
    assert not sighting.complete
    assert sighting.settled == {("p", "2")}


async def test_nodes_that_move_are_not_settled(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A run of which two walks found different nodes keeps those seen before, but no count."""
    answers = iter([["a"], [], ["b"], []])

    def moving(_query: Row) -> Row:
        rows = [{"nodeId": name, "state": "NODE_STATE_RUNNING"} for name in next(answers)]
        return {"nodes": rows, "totalCount": 2}

    cloud[0].pages |= {RUNS: listed(run("1")), nodes_path("1"): moving}
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == [("p", "1", "a"), ("p", "1", "b")]
    assert keys(sighting, "run_members") == []
    assert not sighting.complete
    assert sighting.settled == {("p", "1", "")}


async def test_runs_of_which_none_has_nodes_any_more_are_not_believed(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A server that lists runs that go on and knows none of them has changed: no node is gone."""
    cloud[0].pages |= {RUNS: listed(run("1"), run("2"))}
    cloud[0].pages |= dict.fromkeys((nodes_path("1"), nodes_path("2")), GONE)
    with pytest.raises(NotFound):
        await asking.poll(made(asking.clock)["run_nodes"])


async def test_runs_that_are_over_do_not_vouch_for_those_that_go_on(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """That an ended run's nodes are gone is no sign that the others' 404s are true."""
    over = run("3", "COMPLETED", updateTime=AN_HOUR_AGO)
    cloud[0].pages |= {RUNS: listed(run("1"), run("2"), over)}
    cloud[0].pages |= {nodes_path(name): GONE for name in ("1", "2", "3")}
    with pytest.raises(NotFound):
        await asking.poll(made(asking.clock)["run_nodes"])


async def test_runs_that_are_over_may_all_be_without_nodes(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The nodes of a run go with its end, and nothing is wrong with that."""
    over = [run(name, "COMPLETED", updateTime=AN_HOUR_AGO) for name in ("1", "2")]
    cloud[0].pages |= {RUNS: listed(run("3"), *over), nodes_path("3"): GONE}
    cloud[0].pages |= dict.fromkeys((nodes_path("1"), nodes_path("2")), GONE)
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_members") == [("p", name, "") for name in ("1", "2", "3")]
    assert sighting.complete


async def test_all_runs_that_fail_are_the_failure(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Where no run's nodes were learnt the poll has failed."""
    cloud[0].pages |= {RUNS: listed(run("1")), nodes_path("1"): 500}
    with pytest.raises(ServerError):
        await asking.poll(made(asking.clock)["run_nodes"])


async def test_an_unchanged_node_is_the_same_record(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """What did not change need not be written again."""
    cloud[0].pages |= {RUNS: listed(run("1")), nodes_path("1"): nodes("a", "b")}
    collector = made(asking.clock)["run_nodes"]
    first = await asking.poll(collector)
    cloud[0].pages[nodes_path("1")] = nodes("b", "c")
    second = await asking.poll(collector)
    key = ("p", "1", "b")
    assert first.tables["run_nodes"][key] is second.tables["run_nodes"][key]
    assert keys(second, "run_nodes") == [key, ("p", "1", "c")]


def test_each_collector_has_its_tables() -> None:
    """The nodes have the counts of each run beside them."""
    every = made(SteppedClock())
    assert [[table.name for table in every[name].tables] for name in NSML_COLLECTORS] == [
        ["projects"],
        ["runs"],
        ["run_nodes", "run_members"],
    ]
    assert {str(collector.target) for collector in every.values()} == {
        f"nsml/research/{name}" for name in NSML_COLLECTORS
    }
    assert all(collector.urgent and collector.derived == {} for collector in every.values())


async def test_all_collectors_see_the_simulated_cloud(session: aiohttp.ClientSession) -> None:
    """Every run that goes on is seen with its nodes."""
    clock = SteppedClock(now=NOW)
    async with Simulator(64, clock=clock.wall, alive=False, speed=0, seed=3) as simulator:
        secrets = {
            name: simulator.credentials[f"NCP_{name.upper()}"]
            for name in ("access_key", "secret_key", "api_key")
        }
        dialect = NsmlDialect(lambda: secrets)
        client = client_of(session, simulator.url + "/nsml/v1", dialect, clock)
        seen = {}
        for name, collector in made(clock, retention=10 * 365 * 24 * HOUR).items():
            seen[name] = await collector.poll(client.until(60.0))
        projects = simulator.world.projects
    assert {key[0] for key in seen["projects"].tables["projects"]} == set(projects)
    shown = set(seen["runs"].tables["runs"])
    assert shown == {key[:2] for key in seen["run_nodes"].tables["run_members"]}
    assert all(sighting.complete and sighting.objects for sighting in seen.values())


@pytest.mark.parametrize("status", [401, 429])
async def test_what_every_run_would_be_answered_ends_the_round(
    cloud: tuple[Cloud, Loopback], asking: Asking, status: int
) -> None:
    """A refused key, or too many requests, is met by the calls under way and no further ones."""
    names = [f"r{number}" for number in range(300)]
    cloud[0].pages[RUNS] = listed(*(run(name) for name in names))
    cloud[0].pages |= dict.fromkeys(map(nodes_path, names), status)
    with pytest.raises(Failure):
        await asking.poll(made(asking.clock)["run_nodes"])
    asked = {target for target in cloud[1].targets if target.startswith("/projects/p/")}
    assert len(asked) <= asking.caller().client.budget.concurrent


async def test_a_404_of_a_gateway_is_no_evidence(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A proxy that knows no such path says nothing of a run's nodes."""
    cloud[0].pages |= {RUNS: listed(run("1")), nodes_path("1"): 404}
    with pytest.raises(Failure):
        await asking.poll(made(asking.clock)["run_nodes"])


async def test_a_wait_for_one_run_is_none_for_the_others(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A server error of one run's list makes it partial, and puts no other run off."""
    cloud[0].pages |= {RUNS: listed(run("1"), run("2")), nodes_path("1"): 403}
    cloud[0].pages[nodes_path("2")] = nodes("a")
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert (sighting.complete, sighting.wait) == (False, None)
    assert sighting.problem.startswith("forbidden: HTTP 403")
