"""A list of a cloud's, kept in memory, with the ways of servers that no page documents."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from exporter.clouds.outcomes import BadRequest
from exporter.clouds.paging import Listing, PageSize, walk
from exporter.clouds.rows import Reader
from exporter.clouds.scp.models import GpuNode

Claim = Literal["right", "null", "missing", "page", "high", "text", "low", "huge"]
CLAIMS: tuple[Claim, ...] = ("right", "null", "missing", "page", "high", "text", "low", "huge")


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

    def walks(self) -> list[list[list[str]]]:
        """Return the pages of ids that each walk was given."""
        answered = [page for page, size in self.asked if not self._refused(size)]
        walks: list[list[list[str]]] = []
        for page, ids in zip(answered, self.given, strict=True):
            if page == 0:
                walks.append([])
            walks[-1].append(ids)
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
