"""Too many requests: who waits, for how long, and who does not."""

import pytest

from exporter.simulator.faults import RateLimit
from tests.field.conftest import TWO_REGIONS, Open
from tests.field.rig import Field, label_values, node_ids

GPU_NODES = "/v1/gpu-nodes"
PAGED = "interval: 30s, page_size: 4, catalog_interval: 1h"


def limited(kind: str, seconds: int = 1, requests: int | None = None) -> RateLimit:
    """Return the fault of a server that has enough at the third page of five."""
    return RateLimit(
        path=f"{GPU_NODES}$",
        region="kr-west1",
        page=2,
        retry_after=kind,
        seconds=seconds,
        requests=requests,
    )


@pytest.mark.parametrize("kind", ["seconds", "date", "nonsense", "none"])
async def test_a_limit_that_passes_costs_one_more_request(field_of: Open, kind: str) -> None:
    """The page is asked for again, that one alone, and the poll succeeds."""
    async with field_of(20) as field:
        field.simulator.faults.add(limited(kind, requests=1))
        await field.start(polling=PAGED)
        assert await field.outcome() == (1.0, "")
        counts = [len(field.requests(GPU_NODES, page=str(page))) for page in range(5)]
        assert counts == [1, 1, 2, 1, 1]
        found = label_values(await field.objects(), "scp_gpu_node_info", "gpu_node_id")
        assert found == node_ids(field.simulator)


@pytest.mark.parametrize("kind", ["seconds", "date", "nonsense", "none"])
async def test_a_limit_that_stays_has_one_owner_of_retries(field_of: Open, kind: str) -> None:
    """Three attempts at that page are all, counted at the server, and the poll failed."""
    async with field_of(20) as field:
        field.simulator.faults.add(limited(kind))
        await field.start(polling=PAGED)
        assert await field.outcome() == (0.0, "rate_limited")
        assert [len(field.requests(GPU_NODES, page=str(page))) for page in range(4)] == [1, 1, 3, 0]
        assert label_values(await field.objects(), "scp_gpu_node_info", "gpu_node_id") == []


@pytest.mark.parametrize("kind", ["seconds", "date"])
async def test_a_limit_for_a_day_is_obeyed_for_ten_minutes(field_of: Open, kind: str) -> None:
    """Not one request more until then; the other region is polled at its interval."""
    async with field_of(40, places=TWO_REGIONS) as field:
        field.simulator.faults.add(limited(kind, seconds=99_999))
        await field.start(polling=PAGED, regions=["kr-west1", "kr-east1"])
        assert requests_to(field, "kr-west1") == 3
        others = requests_to(field, "kr-east1")
        await field.pass_time(590)
        assert requests_to(field, "kr-west1") == 3
        east = node_ids(field.simulator, "kr-east1")
        pages_of_a_walk = -(-len(east) // 4)
        polls = (requests_to(field, "kr-east1") - others) / pages_of_a_walk
        assert polls >= 590 // 30
        up = {"region": "kr-east1", "collector": "gpu_nodes"}
        assert await field.own("target_up", **up) == 1.0
        await field.pass_time(45)
        assert requests_to(field, "kr-west1") == 6


def requests_to(field: Field, region: str) -> int:
    """Count the requests for the nodes of a region."""
    return sum(request.region == region for request in field.requests(GPU_NODES))
