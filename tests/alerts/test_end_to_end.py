"""From a fault in a cloud to the message that a person gets, through everything between.

What runs is what is shipped: the daemon, the rules and both example configurations, in a world
that goes ten times as fast (pace.py). Nothing here asserts how long a thing takes; the times
are printed (`pytest -s`), and docs/alerting.md says what they are made of.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from tests.alerts import examples
from tests.alerts.runbooks import RUNBOOKS, filled_queries
from tests.alerts.webhook import Message
from tests.alerts.world import EAST, TIMES, WEST, Programs, World, world

pytestmark = [pytest.mark.slow, pytest.mark.scale]

PATIENCE_SECONDS = 180.0
PAUSE_SECONDS = 0.1
SECOND_FAULT_AFTER = 40.0 / TIMES
OF_THE_EXPORTER = {"GpuClusterExporterTargetDown", "GpuClusterExporterBlind"}


@pytest_asyncio.fixture
async def field(
    prometheus_program: str, alertmanager_program: str, tmp_path: Path
) -> AsyncIterator[World]:
    """Give a healthy world that Prometheus knows."""
    programs = Programs(prometheus_program, alertmanager_program)
    async with world(programs, tmp_path) as opened:
        for place in (WEST, EAST):
            await until_some(opened, f'scp_gpu_node:info{{region="{place.region}"}}')
        yield opened


async def until_some(field: World, query: str) -> None:
    """Wait until Prometheus has an answer to a query."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await field.prometheus.result(query):  # noqa: ASYNC110 - another process
            await asyncio.sleep(PAUSE_SECONDS)


async def until_state(field: World, node_id: str, state: str) -> None:
    """Wait until Prometheus knows a node in a state."""
    await until_some(field, f'scp_gpu_node:state{{gpu_node_id="{node_id}",state="{state}"}}')


def paged(name: str, count: int = 1) -> Callable[[Message], bool]:
    """Make a test for a message to the pager in which so many alerts of a name fire."""
    return lambda message: message.receiver == "pager" and len(message.firing(name)) == count


def over(name: str) -> Callable[[Message], bool]:
    """Make a test for a message in which an alert is over and nothing fires any more."""
    return lambda message: message.status == "resolved" and name in message.names("resolved")


def pages(field: World) -> list[list[str]]:
    """Return the names of what fired in each message to the pager."""
    return [message.names() for message in field.webhook.messages if message.receiver == "pager"]


def tell(what: str, began: float, message: Message) -> None:
    """Print how long something took."""
    took = message.at - began
    line = f"\n{what}: {took:.1f} s, which is {took * TIMES:.0f} s at the pace of the defaults"
    print(line)  # noqa: T201 - it is to be read


async def test_a_node_that_fails_is_one_page_with_all_that_one_needs(field: World) -> None:
    """It names node, fabric, region and runbook; a second node joins it; both resolve."""
    fabric = field.fabric(WEST, least=4)
    first, second, *_ = fabric.nodes.values()
    began = time.time()
    await field.drill("fail_node", node_id=first.id)
    page = await field.webhook.wait_for(paged("ScpGpuNodeFailed"))
    tell("from fault to page", began, page)
    [alert] = page.alerts
    assert {*alert["labels"]} == {*examples.NODE_FAILED}
    assert alert["labels"]["gpu_node_name"] == first.name
    assert alert["labels"]["cluster_fabric_name"] == fabric.name
    assert alert["labels"]["region"] == WEST.region
    assert first.name in alert["annotations"]["summary"]
    assert fabric.name in alert["annotations"]["description"]
    assert alert["annotations"]["runbook_url"].endswith("/docs/runbooks/ScpGpuNodeFailed.md")

    await asyncio.sleep(began + SECOND_FAULT_AFTER - time.time())
    began = time.time()
    await field.drill("fail_node", node_id=second.id)
    tell(
        "from a second fault in the same fabric, 40 s after the first, to its page",
        began,
        await field.webhook.wait_for(paged("ScpGpuNodeFailed", 2)),
    )
    began = time.time()
    for node in (first, second):
        await field.drill("recover_node", node_id=node.id)
    end = await field.webhook.wait_for(over("ScpGpuNodeFailed"))
    tell("from the recovery of both to its message", began, end)
    told = [len(names) for names in pages(field)]
    assert told in ([1, 2, 0], [1, 2, 1, 0])
    assert {name for names in pages(field) for name in names} == {"ScpGpuNodeFailed"}


async def test_a_fabric_of_two_that_loses_one_is_one_page(field: World) -> None:
    """The fabric's page names its lost member; the node's own stays silent."""
    fabric = field.fabric(EAST, most=2)
    lost, _ = fabric.nodes.values()
    await field.drill("fail_node", node_id=lost.id)
    page = await field.webhook.wait_for(paged("ScpClusterFabricDown"))
    assert {*page.alerts[0]["labels"]} == {*examples.FABRIC_DOWN}
    assert lost.name in page.alerts[0]["annotations"]["description"]
    await field.drill("recover_node", node_id=lost.id)
    await field.webhook.wait_for(over("ScpClusterFabricDown"))
    assert pages(field) == [["ScpClusterFabricDown"], []]


async def test_a_region_whose_api_is_down_brings_the_exporters_alert_alone(field: World) -> None:
    """One page; what fired before goes on firing and is not told again, nor as over."""
    victim, *_ = field.fabric(WEST, least=4).nodes.values()
    await field.drill("fail_node", node_id=victim.id)
    await field.webhook.wait_for(paged("ScpGpuNodeFailed"))
    before = len(field.webhook.messages)
    began = time.time()
    await field.drill("kill_region", environment=WEST.environment, region=WEST.region)
    page = await field.webhook.wait_for(paged("GpuClusterExporterBlind"))
    tell("from the API's outage to the page that this region is blind", began, page)
    assert {*page.alerts[0]["labels"]} == {*examples.BLIND_REGION}
    assert page.alerts[0]["labels"]["region"] == WEST.region
    for message in field.webhook.messages[before:]:
        assert {*message.names()} <= OF_THE_EXPORTER
        assert message.names("resolved") == []
    await field.drill("revive_region", environment=WEST.environment, region=WEST.region)
    await field.webhook.wait_for(over("GpuClusterExporterBlind"))
    assert pages(field) == [["ScpGpuNodeFailed"], ["GpuClusterExporterBlind"], []]
    assert await field.prometheus.result('ALERTS{alertname="ScpGpuNodeFailed"} == 1')


async def test_a_planned_stop_brings_nothing(field: World) -> None:
    """Nor does one of a whole fabric of two; the next message is about a node that failed."""
    one, *_ = field.fabric(EAST, least=4).nodes
    stopped = [one, *field.fabric(EAST, most=2).nodes]
    for order, state in (("stop", "STOPPED"), ("start", "RUNNING")):
        await field.scp(EAST, f"/v1/gpu-nodes/{order}", {"gpu_node_ids": stopped})
        for node_id in stopped:
            await until_state(field, node_id, state)
    victim, *_ = field.fabric(WEST, least=4).nodes
    await field.drill("fail_node", node_id=victim)
    await field.webhook.wait_for(paged("ScpGpuNodeFailed"))
    assert [message.names() for message in field.webhook.messages] == [["ScpGpuNodeFailed"]]


async def test_a_run_that_hangs_is_one_page(field: World) -> None:
    """A rank that failed while others run: the run's page, and the rank's not even later."""
    project, _, run_name = (await field.drill("fail_run_node", exit_code=1)).rpartition("/")
    page = await field.webhook.wait_for(paged("NsmlRunDegraded"))
    labels = page.alerts[0]["labels"]
    assert {*labels} == {*examples.RUN_DEGRADED}
    assert (labels["project_id"], labels["run_name"]) == (project, run_name)
    victim, *_ = field.fabric(WEST, least=4).nodes
    await field.drill("fail_node", node_id=victim)
    await field.webhook.wait_for(paged("ScpGpuNodeFailed"))
    assert pages(field) == [["NsmlRunDegraded"], ["ScpGpuNodeFailed"]]


async def test_the_queries_of_the_runbooks_are_answered(field: World) -> None:
    """Prometheus runs each of them; each runbook shows something of a node or run that is there."""
    field.unlock(next(iter(field.fabric(WEST).nodes.values())))
    await until_some(field, "scp_cluster_fabric:unlocked_nodes")
    [node, *_] = await field.prometheus.result('scp_gpu_node_info{region="kr-west1"}')
    [rank, *_] = await field.prometheus.result("nsml_run_node_info")
    alerts = (
        {**node["metric"], "provider": "scp", "collector": "gpu_nodes"},
        {**rank["metric"], "provider": "nsml", "collector": "runs"},
    )
    for runbook in RUNBOOKS:
        asked = [query for labels in alerts for query in filled_queries(runbook, labels)]
        assert any([await field.prometheus.result(query) for query in asked]), runbook.stem
