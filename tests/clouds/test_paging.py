"""Walks over pages: every object found where it can be, bounded, partial exactly when it is."""

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds import paging
from exporter.clouds.nsml.models import RunNode
from exporter.clouds.outcomes import (
    BadRequest,
    BadResponse,
    Failure,
    NoSuchPath,
    NotFound,
    ServerError,
)
from exporter.clouds.paging import (
    MAX_PAGES,
    REMEMBERED_SECONDS,
    Listing,
    PageSize,
    single,
    walk,
)
from exporter.clouds.rows import Reader
from exporter.clouds.scp.models import GpuNode, Image

Claim = Literal["right", "null", "missing", "page", "high", "text", "low", "huge"]


@dataclass
class Server:
    """A list kept in memory, with the ways of servers that no page documents."""

    rows: list[dict[str, Any]]
    default: int = 20
    ignores_size: bool = False
    cap: int | None = None
    refuses_over: int | None = None
    refusal: int = 400
    extra: int = 0
    everything: bool = False
    overlap: int = 0
    claim: Claim = "right"
    moves: int = 0
    asked: list[tuple[int, int | None]] = field(default_factory=list)
    given: list[list[str]] = field(default_factory=list)

    async def fetch(self, index: int, size: int | None) -> bytes:
        """Answer a request for a page."""
        self.asked.append((index, size))
        if size is not None and self.refuses_over is not None and size > self.refuses_over:
            raise BadRequest("size too large", status=self.refusal)
        length = self.default if size is None or self.ignores_size else size
        length = min(length, self.cap or length)
        start = max(index * length - (self.overlap if index else 0), 0)
        end = (index + 1) * length + self.extra
        page = self.rows if self.everything else self.rows[start:end]
        self.rows = self.rows[self.moves :] + self.rows[: self.moves]
        self.given.append([str(row.get("id")) for row in page])
        return json.dumps({"gpu_nodes": page, **self._total(len(page))}).encode()

    def _total(self, on_page: int) -> dict[str, object]:
        total = len(self.rows)
        claims: dict[Claim, object] = {
            "right": total,
            "null": None,
            "page": on_page,
            "high": total + 7,
            "text": str(total),
            "low": total // 2,
            "huge": 10**400,
        }
        return {"count": claims[self.claim]} if self.claim in claims else {}

    def walks(self) -> list[list[str]]:
        """Return the ids that each walk was given."""
        answered = [page for page, size in self.asked if not self._refused(size)]
        walks: list[list[str]] = []
        for page, ids in zip(answered, self.given, strict=True):
            if page == 0:
                walks.append([])
            walks[-1] += ids
        return walks

    def moved(self) -> bool:
        """Return whether a row of one page stood on another, which was not the whole list anew."""
        seen: set[str] = set()
        for page in self.given:
            before, seen = seen, seen | set(page)
            if page and before & set(page) and seen != set(page):
                return True
        return False

    def _refused(self, size: int | None) -> bool:
        return size is not None and self.refuses_over is not None and size > self.refuses_over


def nodes(number: int) -> list[dict[str, Any]]:
    """Return rows of so many nodes."""
    return [{"id": f"n{i}", "state": "RUNNING"} for i in range(number)]


def reader() -> Reader[GpuNode]:
    """Return a new reader of GPU nodes."""
    return Reader(GpuNode, "gpu_nodes")


async def found_by(server: Server, size: int) -> Listing[GpuNode]:
    """Walk a server's list."""
    return await walk(server.fetch, reader(), PageSize(size))


def ids(listing: Listing[Any]) -> set[str]:
    """Return the ids of what was found."""
    return {key[0] for key in listing.records}


BEHAVIOURS: dict[str, dict[str, Any]] = {
    "honours size": {},
    "ignores size": {"ignores_size": True},
    "caps size at 100": {"cap": 100},
    "caps size at 7": {"cap": 7},
    "refuses over 100": {"refuses_over": 100},
    "refuses over 50 with 413": {"refuses_over": 50, "refusal": 413},
    "refuses any size with 422": {"refuses_over": 0, "refusal": 422},
    "sends more than size": {"extra": 5},
    "sends everything on every page": {"everything": True},
    "overlaps by one": {"overlap": 1},
}
NO_CLAIM: tuple[Claim, ...] = ("null", "missing", "huge")
CLAIMS: tuple[Claim, ...] = ("right", "null", "missing", "page", "high", "text", "low", "huge")


SIZES = [
    (number, size, behaviour)
    for number in (1, 19, 20, 21, 100, 101, 1000)
    for size in (1, 20, 100, 1000)
    for behaviour in BEHAVIOURS
    # Pages of one row cannot overlap by one; a thousand pages are walked in one way only.
    if size > 1 or (behaviour == "honours size" or (number < 1000 and "overlaps" not in behaviour))
]


@pytest.mark.parametrize(("number", "size", "behaviour"), SIZES)
async def test_every_node_is_found_whatever_the_server_does(
    number: int, size: int, behaviour: str
) -> None:
    """However a server sizes its pages and whatever total it claims, all nodes are found."""
    for claim in CLAIMS if number / size < 1000 else CLAIMS[:1]:
        server = Server(nodes(number), claim=claim, **BEHAVIOURS[behaviour])
        listing = await found_by(server, size)
        assert len(listing.records) == number, claim
        assert listing.complete, claim
        doubtful = claim == "high" or (listing.total != number and server.moved())
        assert len(server.walks()) == (2 if doubtful else 1), claim
        smallest = max(min(size, 20, server.cap or 20) - server.overlap, 1)
        assert len(server.asked) <= 2 + len(server.walks()) * (2 + number / smallest)


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


@given(servers(), st.sampled_from([1, 2, 10, 20, 100, 1000]))
async def test_a_walk_is_partial_exactly_when_two_walks_differ(server: Server, size: int) -> None:
    """What a walk returns follows from what the server gave, and from nothing else."""
    try:
        listing = await found_by(server, size)
    except BadResponse:
        assert not any(server.given)
        assert server.claim == "high"
        return
    walks = [set(walk) for walk in server.walks()]
    total = listing.total
    assert 1 <= len(walks) <= 2
    assert (len(walks) == 2) == (total is not None and len(walks[0]) < total)
    assert listing.duplicates == sum(map(len, server.given)) - sum(map(len, walks))
    if len(walks) == 1 or walks[0] == walks[1]:
        assert listing.complete
        assert ids(listing) == walks[-1]
    elif total is not None and len(walks[1]) >= total:
        assert listing.complete
        assert ids(listing) == walks[1]
    else:
        assert not listing.complete
        assert ids(listing) == walks[0] | walks[1]


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


async def test_a_page_that_has_lost_its_ids_or_states_fails_the_walk() -> None:
    """Where the API changes between two pages, what stands on the second is not gone."""
    for changed in ({"uuid": "a", "state": "RUNNING"}, {"id": "a", "status": "RUNNING"}):
        rows = nodes(20) + [changed | {name: f"x{i}" for name in changed if "id" in name}
                            for i in range(5)]  # fmt: skip
        with pytest.raises(BadResponse, match="5 rows without"):
            await found_by(Server(rows), 20)


async def test_rows_without_an_id_are_counted_once() -> None:
    """A server that sends everything on every page makes no more of them."""
    rows: list[dict[str, Any]] = [*nodes(2), {}, {}, {"id": ""}]
    listing = await found_by(Server(rows, everything=True), 20)
    assert listing.nameless == 3
    assert listing.found == 5


async def test_a_size_that_is_refused_is_remembered() -> None:
    """The next poll begins with the size that the server took."""
    server, size = Server(nodes(30), refuses_over=100), PageSize(1000)
    await walk(server.fetch, reader(), size)
    await walk(server.fetch, reader(), size)
    assert [asked for index, asked in server.asked if index == 0] == [1000, 100, 100]


async def test_a_server_that_takes_no_size_is_asked_without() -> None:
    """After both sizes were refused none is sent, and that is remembered too."""
    server, size = Server(nodes(30), refuses_over=0, refusal=422), PageSize(1000)
    await walk(server.fetch, reader(), size)
    await walk(server.fetch, reader(), size)
    assert [asked for index, asked in server.asked if index == 0] == [1000, 100, None, None]


@pytest.mark.parametrize(("wanted", "sizes"), [(100, [100, None]), (1, [1, None])])
def test_a_small_size_has_no_smaller_one(wanted: int, sizes: list[int | None]) -> None:
    """Who wants no more than 100 is not asked to take 100 in the place of it."""
    assert list(PageSize(wanted).candidates()) == sizes


async def test_a_refusal_for_another_reason_is_not_swallowed() -> None:
    """Where the server refuses the smallest request as well, its first refusal is raised."""
    texts = iter(["no such region", "still not", "not at all"])

    async def fetch(_index: int, _size: int | None) -> bytes:
        raise BadRequest(next(texts), status=400)

    size = PageSize(1000)
    with pytest.raises(BadRequest, match="no such region"):
        await walk(fetch, reader(), size)
    assert next(size.candidates()) == 1000


@pytest.mark.parametrize("status", [405, 409, 410, 418])
async def test_only_some_refusals_can_be_about_the_size(status: int) -> None:
    """Any other status is raised at once."""
    server = Server(nodes(3), refuses_over=0, refusal=status)
    with pytest.raises(BadRequest):
        await found_by(server, 1000)
    assert server.asked == [(0, 1000)]


async def test_a_refusal_of_a_later_page_fails_the_walk() -> None:
    """A page that can't be had is a failed poll, and changes no size."""
    server, size = Server(nodes(50)), PageSize(20)

    async def fetch(index: int, asked: int | None) -> bytes:
        if index == 2:
            raise BadRequest("no", status=400)
        return await server.fetch(index, asked)

    with pytest.raises(BadRequest):
        await walk(fetch, reader(), size)
    assert server.asked == [(0, 20), (1, 20)]


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


def list_of(*rows: dict[str, Any], **more: object) -> bytes:
    """Write an answer of these rows."""
    return json.dumps({"gpu_nodes": rows, **more}).encode()


async def single_of(*bodies: bytes) -> Listing[GpuNode]:
    """Read a list that comes in one answer, from these answers in turn, the last for ever."""
    left = list(bodies)

    async def fetch() -> bytes:
        return left.pop(0) if len(left) > 1 else left[0]

    return await single(fetch, reader())


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


async def test_two_bad_rows_at_the_end_blind_nobody() -> None:
    """Rows whose state is null are bad rows, wherever they stand, and no change of the API."""
    bad = [{"id": f"x{i}", "state": None} for i in range(2)]
    listing = await found_by(Server([*nodes(20), *bad]), 20)
    assert len(listing.records) == 22


async def test_a_size_that_was_refused_is_asked_for_again_after_an_hour() -> None:
    """A moment's refusal does not cost small pages for good."""
    now = 0.0
    size = PageSize(1000, lambda: now)
    server = Server(nodes(30), refuses_over=0)
    await walk(server.fetch, reader(), size)
    server.refuses_over = None
    server.asked.clear()
    now = REMEMBERED_SECONDS - 1
    await walk(server.fetch, reader(), size)
    assert {asked for _, asked in server.asked} == {None}
    now = REMEMBERED_SECONDS
    server.asked.clear()
    await walk(server.fetch, reader(), size)
    assert {asked for _, asked in server.asked} == {1000}


async def test_reading_ends_with_its_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that reads a long answer stops when nobody waits for it any more."""
    monkeypatch.setattr(paging, "_READ_INLINE_BYTES", 0)
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
