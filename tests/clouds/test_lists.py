"""What is a list and what is none: rows without ids or states, lists in one answer, empty ones."""

import json
from typing import Any

import pytest

from exporter.clouds.nsml.models import RunNode
from exporter.clouds.outcomes import BadResponse
from exporter.clouds.paging import Listing, single
from exporter.clouds.rows import Reader
from exporter.clouds.scp.models import GpuNode, Image
from tests.clouds.lists import CLAIMS, Claim, Server, found_by, ids, nodes, reader


def list_of(*rows: dict[str, Any], **more: object) -> bytes:
    """Write an answer of these rows."""
    return json.dumps({"gpu_nodes": rows, **more}).encode()


async def single_of(*bodies: bytes) -> Listing[GpuNode]:
    """Read a list that comes in one answer, from these answers in turn, the last for ever."""
    left = list(bodies)

    async def fetch() -> bytes:
        return left.pop(0) if len(left) > 1 else left[0]

    return await single(fetch, reader())


async def test_an_empty_list_is_a_list() -> None:
    """No rows where none are claimed is an answer, after one request."""
    for claim in ("right", "null", "missing", "page"):
        server = Server([], claim=claim)
        listing = await found_by(server, 1000)
        assert not listing.records
        assert listing.complete
        assert server.asked == [(0, 1000)]


async def test_no_rows_where_some_are_claimed_is_no_answer() -> None:
    """An empty page under a claim of seven is refused, and never an empty list."""
    server = Server([], claim="high")
    with pytest.raises(BadResponse, match="7"):
        await found_by(server, 1000)


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("claim", CLAIMS)
async def test_rows_without_an_id_end_no_walk(size: int, claim: Claim) -> None:
    """A row that can't be read hides none of those behind it, not even alone on its page."""
    rows: list[dict[str, Any]] = nodes(4)
    rows[2:2] = [{"id": None, "gpu_node_name": f"nameless-{i}"} for i in range(3)]
    listing = await found_by(Server(rows, claim=claim), size)
    assert ids(listing) == {"n0", "n1", "n2", "n3"}
    assert listing.nameless == 3
    assert listing.complete


async def test_rows_without_an_id_are_counted_once() -> None:
    """A server that sends everything on every page makes no more of them."""
    rows: list[dict[str, Any]] = [*nodes(2), {}, {}, {"id": ""}]
    listing = await found_by(Server(rows, everything=True), 20)
    assert listing.nameless == 3
    assert listing.found == 5


async def test_a_page_that_has_lost_its_ids_or_states_fails_the_walk() -> None:
    """Where the API changes between two pages, what stands on the second is not gone."""
    for changed in ({"uuid": "a", "state": "RUNNING"}, {"id": "a", "status": "RUNNING"}):
        rows = nodes(20) + [changed | {name: f"x{i}" for name in changed if "id" in name}
                            for i in range(5)]  # fmt: skip
        with pytest.raises(BadResponse, match="5 rows without"):
            await found_by(Server(rows), 20)


async def test_rows_that_have_lost_their_ids_are_no_list() -> None:
    """Where no row has an id, the API has changed, and no object is gone."""
    with pytest.raises(BadResponse, match="without an id"):
        await single_of(list_of({"uuid": "a", "state": "RUNNING"}))
    with pytest.raises(BadResponse, match="without an id"):
        await found_by(Server([{"uuid": f"{i}"} for i in range(30)]), 20)


async def test_two_rows_that_have_lost_their_states_are_no_list() -> None:
    """Where no row of two or more has a state, no node has become unknown."""
    renamed = [{"id": "a", "status": "RUNNING"}, {"id": "b", "status": "RUNNING"}]
    with pytest.raises(BadResponse, match="without a state"):
        await single_of(list_of(*renamed))
    nulls: list[dict[str, Any]] = [{"id": "a", "state": None}, {"id": "b", "state": 5}]
    with pytest.raises(BadResponse, match="without a state"):
        await single_of(list_of(*nulls))


async def test_one_row_without_a_state_is_a_list() -> None:
    """A single object may have no state, and so may some of many."""
    assert (await single_of(list_of({"id": "a"}))).complete
    some = await single_of(list_of({"id": "a"}, {"id": "b"}, {"id": "c", "state": "RUNNING"}))
    assert len(some.records) == 3


async def test_two_bad_rows_at_the_end_blind_nobody() -> None:
    """Rows whose state is null are bad rows, wherever they stand, and no change of the API."""
    bad = [{"id": f"x{i}", "state": None} for i in range(2)]
    listing = await found_by(Server([*nodes(20), *bad]), 20)
    assert len(listing.records) == 22


async def test_rows_of_a_kind_without_states_need_none() -> None:
    """Images have no state to lose."""

    async def fetch() -> bytes:
        return b'{"images": [{"id": "a"}, {"id": "b"}]}'

    assert len((await single(fetch, Reader(Image, "images"))).records) == 2


async def test_states_are_missed_under_the_prefix_of_their_kind() -> None:
    """A state that is nothing but its prefix is none."""

    async def fetch() -> bytes:
        rows = [{"nodeId": "a", "state": "NODE_STATE_"}, {"nodeId": "b", "state": ""}]
        return json.dumps({"nodes": rows}).encode()

    with pytest.raises(BadResponse, match="without a state"):
        await single(fetch, Reader(RunNode, "nodes"))


async def test_a_single_list_that_is_short_is_read_twice() -> None:
    """A total that is too high is believed to be wrong where both answers agree."""
    listing = await single_of(list_of(*nodes(1), count=20))
    assert (len(listing.records), listing.total, listing.complete) == (1, 20, True)
    differing = await single_of(list_of(*nodes(1), count=20), list_of(*nodes(2), count=20))
    assert (len(differing.records), differing.complete) == (2, False)
    healed = await single_of(list_of(*nodes(1), count=2), list_of(*nodes(2), count=2))
    assert (len(healed.records), healed.complete) == (2, True)
