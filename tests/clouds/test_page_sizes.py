"""How many rows a page is asked for: what a server takes is found out and remembered."""

from typing import Any

import pytest

from exporter.clouds.outcomes import BadRequest
from exporter.clouds.paging import REMEMBERED_SECONDS, PageSize, walk
from tests.clouds.lists import CLAIMS, Server, found_by, nodes, reader

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
