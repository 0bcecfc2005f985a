"""Clouds that are down, in part or whole, from the start or for long."""

import asyncio

import pytest

from exporter.simulator.faults import Refuse, Status
from tests.clocks import settle
from tests.field.conftest import TWO_REGIONS, Open
from tests.field.rig import (
    NODES,
    PREFIX,
    Field,
    label_values,
    labels_of,
    node_ids,
    object_lines,
)
from tests.simulated import config_text, samples, value, values

HEALTH = f"{PREFIX}target_"


def health_series(page: bytes) -> list[str]:
    """Return the names and labels of the targets' own series."""
    lines = (line.rpartition(" ")[0] for line in samples(page))
    return sorted(line for line in lines if line.startswith(HEALTH))


async def test_an_outage_keeps_values_until_they_are_stale_and_ends_without_a_restart(
    field: Field,
) -> None:
    """Connections are refused for longer than `stale_after`, in both clouds."""
    await field.start(nsml=True, polling="interval: 30s, stale_after: 5m, catalog_interval: 30s")
    await field.pass_time(60)
    good = await field.page()
    port = field.simulator._port
    await field.simulator.stop()
    seen = await field.own("target_last_success_timestamp_seconds")
    await field.pass_time(240)
    assert object_lines(await field.page()) == object_lines(good)
    assert await field.outcome() == (0.0, "connection")
    assert await field.own("target_last_success_timestamp_seconds") == seen
    await field.pass_time(100)
    page = await field.page()
    assert object_lines(page) == []
    assert health_series(page) == health_series(good)
    assert set(values(page, f"{PREFIX}target_up")) == {0.0}
    await field.simulator.start(port=port)
    await field.pass_time(150)
    assert object_lines(await field.page()) == object_lines(good)
    assert set(values(await field.page(), f"{PREFIX}target_up")) == {1.0}


async def test_an_api_that_is_down_from_the_first_poll_leaves_a_page(field: Field) -> None:
    """Never empty, from before the first poll on; ready once that has ended, though badly."""
    await field.simulator.stop()
    assert value(await field.page(), f"{PREFIX}build_info") == 1.0
    assert (await field.ask("/-/ready"))[0] == 503
    await field.start(nsml=True)
    page = await field.page()
    assert (await field.ask("/-/ready"))[0] == 200
    assert object_lines(page) == []
    ups = values(page, f"{PREFIX}target_up")
    assert (len(ups), set(ups)) == (9, {0.0})
    assert sum(values(page, f"{PREFIX}poll_failures_total", reason="connection")) == 9


async def test_a_region_that_comes_up_later_appears_with_the_next_poll(field_of: Open) -> None:
    """One that was down at the start needs no restart, and the other never waits for it."""
    async with field_of(8, places=TWO_REGIONS) as field:
        field.simulator.drills.kill_region("e", "kr-east1")
        await field.start(regions=["kr-west1", "kr-east1"])
        lines = await field.objects()
        assert set(label_values(lines, "scp_gpu_node_info", "region")) == {"kr-west1"}
        field.simulator.drills.revive_region("e", "kr-east1")
        await field.next_poll(region="kr-east1", collector="gpu_nodes")
        lines = [line for line in await field.objects() if 'region="kr-east1"' in line]
        found = label_values(lines, "scp_gpu_node_info", "gpu_node_id")
        assert found == node_ids(field.simulator, "kr-east1")
        assert found


async def test_a_deleted_node_goes_from_every_family_with_the_next_success(field: Field) -> None:
    """A poll that fails proves nothing: until one succeeds it is shown as it was."""
    await field.start()
    before = await field.objects()
    gone = node_ids(field.simulator)[0]
    families = {line.partition("{")[0] for line in before if gone in line}
    assert {"scp_gpu_node_info", "scp_gpu_node_state", "scp_gpu_node_gpus"} <= families
    field.simulator.drills.vanish_node(gone)
    fault = field.simulator.faults.add(Status(status=500, path="/v1/gpu-nodes$"))
    await field.next_poll()
    about = [line for line in await field.objects() if gone in line]
    assert about == [line for line in before if gone in line]
    field.simulator.faults.clear(fault.id)
    await field.next_poll()
    after = await field.objects()
    assert [line for line in after if gone in line] == []
    assert label_values(after, "scp_gpu_node_info", "gpu_node_id") == node_ids(field.simulator)


async def test_two_broken_endpoints_are_two_targets_down(field: Field) -> None:
    """403 at one, 500 at another: the page is there, and all else is fresh."""
    field.simulator.faults.add(Refuse(reason="forbidden", path="/v1/cluster-fabrics$"))
    field.simulator.faults.add(Status(status=500, path="/v1/gpu-nodes/images"))
    await field.start(nsml=True)
    await field.next_poll()
    page = await field.page()
    down = {
        labels_of(line)["collector"]
        for line in samples(page)
        if line.startswith(f"{PREFIX}target_up{{") and line.endswith(" 0.0")
    }
    assert down == {"cluster_fabrics", "images"}
    assert await field.outcome(collector="cluster_fabrics") == (0.0, "forbidden")
    assert await field.outcome(collector="images") == (0.0, "server_error")
    now = field.clock.wall()
    fresh = value(page, f"{PREFIX}target_last_update_timestamp_seconds", **NODES)
    assert fresh is not None
    assert now - fresh <= 30
    assert len(values(page, "scp_gpu_node_info")) == len(node_ids(field.simulator))


@pytest.mark.parametrize("reason", ["frozen", "down"])
async def test_only_a_loop_that_is_stuck_costs_liveness(field: Field, reason: str) -> None:
    """An API that is down for an hour is no reason to restart; a loop that froze is."""
    text = config_text(field.simulator.url, regions=["kr-west1"], nsml=False)
    await field.start(text + "    collectors: [gpu_nodes]\n")
    if reason == "frozen":
        name = str(field.poller().collector.target)
        [loop] = [task for task in asyncio.all_tasks() if task.get_name() == name]
        loop.cancel()
        await settle()
        await field.clock.advance(400)
        expected = (503, f"no attempt for too long: {name}\n".encode())
    else:
        field.simulator.faults.add(Status(status=503))
        await field.pass_time(3600)
        assert await field.own("target_up") == 0.0
        expected = (200, b"healthy\n")
    assert await field.ask("/-/healthy") == expected
