"""Walks over pages: every object found where it can be, bounded, partial exactly when it is."""

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds import paging
from exporter.clouds.outcomes import (
    BadRequest,
    BadResponse,
    Failure,
    NoSuchPath,
    NotFound,
    ServerError,
)
from exporter.clouds.paging import MAX_PAGES, Listing, PageSize, walk
from exporter.clouds.rows import Reader, Record
from exporter.clouds.scp.models import GpuNode
from tests.clouds.lists import CLAIMS, Claim, Server, found_by, ids, nodes, reader

NO_CLAIM: tuple[Claim, ...] = ("null", "missing", "huge")


@st.composite
def servers(draw: st.DrawFn) -> Server:
    """Draw a server of any ways, with rows that repeat, lack ids and move."""
    numbers = draw(st.lists(st.integers(0, 60), max_size=80))
    rows: list[dict[str, Any]] = [{"id": f"n{i}", "state": "RUNNING"} for i in numbers]
    return Server(
        rows,
        default=draw(st.integers(1, 30)),
        ignores_size=draw(st.booleans()),
        cap=draw(st.none() | st.integers(1, 30)),
        refuses_over=draw(st.none() | st.integers(0, 200)),
        refusal=draw(st.sampled_from([400, 413, 422])),
        extra=draw(st.integers(0, 3)),
        everything=draw(st.booleans()),
        overlap=draw(st.integers(0, 2)),
        claim=draw(st.sampled_from(CLAIMS)),
        moves=draw(st.integers(0, 5)),
    )


def repeats(pages: list[list[str]]) -> bool:
    """Return whether an id was read again, but on a page that has all there is."""
    seen: set[str] = set()
    for page in pages:
        new = set(page) - seen
        seen |= new
        if len(new) < len(page) and seen != set(page):
            return True
    return False


@given(servers(), st.sampled_from([1, 2, 10, 20, 100, 1000]))
async def test_a_walk_is_partial_exactly_when_two_walks_differ(server: Server, size: int) -> None:
    """What a walk returns follows from what the server gave, and from nothing else."""
    try:
        listing = await found_by(server, size)
    except BadResponse:
        assert not any(server.given)
        assert server.claim == "high"
        return
    walks = [set[str]().union(*pages) for pages in server.walks()]
    moved = [repeats(pages) for pages in server.walks()]
    total = listing.total
    first, last = walks[0], walks[-1]
    assert len(walks) == (
        2 if len(first) < (total or 0) or (moved[0] and len(first) != total) else 1
    )
    assert listing.duplicates == sum(map(len, server.given)) - sum(map(len, walks))
    calm = not moved[-1] and first <= last and len(last) >= (total or 0)
    assert listing.complete == (len(walks) == 1 or first == last or len(last) == total or calm)
    assert ids(listing) == (last if listing.complete else first | last)


@given(servers(), st.sampled_from([1, 2, 10, 20, 100, 1000]))
async def test_a_walk_is_bounded(server: Server, size: int) -> None:
    """A walk asks for no page after one that brought nothing new, and at most twice."""
    try:
        await found_by(server, size)
    except BadResponse:
        assert len(server.asked) <= 4
        return
    most = max(len(server.rows), 1) + 1
    assert len(server.given) <= 2 * most
    assert len(server.asked) - len(server.given) <= 2
    assert max(Counter(server.asked).values()) <= 2


async def test_a_claim_that_is_always_too_high_is_a_success() -> None:
    """Where two walks agree the list is what they found, and the claim is told beside it."""
    listing = await found_by(Server(nodes(101), claim="high"), 20)
    assert (len(listing.records), listing.total, listing.complete) == (101, 108, True)


async def test_rows_that_move_past_both_walks_make_it_partial() -> None:
    """Where neither walk found all and they differ, all that was seen is kept, as partial."""
    listing = await found_by(Server(nodes(50), moves=3), 20)
    assert not listing.complete
    assert len(listing.records) <= 50


async def test_a_second_walk_that_finds_all_is_the_list() -> None:
    """Rows that only moved during the first walk do no harm."""
    server = Server(nodes(50), moves=3)

    async def fetch(index: int, size: int | None) -> bytes:
        if index == 0 and server.given:
            server.moves = 0
        return await server.fetch(index, size)

    listing = await walk(fetch, reader(), PageSize(20))
    assert listing.complete
    assert len(listing.records) == 50


async def test_the_row_of_the_later_page_counts() -> None:
    """Of an object that stands on two pages the one that was read later is newer."""
    server = Server([*nodes(20), {"id": "n0", "state": "ERROR"}], claim="null")
    listing = await found_by(server, 20)
    assert listing.records["n0",].item.state == "ERROR"


@pytest.mark.parametrize(
    "refusal",
    [NotFound("gone"), NoSuchPath("no"), BadRequest("bad page", status=400)],
    ids=["404", "gateway's 404", "400"],
)
@pytest.mark.parametrize("claim", ["right", "null", "high"])
async def test_a_page_that_is_refused_ends_the_list_where_nothing_is_missing(
    refusal: Failure, claim: Claim
) -> None:
    """Behind a list that is as long as claimed there may be no page; else the walk has failed.

    It never tells that the object whose parts are listed is gone.
    """
    server = Server(nodes(20), claim=claim)

    async def fetch(index: int, size: int | None) -> bytes:
        if index:
            raise refusal
        return await server.fetch(index, size)

    walked = walk(fetch, reader(), PageSize(20))
    if claim == "right":
        assert len((await walked).records) == 20
        return
    with pytest.raises(Failure) as failed:
        await walked
    assert not isinstance(failed.value, NotFound)


async def test_one_empty_page_hides_nothing_that_was_known() -> None:
    """Without a total a page that is empty by mistake is found out by what the last poll saw."""
    server, read = Server(nodes(50), claim="missing"), reader()
    await walk(server.fetch, read, PageSize(20))
    read.end_poll(whole=True)
    faults = iter([1])

    async def fetch(index: int, size: int | None) -> bytes:
        if index == 1 and next(faults, None):
            return b'{"gpu_nodes": []}'
        return await server.fetch(index, size)

    listing = await walk(fetch, read, PageSize(20))
    assert len(listing.records) == 50
    assert listing.complete


async def test_a_total_of_the_page_vouches_for_no_list() -> None:
    """Where more was found than is claimed, moved rows are looked for as without a claim."""
    dice = random.Random(3)  # noqa: S311 - nothing to hide
    server = Server(nodes(250), claim="page")

    async def fetch(index: int, size: int | None) -> bytes:
        dice.shuffle(server.rows)
        return await server.fetch(index, size)

    listing = await walk(fetch, reader(), PageSize(100))
    assert len(listing.records) == 250 or not listing.complete


async def test_a_short_page_in_the_middle_ends_no_list_by_a_total_of_the_page() -> None:
    """Only a list that is exactly as long as claimed ends with a page that is not full."""
    rows = nodes(250)
    pages = [rows[:100], rows[100:160], rows[160:], []]

    async def fetch(index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": pages[index], "count": len(pages[index])}).encode()

    listing = await walk(fetch, reader(), PageSize(100))
    assert len(listing.records) == 250


async def test_the_first_of_two_rows_of_one_id_counts() -> None:
    """An object that is listed twice on a page is there once, and the second row is counted."""
    rows = [*nodes(3), {"id": "n0", "state": "ERROR"}]
    listing = await found_by(Server(rows, claim="null"), 1000)
    assert listing.records["n0",].item.state == "RUNNING"
    assert listing.duplicates == 1


@pytest.mark.parametrize("page", [0, 1, 2])
@pytest.mark.parametrize("failure", [ServerError("down"), BadResponse("HTML")])
async def test_one_page_that_fails_fails_the_walk(page: int, failure: Failure) -> None:
    """What was seen before is no list."""
    server = Server(nodes(50))

    async def fetch(index: int, size: int | None) -> bytes:
        if index == page:
            raise failure
        return await server.fetch(index, size)

    with pytest.raises(type(failure)):
        await walk(fetch, reader(), PageSize(20))


async def test_a_list_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that always has something new ends in BadResponse, not in all memory."""
    monkeypatch.setattr("exporter.clouds.paging.MAX_PAGES", 50)
    calls = 0

    async def fetch(index: int, _size: int | None) -> bytes:
        nonlocal calls
        calls += 1
        return json.dumps({"gpu_nodes": [{"id": f"{index}", "state": "RUNNING"}]}).encode()

    with pytest.raises(BadResponse, match="50 pages"):
        await walk(fetch, reader(), PageSize(1))
    assert calls == 50
    assert MAX_PAGES == 10_000


async def test_a_large_answer_is_read_as_a_small_one() -> None:
    """An answer that is read in a thread brings the same records."""
    rows = [node | {"image_version": "x" * 200} for node in nodes(1000)]
    listing = await found_by(Server(rows), 1000)
    assert len(listing.records) == 1000


async def test_a_list_that_moves_without_a_total_is_walked_again() -> None:
    """Where no total tells what a walk missed, rows seen twice make it be checked by another."""
    shifting = [nodes(6)[:3], nodes(6)[2:5], []]
    calm = [nodes(6)[:3], nodes(6)[3:], []]
    pages = iter([*shifting, *calm])

    async def fetch(_index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": next(pages), "count": None}).encode()

    listing = await walk(fetch, reader(), PageSize(3))
    assert ids(listing) == {f"n{i}" for i in range(6)}
    assert listing.complete


async def test_a_list_that_keeps_moving_without_a_total_is_partial() -> None:
    """Where two walks saw rows move and differ, nothing is taken for gone."""
    first = [nodes(6)[:3], nodes(6)[2:5], []]
    second = [nodes(6)[:3], [*nodes(6)[2:3], *nodes(6)[4:]], []]
    pages = iter([*first, *second])

    async def fetch(_index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": next(pages)}).encode()

    listing = await walk(fetch, reader(), PageSize(3))
    assert ids(listing) == {f"n{i}" for i in range(6)}
    assert not listing.complete


async def test_a_node_that_a_walk_lost_to_a_shift_does_not_vanish() -> None:
    """A row that moved to a page that was read already is found by a second walk."""
    memory, size = reader(), PageSize(3)
    whole = Server(nodes(7))
    await walk(whole.fetch, memory, size)
    memory.end_poll(whole=True)
    shifted = [nodes(7)[:3], nodes(7)[4:], []]
    pages = iter([*shifted, nodes(7)[1:4], nodes(7)[4:], []])

    async def fetch(_index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": next(pages)}).encode()

    listing = await walk(fetch, memory, size)
    assert ids(listing) == {f"n{i}" for i in range(7)}
    assert not listing.complete


async def test_a_page_that_was_thinned_out_ends_no_list_without_a_total() -> None:
    """A page with fewer rows than the first is the last only where a total says so."""
    pages = iter([nodes(20)[:8], nodes(20)[8:13], nodes(20)[13:], []])

    async def fetch(_index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": next(pages), "count": None}).encode()

    assert len((await walk(fetch, reader(), PageSize(8))).records) == 20


async def test_long_lists_are_worked_on_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taking many rows in, and comparing them with what was known, leaves the event loop free."""
    workers: set[str] = set()

    def noted(work: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*args: object) -> Any:  # noqa: ANN401 - as the work
            workers.add(f"{work.__name__}: {threading.current_thread() is threading.main_thread()}")
            return work(*args)

        return noting

    for owner, name in ((Listing, "add"), (Reader, "page"), (paging, "_lacks")):
        monkeypatch.setattr(owner, name, noted(getattr(owner, name)))
    many = [
        {"id": f"n{i}", "state": "RUNNING", "filler": "x" * 1024}
        for i in range(paging._ROWS_INLINE + 1)
    ]
    pages = iter([many, [{"id": "last", "state": "RUNNING", "filler": "x" * 1024 * 1024}]])

    async def fetch(_index: int, _size: int | None) -> bytes:
        return json.dumps({"gpu_nodes": next(pages), "count": len(many) + 1}).encode()

    assert (await walk(fetch, reader(), PageSize(1000))).complete
    assert workers == {"add: False", "page: False", "_lacks: False"}


async def test_reading_ends_with_its_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that reads a long answer stops when nobody waits for it any more."""
    monkeypatch.setattr(paging, "_ROWS_INLINE", -1)
    begun, ended = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    class Endless(Reader[GpuNode]):
        def page(self, body: bytes, over: Callable[[], bool] = lambda: False) -> Any:  # noqa: ANN401, ARG002
            loop.call_soon_threadsafe(begun.set)
            while not over():
                pass
            ended.set()

    async def fetch(_index: int, _size: int | None) -> bytes:
        return b"{}"

    walking = asyncio.create_task(walk(fetch, Endless(GpuNode, "gpu_nodes"), PageSize(20)))
    await begun.wait()
    walking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await walking
    assert await asyncio.to_thread(ended.wait, 20.0)


@pytest.mark.parametrize(("moved", "settles"), [(False, True), (True, False)])
def test_a_second_walk_with_more_is_believed_where_nothing_moved(
    moved: bool,  # noqa: FBT001 - a parameter
    settles: bool,  # noqa: FBT001 - the same
) -> None:
    """Without a total, rows that move while it walks may have hidden others from it as well."""
    first, second = (
        Listing({(name,): Record((name,), GpuNode(gpu_node_id=name)) for name in names})
        for names in ("ab", "abc")
    )
    second.moved = moved
    assert paging._settles(second, first, lambda: {("a",)}) is settles
