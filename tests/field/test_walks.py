"""Walks over the pages of lists: whatever a server does with sizes, totals and order."""

from collections import Counter

import pytest

from exporter.simulator.faults import Count, Delay, MovingRows
from tests.field.conftest import Open
from tests.field.rig import NODES, PREFIX, Field, label_values, node_ids, object_lines
from tests.simulated import config_text, value

GPU_NODES = "/v1/gpu-nodes"
COUNTS = ("total", "page", "null", "absent")


def nodes_only(field: Field, polling: str = "interval: 30s") -> str:
    """Write a configuration that asks for nodes alone."""
    text = config_text(field.simulator.url, regions=["kr-west1"], nsml=False, polling=polling)
    return f"metrics: {{state_series: current}}\n{text}    collectors: [gpu_nodes]\n"


@pytest.mark.parametrize("nodes", [19, 20, 21, 100, 101, 1000])
@pytest.mark.parametrize("size", ["honoured", "capped", "refused", "ignored", "everything"])
async def test_every_node_is_found(field_of: Open, nodes: int, size: str) -> None:
    """However the server treats `size`, and whatever it says of the total, if anything."""
    async with field_of(nodes) as field:
        expected = node_ids(field.simulator)
        assert len(expected) == nodes
        for patience, count in enumerate(COUNTS, start=300):
            field.simulator.choose(scp_size=size, scp_count=count)
            # Another patience is another configuration, whose first poll is made at once.
            await field.start(nodes_only(field, f"interval: 30s, stale_after: {patience}s"))
            page = await field.page()
            found = label_values(object_lines(page), "scp_gpu_node_info", "gpu_node_id")
            assert found == expected, count
            assert value(page, f"{PREFIX}target_up", **NODES) == 1.0, count
            assert value(page, f"{PREFIX}target_objects", **NODES) == nodes, count


async def test_a_server_that_refuses_large_pages_is_asked_for_them_once(field: Field) -> None:
    """From then on it is asked in the size that it took."""
    field.simulator.choose(scp_size="refused")
    await field.start(nodes_only(field))
    for _ in range(3):
        await field.next_poll()
    sizes = Counter(request.query.get("size") for request in field.requests(GPU_NODES))
    assert sizes["1000"] == 1
    assert set(sizes) == {"1000", "100"}


async def test_a_total_that_is_always_too_high_is_a_success(field: Field) -> None:
    """Two walks that agree are right; that the API claims more is a metric of its own."""
    field.simulator.faults.add(Count(by=3, path=f"{GPU_NODES}$"))
    await field.start(nodes_only(field))
    page = await field.page()
    assert value(page, f"{PREFIX}target_up", **NODES) == 1.0
    assert value(page, f"{PREFIX}target_objects", **NODES) == 8.0
    assert value(page, f"{PREFIX}target_reported_objects", **NODES) == 11.0
    assert len(field.requests(GPU_NODES, page="0")) == 2


@pytest.mark.parametrize("step", [1, 2, 3, 5, 7])
async def test_rows_that_move_during_the_walk_delete_nothing(field_of: Open, step: int) -> None:
    """Where two walks differ the poll is partial; where the second found all, it succeeded."""
    async with field_of(17) as field:
        polling = "interval: 30s, page_size: 4, stale_after: 1h"
        await field.start(nodes_only(field, polling))
        expected = node_ids(field.simulator)
        gone = expected[0]
        field.simulator.faults.add(MovingRows(path=f"{GPU_NODES}$", step=step))
        field.simulator.drills.vanish_node(gone)
        for _ in range(5):
            before = await field.own("target_last_success_timestamp_seconds")
            await field.next_poll()
            up, reason = await field.outcome()
            lines = await field.objects()
            found = label_values(lines, "scp_gpu_node_info", "gpu_node_id")
            if up:
                assert found == expected[1:]
                break
            assert reason == "partial"
            assert found == expected
            assert await field.own("target_last_success_timestamp_seconds") == before
            assert await field.own("target_consecutive_failures")
        field.simulator.faults.clear()
        await field.next_poll()
        found = label_values(await field.objects(), "scp_gpu_node_info", "gpu_node_id")
        assert found == expected[1:]


async def test_an_order_that_changes_with_every_request_ends_well_or_partial(
    field_of: Open,
) -> None:
    """No node is ever missed from the page, and none is there twice."""
    async with field_of(17) as field:
        await field.start(nodes_only(field, "interval: 30s, page_size: 4, stale_after: 1h"))
        field.simulator.choose(scp_order="changing")
        for _ in range(6):
            await field.next_poll()
            lines = await field.objects()
            found = label_values(lines, "scp_gpu_node_info", "gpu_node_id")
            assert found == node_ids(field.simulator)


async def test_a_list_of_two_hundred_slow_pages_delays_no_scrape(field_of: Open) -> None:
    """While the walk goes on, scrapes are answered one after the other, with the old values."""
    async with field_of(200) as field:
        await field.start(nodes_only(field))
        before = await field.objects()
        field.simulator.faults.add(Delay(seconds=0.005, path=f"{GPU_NODES}$"))
        small = nodes_only(field, "interval: 30s, page_size: 1")
        field.configure(small)
        assert await field.reloader.reload() == ""
        poller = field.poller()
        begun = len(field.requests(GPU_NODES))
        pages = Counter[int]()
        while not poller.attempted.is_set():
            status, body = await field.ask("/metrics")
            assert status == 200
            assert body.count(b"\nscp_gpu_node_info{") == 200
            pages[len(field.requests(GPU_NODES)) - begun] += 1
        assert len(field.requests(GPU_NODES, size="1")) > 200
        # A scrape that waited for the walk would have seen few of its two hundred steps.
        assert len(pages) > 20
        assert await field.objects() == before
        assert await field.outcome() == (1.0, "")
