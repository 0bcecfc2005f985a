"""The calls for the nodes of runs: when they are made, and whose answers count."""

import asyncio
from collections import Counter

import aiohttp
import pytest

from exporter.clouds.nsml.runs import RunEndings
from exporter.clouds.outcomes import Forbidden
from tests.clouds.api import Asking, Cloud, keys
from tests.clouds.calls import SteppedClock
from tests.clouds.loopback import Head, Loopback, Reply, loopback
from tests.clouds.nsml.account import HOUR, OVER, RUNS, listed, made, nodes, nodes_path, run
from tests.seen import run as seen_run

_PATIENCE_SECONDS = 20.0


async def test_calls_wait_for_no_other_that_they_do_not_depend_on(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """A run's nodes are asked for before the runs' list has shown its end, both pages at once."""
    cloud = Cloud({RUNS: listed(run("1")), nodes_path("1"): nodes("a")})
    both_asked = asyncio.Event()

    async def held(head: Head, writer: asyncio.StreamWriter) -> None:
        await both_asked.wait()
        writer.write(cloud(head, writer))

    def answered(head: Head, writer: asyncio.StreamWriter) -> Reply:
        first = head.query["page"] == "1"
        if head.path == nodes_path("1") and not first:
            both_asked.set()
        return cloud(head, writer) if (head.path == RUNS) is first else held(head, writer)

    async with asyncio.timeout(_PATIENCE_SECONDS), loopback(answered) as server:
        sighting = await Asking(session, server.url, clock).poll(made(clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == [("p", "1", "a")]
    assert sighting.complete


async def test_a_run_that_is_not_on_the_list_after_all_is_not_shown(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """What only a first walk over the runs saw, and a second that was whole did not."""
    first, second = [run("1"), run("2")], [run("1"), run("3")]
    walks = iter(
        [
            {"runList": first, "totalCount": 3},
            {"runList": [], "totalCount": 3},
            {"runList": second, "totalCount": 2},
            {"runList": [], "totalCount": 2},
        ]
    )
    cloud[0].pages[RUNS] = lambda _query: next(walks)
    cloud[0].pages |= {nodes_path(name): nodes(f"n{name}") for name in "123"}
    sighting = await asking.poll(made(asking.clock)["run_nodes"])
    assert keys(sighting, "run_nodes") == [("p", "1", "n1"), ("p", "3", "n3")]
    assert sighting.complete


async def test_runs_of_a_list_that_breaks_off_are_not_remembered(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """However many there are: what was asked for their sake was in vain."""
    cloud[0].pages |= {nodes_path(f"{name}"): nodes("a") for name in range(20)}
    collector = made(asking.clock)["run_nodes"]
    for name in range(20):
        page = {"runList": [run(f"{name}")], "totalCount": 1}
        cloud[0].pages[RUNS] = lambda query, page=page: page if query["page"] == "1" else 403
        with pytest.raises(Forbidden):
            await asking.poll(collector)
    assert not collector._lists
    assert not collector._asked


@pytest.mark.parametrize("answered", [nodes(), 403], ids=["empty", "refused"])
async def test_a_list_that_promises_no_rows_is_one_call(
    cloud: tuple[Cloud, Loopback], asking: Asking, answered: object
) -> None:
    """Its second page is asked for ahead once, and again only after the first has had rows."""
    cloud[0].pages |= {RUNS: listed(run("1"), run("2")), nodes_path("2"): nodes("b")}
    collector = made(asking.clock)["run_nodes"]
    calls = []
    for each in (answered, answered, nodes("a"), nodes("a")):
        cloud[0].pages[nodes_path("1")] = each
        before = len(cloud[1].targets)
        await asking.poll(collector)
        asked = Counter(head.path for head in cloud[1].heads[before:])
        calls.append(asked[nodes_path("1")])
    assert calls[1:] == [1, 2, 2]


@pytest.mark.parametrize("state", ["IN_PROGRESS", "COMPLETED"])
@pytest.mark.parametrize("updated", [None, "2023-11-15 07:00:00", "2023-11-14 07:00:00"])
@pytest.mark.parametrize("before", ["unknown", "going on", "over", "over for long"])
def test_whether_a_run_will_be_shown_is_told_without_noting_it(
    clock: SteppedClock, state: str, updated: str | None, before: str
) -> None:
    """A preliminary list tells of no end that a run has not had."""
    endings = RunEndings(frozenset(OVER), HOUR, clock)
    told = seen_run("1", status=f"RUN_STATE_{state}", updateTime=updated).item
    match before:
        case "going on":
            endings.seen.going.add(told.key)
        case "over":
            endings.seen.ended[told.key] = clock.monotonic() - HOUR
        case "over for long":
            endings.seen.ended[told.key] = clock.monotonic() - HOUR - 1.0
    noted = set(endings.seen.going), dict(endings.seen.ended)
    expected = endings.to_be_shown(told)
    assert noted == (endings.seen.going, endings.seen.ended)
    assert endings.shown(told) is expected
