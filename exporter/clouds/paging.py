"""One walk over the pages of a list, for both clouds: distinct, complete, bounded.

What `size` a server obeys, and whether the total it claims is the list's or the page's,
is not documented. So the end of a list is only believed where it shows: an empty page, a
page with nothing new, or one that is shorter than the first with exactly the claimed total.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from exporter.clouds.fields import NOT_REPORTED
from exporter.clouds.outcomes import BadRequest, BadResponse, NoSuchPath, NotFound
from exporter.clouds.rows import Page, R, Reader, Record

MAX_PAGES = 10_000
REMEMBERED_SECONDS = 3600.0
"""How long what a server refused is not asked for again."""

_SMALL_PAGE_SIZE = 100
_SIZE_REFUSED = (400, 413, 422)
_ROW_BYTES = 1024
"""About the size of a row of a list of nodes."""

_ROWS_INLINE = 128
"""Work on more rows would hold the event loop."""

P = ParamSpec("P")
T = TypeVar("T")

Fetch = Callable[[int, int | None], Coroutine[Any, Any, bytes]]
"""Get the page of an index, counted from 0, of the asked size, or of the server's own."""

Known = Callable[[], Iterable[tuple[str, ...]]]
"""What gives the keys of all that the last whole poll saw."""


@dataclass(slots=True)
class Listing(Generic[R]):
    """What a walk found: the distinct records by key, and what was odd about it.

    `unreadable` are the rows without an id, by their JSON: as often as one page has each.
    `wait` is what a server asked for that refused a part, and `problem` what it said.
    `moved` is whether rows of one page
    stood on another as well, without all of them doing so.
    """

    records: dict[tuple[str, ...], Record[R]] = field(default_factory=dict)
    unreadable: Counter[bytes] = field(default_factory=Counter)
    duplicates: int = 0
    total: int | None = None
    wait: float | None = None
    problem: str = ""
    moved: bool = False
    pages: int = 0
    complete: bool = True

    @property
    def nameless(self) -> int:
        """The number of rows without an id."""
        return self.unreadable.total()

    @property
    def found(self) -> int:
        """The number of distinct objects seen, rows without an id included."""
        return len(self.records) + self.nameless

    @property
    def short(self) -> bool:
        """Whether fewer were found than the API claims."""
        return self.total is not None and self.found < self.total

    @property
    def exact(self) -> bool:
        """Whether as many were found as the API claims: more is the claim of something else."""
        return self.found == self.total

    @property
    def doubtful(self) -> bool:
        """Whether objects may be missing: by the total, else by what moved."""
        return self.short or (self.moved and not self.exact)

    def add(self, page: Page[R]) -> bool:
        """Take a page in; return whether it brought anything new."""
        before, found = len(self.records), self.found
        self.pages += page.rows > 0
        rows: dict[tuple[str, ...], Record[R]] = {}
        for record in page.records:
            rows.setdefault(record.key, record)
        # Of two pages' rows of one object that of the later page counts, which was read later.
        self.records |= rows
        self.duplicates += len(page.records) - (len(self.records) - before)
        self.unreadable |= Counter(page.nameless)
        if rows and self.records.keys() != rows.keys():
            self.moved = self.moved or len(self.records) - before < len(page.records)
        if page.total is not None:
            self.total = max(page.total, self.total or 0)
        return self.found > found


OnPage: TypeAlias = Callable[[Listing[R]], object]


class PageSize:
    """The page size that a server is asked for, and what it has refused.

    That is remembered for an hour: it may have been a moment's trouble. `clock` gives seconds.
    """

    def __init__(self, wanted: int, clock: Callable[[], float] = time.monotonic) -> None:
        smaller = [_SMALL_PAGE_SIZE] if wanted > _SMALL_PAGE_SIZE else []
        self._sizes: tuple[int | None, ...] = (wanted, *smaller, None)
        self._chosen = 0
        self._since = 0.0
        self._clock = clock

    def candidates(self) -> Iterator[int | None]:
        """Yield the sizes to try, from the one that was last accepted."""
        if self._chosen and self._clock() - self._since >= REMEMBERED_SECONDS:
            self._chosen = 0
        yield from self._sizes[self._chosen :]

    def accepted(self, size: int | None) -> None:
        """Remember that the server took this size."""
        chosen = self._sizes.index(size)
        if chosen != self._chosen:
            self._chosen, self._since = chosen, self._clock()


async def walk(
    fetch: Fetch,
    reader: Reader[R],
    size: PageSize,
    *,
    ahead: bool = False,
    on_page: OnPage[R] = lambda _: None,
) -> Listing[R]:
    """Find every object of a paged list; raise a Failure where a page can't be had.

    A walk over several pages may lose a row that moves meanwhile. One that finds fewer than
    the API claims, that lacks what the last poll saw, or that without a claim sees rows move
    is made twice: where both agree, or the second finds all that is claimed, that is what
    there is; else the listing is marked as not complete.

    With `ahead` the first two pages of a list that promises rows are asked for together:
    for callers whose keys are known to be good, or a refused key would be sent twice.
    `on_page` hears, page by page, what a walk has found so far, all of which is preliminary.
    """

    async def once() -> Listing[R]:
        if not (ahead and reader.promising):
            return await _walk_once(fetch, reader, size, on_page)
        async with _second_page_ahead(fetch, size) as together:
            return await _walk_once(together, reader, size, on_page)

    return checked(await _settled(once, reader.known))


async def single(fetch: Callable[[], Awaitable[bytes]], reader: Reader[R]) -> Listing[R]:
    """Read a list that is not paged, under the same rules."""

    async def once() -> Listing[R]:
        listing: Listing[R] = Listing()
        await _take_in(listing, reader, await fetch())
        return listing

    return checked(await _settled(once, set))


async def _settled(once: Callable[[], Awaitable[Listing[R]]], known: Known) -> Listing[R]:
    """Walk, and once more where the first walk leaves doubt."""
    first = await once()
    # What one page holds and claims to be all needs no second look, only because less is there.
    paged = first.pages > 1 or not first.exact
    lost = paged and await _aside(first.found, _lacks, first, known)
    if not (first.doubtful or lost) or not first.found:
        return first
    second = await once()
    if not await _aside(second.found, _settles, second, first, known):
        second.records = first.records | second.records
        second.complete = False
    second.duplicates += first.duplicates
    return second


def _lacks(listing: Listing[R], known: Known) -> bool:
    """Return whether a walk did not find all that the last whole poll saw."""
    return not all(map(listing.records.__contains__, known()))


def _settles(second: Listing[R], first: Listing[R], known: Known) -> bool:
    """Return whether a second walk tells what there is, after a first that was in doubt."""
    if second.exact:
        return True
    found = second.records.keys()
    if found == first.records.keys():
        return True
    if second.moved or second.short:
        return False
    return first.records.keys() <= found and not _lacks(second, known)


async def _walk_once(
    fetch: Fetch, reader: Reader[R], size: PageSize, on_page: OnPage[R]
) -> Listing[R]:
    listing: Listing[R] = Listing()
    body, asked = await _first_page(fetch, size)
    first_rows = 0
    for index in range(1, MAX_PAGES):
        rows, new = await _take_in(listing, reader, body)
        # Without a true total a short page may be one that was thinned out after it was cut.
        if not new or (rows < first_rows and listing.exact):
            return listing
        on_page(listing)
        behind = await _page_behind(fetch, index, asked, listing)
        if behind is None:
            return listing
        first_rows, body = first_rows or rows, behind
    raise BadResponse(f"a list of more than {MAX_PAGES} pages")


@asynccontextmanager
async def _second_page_ahead(fetch: Fetch, size: PageSize) -> AsyncIterator[Fetch]:
    """Ask for the second page together with the first, for the end of a list shows only there."""
    expected = next(size.candidates())
    second = asyncio.create_task(fetch(1, expected))

    async def ahead(index: int, asked: int | None) -> bytes:
        known = index == 1 and asked == expected
        return await (second if known else fetch(index, asked))

    try:
        yield ahead
    finally:
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)


async def _page_behind(
    fetch: Fetch, index: int, asked: int | None, listing: Listing[R]
) -> bytes | None:
    """Get a page behind the first; None where there is none because nothing is missing.

    That there is no such page says nothing of the object whose parts are listed: it was there
    a moment ago.
    """
    try:
        return await fetch(index, asked)
    except (BadRequest, NotFound, NoSuchPath) as refused:
        if listing.exact:
            return None
        if isinstance(refused, NotFound):
            raise BadResponse(f"no page {index} of a list that has others: {refused}") from refused
        raise


async def _first_page(fetch: Fetch, size: PageSize) -> tuple[bytes, int | None]:
    """Get the first page, with a smaller size, or with none, where the server refuses it."""
    refused: BadRequest | None = None
    for asked in size.candidates():
        try:
            body = await fetch(0, asked)
        except BadRequest as failure:
            if failure.status not in _SIZE_REFUSED:
                raise
            refused = refused or failure
        else:
            size.accepted(asked)
            return body, asked
    assert refused is not None  # noqa: S101 - the last candidate was refused as well
    raise refused


async def _take_in(listing: Listing[R], reader: Reader[R], body: bytes) -> tuple[int, bool]:
    """Read an answer into a listing; return its number of rows, and whether any was new.

    A large one is read in a thread. A poll that is over by then takes its thread along.
    """
    over = threading.Event()

    def read() -> tuple[int, bool]:
        page = reader.page(body, over.is_set)
        return page.rows, listing.add(page)

    try:
        return await _aside(len(body) // _ROW_BYTES, read)
    finally:
        over.set()


async def _aside(rows: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do work on so many rows: in a thread where they are many, so that the loop stays free."""
    if rows <= _ROWS_INLINE:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def checked(listing: Listing[R]) -> Listing[R]:
    """Refuse a list that can't be meant: an outage, or an API that changed."""
    if listing.total and not listing.found:
        raise BadResponse(f"no rows where the API claims {listing.total}")
    check_fields(listing.records.values(), listing.nameless)
    return listing


def check_fields(records: Collection[Record[R]], nameless: int) -> None:
    """Refuse rows none of which has an id, or several none of which has a state."""
    if nameless and not records:
        raise BadResponse(f"{nameless} rows without an id")
    items = (record.item for record in records)
    if len(records) > 1 and all(
        item.state_field and item.state_name == NOT_REPORTED for item in items
    ):
        raise BadResponse(f"{len(records)} rows without a state")
