"""The collectors of one account in one region of Samsung Cloud Platform."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from exporter.clouds.outcomes import AuthFailed, BadRequest, Failure, NotFound, ServerError
from exporter.clouds.paging import REMEMBERED_SECONDS
from exporter.clouds.scp.collectors import Paces, collectors
from exporter.clouds.scp.signing import ScpDialect
from exporter.collectors import Collector, ListCollector
from exporter.config import SCP_COLLECTORS
from exporter.simulator import faults
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from exporter.snapshots import Sighting
from tests.clouds.api import CATALOG, GONE, PACE, Asking, Cloud, Row, keys
from tests.clouds.calls import SteppedClock, client_of
from tests.clouds.loopback import Loopback, loopback

POOLS, FABRICS = "/v1/cluster-fabrics/node-pools", "/v1/cluster-fabrics"
NODES, PRODUCTS = "/v1/gpu-nodes", "/v1/gpu-nodes/products"


def made() -> dict[str, Any]:
    """Return all collectors of an account by name."""
    every = collectors(
        SCP_COLLECTORS,
        account="prod",
        environment="e",
        region="kr-west1",
        api_version="1.2",
        page_size=100,
        paces=Paces(PACE, CATALOG),
    )
    return {collector.target.collector: collector for collector in every}


@pytest.fixture
async def cloud() -> AsyncIterator[tuple[Cloud, Loopback]]:
    """Give a cloud without any lists."""
    answers = Cloud()
    async with loopback(answers) as server:
        yield answers, server


@pytest.fixture
def asking(
    session: aiohttp.ClientSession, cloud: tuple[Cloud, Loopback], clock: SteppedClock
) -> Asking:
    """Give what polls collectors at that cloud."""
    return Asking(session, cloud[1].url, clock)


def fabrics(*names: str) -> Row:
    """Return the answer that lists these fabrics."""
    return {"cluster_fabrics": [{"id": name, "state": "ACTIVE"} for name in names], "count": None}


def pool(name: str, *members: str) -> Row:
    """Return a row of a node pool with these fabrics."""
    details = [{"cluster_fabric_id": member, "cluster_fabric_name": member} for member in members]
    return {"node_pool_id": name, "cluster_fabric_details": details}


def by_fabric(answers: dict[str, Any]) -> Any:  # noqa: ANN401 - a status or a document
    """Refuse to list all pools, as the live API does, and give those of each fabric."""
    return lambda query: answers.get(query.get("cluster_fabric_id", ""), 400)


async def test_node_pools_are_asked_for_at_once(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The page as documented works: one call without a parameter, at the pace of states."""
    cloud[0].pages[POOLS] = {"node_pools": [pool("p1", "f1"), pool("p2")], "count": 2}
    collector = made()["node_pools"]
    sighting = await asking.poll(collector)
    assert keys(sighting, "node_pools") == [("p1",), ("p2",)]
    assert (sighting.complete, sighting.reported, sighting.objects) == (True, 2, 2)
    assert cloud[1].targets == [POOLS]
    assert (collector.pace, collector.urgent) == (PACE, True)


async def test_a_400_is_answered_by_asking_for_each_fabric_and_remembered(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """From then on there is a call a fabric, seldom, and behind all others."""
    answers = {
        "f1": {"node_pools": [pool("p1", "f1")]},
        "f2": {"node_pools": [pool("p1", "f2"), pool("p2", "f2")]},
        "f3": {"node_pools": []},
    }
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2", "f3"), POOLS: by_fabric(answers)}
    collector = made()["node_pools"]
    sighting = await asking.poll(collector)
    assert keys(sighting, "node_pools") == [("p1",), ("p2",)]
    assert sighting.complete
    merged = sighting.tables["node_pools"]["p1",].item
    assert [fabric.cluster_fabric_id for fabric in merged.fabrics] == ["f1", "f2"]
    assert (collector.pace, collector.urgent) == (CATALOG, False)
    assert POOLS in cloud[1].targets
    cloud[1].heads.clear()
    caller = asking.caller(urgent=collector.urgent)
    await collector.poll(caller)
    assert POOLS not in cloud[1].targets
    assert cloud[1].targets[-3:] == [f"{POOLS}?cluster_fabric_id=f{i}" for i in (1, 2, 3)]
    assert caller.announced == 3


async def test_pools_are_asked_for_at_once_again_after_an_hour(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A moment's 400 does not cost the slow way for good."""
    cloud[0].pages |= {
        FABRICS: fabrics("f1"),
        POOLS: by_fabric({"f1": {"node_pools": [pool("p1")]}}),
    }
    collector = made()["node_pools"]
    await asking.poll(collector)
    assert not collector.urgent
    cloud[0].pages[POOLS] = lambda _: {"node_pools": [pool("p1")]}
    await asking.clock.sleep(REMEMBERED_SECONDS)
    cloud[1].heads.clear()
    await asking.poll(collector)
    assert set(cloud[1].targets) == {POOLS}
    assert collector.urgent


@pytest.mark.parametrize("status", [404, 403, 405, 422, 429, 500])
async def test_only_a_400_means_that_each_fabric_must_be_asked_for(
    cloud: tuple[Cloud, Loopback], asking: Asking, status: int
) -> None:
    """Any other failure is one, and nothing is concluded from it."""
    cloud[0].pages |= {FABRICS: fabrics("f1"), POOLS: status}
    collector = made()["node_pools"]
    with pytest.raises(Failure):
        await asking.poll(collector)
    assert set(cloud[1].targets) == {POOLS}
    assert collector.urgent


async def test_a_fabric_that_is_gone_is_no_failure(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A 404 between the list and the call is evidence that the fabric is gone."""
    answers = {"f1": GONE, "f2": {"node_pools": [pool("p2", "f2")]}}
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2"), POOLS: by_fabric(answers)}
    sighting = await asking.poll(made()["node_pools"])
    assert keys(sighting, "node_pools") == [("p2",)]
    assert sighting.complete
    cloud[0].pages[FABRICS] = fabrics("f1")
    sighting = await asking.poll(made()["node_pools"])
    assert (sighting.objects, sighting.complete) == (0, True)


async def test_fabrics_of_which_all_are_gone_are_not_believed(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """A server that lists fabrics and knows none of them has changed: no pool is gone."""
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2"), POOLS: by_fabric({"f1": GONE, "f2": GONE})}
    with pytest.raises(NotFound):
        await asking.poll(made()["node_pools"])


async def test_some_fabrics_that_fail_make_it_partial(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """What was seen counts, and nothing else is gone."""
    answers = {"f1": 403, "f2": {"node_pools": [pool("p2", "f2")]}}
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2"), POOLS: by_fabric(answers)}
    sighting = await asking.poll(made()["node_pools"])
    assert keys(sighting, "node_pools") == [("p2",)]
    assert not sighting.complete


async def test_a_fabric_that_fails_takes_nothing_from_its_pool(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The pool keeps what it had of that fabric, beside what the others tell anew."""
    whole: dict[str, Any] = {each: {"node_pools": [pool("p", each)]} for each in ("f1", "f2")}
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2"), POOLS: by_fabric(whole)}
    collector = made()["node_pools"]
    await asking.poll(collector)
    renamed = pool("p", "f1")
    renamed["cluster_fabric_details"][0]["cluster_fabric_name"] = "renamed"
    cloud[0].pages[POOLS] = by_fabric({"f1": {"node_pools": [renamed]}, "f2": 500})
    sighting = await asking.poll(collector)
    [record] = sighting.tables["node_pools"].values()
    names = {each.cluster_fabric_id: each.cluster_fabric_name for each in record.item.fabrics}
    assert names.keys() == {"f1", "f2"}
    assert names["f1"] == "renamed"
    assert not sighting.complete


async def test_all_fabrics_that_fail_are_the_failure(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Where nothing was learnt, the first failure is the poll's."""
    cloud[0].pages |= {FABRICS: fabrics("f1", "f2"), POOLS: by_fabric({"f1": 500, "f2": 403})}
    with pytest.raises(ServerError):
        await asking.poll(made()["node_pools"])


@pytest.mark.parametrize("status", [401, 429])
async def test_what_is_the_same_for_all_fabrics_is_met_once(
    cloud: tuple[Cloud, Loopback], asking: Asking, status: int
) -> None:
    """A refused key, or a limit that is exceeded, ends the round."""
    names = [f"f{number}" for number in range(50)]
    answers: dict[str, Any] = dict.fromkeys(names, status)
    cloud[0].pages |= {FABRICS: fabrics(*names), POOLS: by_fabric(answers)}
    with pytest.raises(Failure):
        await asking.poll(made()["node_pools"])
    assert len([target for target in cloud[1].targets if "cluster_fabric_id" in target]) <= 3
    answers["f0"] = {"node_pools": [pool("p0")]}
    sighting = await asking.poll(made()["node_pools"])
    assert (sighting.objects, sighting.complete) == (1, False)


async def test_no_fabrics_are_no_pools(cloud: tuple[Cloud, Loopback], asking: Asking) -> None:
    """An account without fabrics has an empty list, which is a success."""
    cloud[0].pages |= {FABRICS: fabrics(), POOLS: 400}
    sighting = await asking.poll(made()["node_pools"])
    assert (sighting.objects, sighting.complete) == (0, True)


async def test_fabrics_that_cannot_be_listed_fail_the_poll(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """Without the fabrics nothing can be asked."""
    cloud[0].pages |= {FABRICS: 401, POOLS: 400}
    with pytest.raises(AuthFailed):
        await asking.poll(made()["node_pools"])


def models_of(collector: ListCollector[Any], sighting: Sighting) -> dict[str, str]:
    """Return the GPU model of each node, by its id."""
    nodes = sighting.tables["gpu_nodes"].values()
    return {record.key[0]: collector.derived["gpu_model"](record.item) for record in nodes}


async def test_the_gpu_model_is_that_of_the_product_however_old(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The products last read decide; without one the letter does, and nothing is guessed."""
    types = ("g2c96h8_metal", "g9c96x8_metal", "s1v8m32_metal")
    nodes = [{"id": name, "server_type": name, "state": "RUNNING"} for name in types]
    cloud[0].pages[NODES] = {"gpu_nodes": nodes, "count": 3}
    every = made()
    collector = every["gpu_nodes"]
    sighting = await asking.poll(collector)
    assert models_of(collector, sighting) == dict(zip(types, ("H100", "", ""), strict=True))
    product = {
        "id": "p",
        "name": "g9c96x8_metal",
        "state": "ACTIVE",
        "product_attrs": {"gpu_model": "X9"},
    }
    cloud[0].pages[PRODUCTS] = {"products": [product]}
    await asking.poll(every["products"])
    renewed = await asking.poll(collector)
    await asking.poll(every["products"])
    assert renewed.generation != sighting.generation
    assert models_of(collector, renewed) == dict(zip(types, ("H100", "X9", ""), strict=True))
    cloud[0].pages[PRODUCTS] = 500
    with pytest.raises(ServerError):
        await asking.poll(every["products"])
    kept = await asking.poll(collector)
    assert kept.generation == renewed.generation
    assert models_of(collector, kept)["g9c96x8_metal"] == "X9"


async def test_the_version_that_is_asked_for_is_marked(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """However the API writes it."""
    versions = [{"id": "v1.2", "status": "CURRENT"}, {"id": "v1.1", "status": "DEPRECATED"}]
    cloud[0].pages["/"] = {"versions": versions}
    collector = made()["api_versions"]
    sighting = await asking.poll(collector)
    rows = sighting.tables["api_versions"].values()
    marked = {row.key[0]: collector.derived["requested"](row.item) for row in rows}
    assert marked == {"1.2": "true", "1.1": "false"}


async def test_a_list_that_fails_forgets_nothing(
    cloud: tuple[Cloud, Loopback], asking: Asking
) -> None:
    """The records of the last whole poll are the same objects after a failed one."""
    cloud[0].pages[NODES] = {"gpu_nodes": [{"id": "a", "state": "RUNNING"}], "count": 1}
    collector = made()["gpu_nodes"]
    first = await asking.poll(collector)
    cloud[0].pages[NODES] = 400
    with pytest.raises(BadRequest):
        await asking.poll(collector)
    cloud[0].pages[NODES] = {"gpu_nodes": [{"id": "a", "state": "RUNNING"}], "count": 1}
    second = await asking.poll(collector)
    assert first.tables["gpu_nodes"]["a",] is second.tables["gpu_nodes"]["a",]


def test_each_collector_has_its_pace_and_its_table() -> None:
    """States are polled often, what can be rented seldom."""
    every: dict[str, Collector] = made()
    assert list(every) == list(SCP_COLLECTORS)
    slow = {name for name, collector in every.items() if collector.pace is CATALOG}
    assert slow == {"products", "images", "api_versions"}
    for name, collector in every.items():
        assert [table.name for table in collector.tables] == [name]
        assert str(collector.target) == f"scp/prod/e/kr-west1/{name}"
    assert every["node_pools"].derived == {}


@pytest.mark.parametrize("refused", [False, True])
async def test_all_collectors_see_the_simulated_cloud_as_it_is(
    session: aiohttp.ClientSession,
    refused: bool,  # noqa: FBT001 - a parameter
) -> None:
    """What is true in the cloud is what is seen, also where node pools are refused."""
    clock = SteppedClock()
    async with Simulator(40, clock=clock.wall, alive=False, speed=0, seed=3) as simulator:
        if refused:
            simulator.faults.add(faults.NodePoolsRefused())
        secrets = {
            name: simulator.credentials[f"SCP_{name.upper()}"]
            for name in ("access_key", "secret_key")
        }
        dialect = ScpDialect(lambda: secrets, "1.2")
        client = client_of(session, simulator.url + "/scp/e/kr-west1", dialect, clock)
        seen: dict[str, Sighting] = {}
        for name, collector in made().items():
            seen[name] = await collector.poll(client.until(60.0, urgent=collector.urgent))
        region = simulator.world.regions[Place("e", "kr-west1")]
    assert {key[0] for key in seen["gpu_nodes"].tables["gpu_nodes"]} == set(region.nodes)
    assert {key[0] for key in seen["cluster_fabrics"].tables["cluster_fabrics"]} == set(
        region.fabrics
    )
    listed = seen["node_pools"].tables["node_pools"].values()
    of_pools = {fabric.cluster_fabric_id for pool in listed for fabric in pool.item.fabrics}
    assert of_pools == set(region.fabrics)
    assert all(sighting.complete and sighting.objects for sighting in seen.values())
