"""The page that Prometheus scrapes: the snapshots' lines, then the exporter's own metrics.

The objects' lines stand ready in the snapshots, as text and compressed, and are the same in
both formats, for their families are gauges. Put together once for as long as no snapshot
changes, they are only copied at a scrape.
"""

import operator
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from exporter import deflate
from exporter.deflate import Packed, Packer
from exporter.families import Family
from exporter.negotiation import OPENMETRICS
from exporter.sheet import Piece
from exporter.snapshots import Snapshots
from exporter.telemetry import OWN, PREFIX, Telemetry

_EOF = b"# EOF\n"
_JOINED_LINES = 1024

View = tuple[Mapping[str, Piece], ...]
"""What one snapshot shows: the lines of each of its tables, by family."""


@dataclass(frozen=True, slots=True)
class Page:
    """A finished page: its texts, to be written one behind the other, and compressed."""

    texts: Sequence[Sequence[bytes]]
    packed: Sequence[Packed]
    content_type: str
    samples: int

    @property
    def size(self) -> int:
        """The size in bytes, not compressed."""
        return sum(piece.size for piece in self.packed)

    @property
    def body(self) -> bytes:
        """The page as one text."""
        return b"".join(chain.from_iterable(self.texts))

    def chunks(self) -> Iterator[bytes]:
        """Yield the page in chunks, none of which takes long to make."""
        texts = chain.from_iterable(self.texts)
        while some := tuple(islice(texts, _JOINED_LINES)):
            yield b"".join(some)

    def gzipped(self) -> Sequence[bytes]:
        """Return the page as the parts of a gzip stream."""
        return deflate.gzip(self.packed)


@dataclass(frozen=True, slots=True)
class _Objects:
    """The part of the page that the snapshots make, and what they showed when it was made."""

    views: tuple[View, ...] = ()
    texts: tuple[Sequence[bytes], ...] = ()
    packed: Sequence[Packed] = ()
    samples: int = 0


class Exposition:
    """Makes the page of the snapshots and of the exporter's own metrics."""

    def __init__(
        self, families: Sequence[Family[Any]], snapshots: Snapshots, telemetry: Telemetry
    ) -> None:
        packer = Packer()
        headers = [(family.name, family.header.encode()) for family in families]
        self._headers = [(name, Piece(((text,),), packer.pack(text))) for name, text in headers]
        self._snapshots = snapshots
        self._telemetry = telemetry
        self._objects = _Objects()

    def page(self, now: float, content_type: str, *, process: bool = True) -> Page:
        """Return the page as of a time of the monotonic clock."""
        objects = self.prepare(now)
        openmetrics = content_type == OPENMETRICS
        own = b"".join(self._own(openmetrics=openmetrics, process=process))
        end = _EOF if openmetrics else b""
        comments = own.count(b"\n#") + own.startswith(b"#")
        return Page(
            texts=(*objects.texts, (own + end,)),
            packed=(*objects.packed, Packer().pack(own + end)),
            content_type=content_type,
            samples=objects.samples + own.count(b"\n") - comments,
        )

    def prepare(self, now: float) -> _Objects:
        """Put the objects' part together, where a snapshot shows something else than before.

        What holds is asked of each snapshot once, so that all families are of the same polls.
        """
        views = tuple(snapshot.pieces(now) for snapshot in self._snapshots)
        if not _same(views, self._objects.views):
            self._objects = self._put_together(views)
        return self._objects

    def _put_together(self, views: tuple[View, ...]) -> _Objects:
        by_family: defaultdict[str, list[Piece]] = defaultdict(list)
        for view in views:
            for pieces in view:
                for name, piece in pieces.items():
                    if piece.packed.size:
                        by_family[name].append(piece)
        used = [
            piece
            for name, header in self._headers
            if name in by_family
            for piece in (header, *by_family[name])
        ]
        texts = tuple(chain.from_iterable(piece.texts for piece in used))
        packed = deflate.condense(piece.packed for piece in used)
        lines = sum(piece.lines for piece in packed)
        return _Objects(views, texts, packed, lines - 2 * len(by_family))

    def _own(self, *, openmetrics: bool, process: bool) -> Iterator[bytes]:
        """Yield the exporter's own families, each header with the lines of every scope."""
        scopes = [scope.lines for scope in self._telemetry.scopes]
        for own in OWN:
            lines = [scope[PREFIX + own.name] for scope in scopes if PREFIX + own.name in scope]
            if any(lines):
                header = own.openmetrics_header if openmetrics else own.header
                yield header.encode()
                yield from lines
        if process and openmetrics:
            page = generate_openmetrics(self._telemetry.process)  # type: ignore[no-untyped-call]  # it is untyped
            yield page.removesuffix(_EOF)
        elif process:
            yield generate_latest(self._telemetry.process)


def _same(views: Sequence[View], known: Sequence[View]) -> bool:
    """Return whether these are the very same lines, which are made anew with any change."""
    return len(views) == len(known) and all(
        len(mine) == len(theirs) and all(map(operator.is_, mine, theirs))
        for mine, theirs in zip(views, known, strict=True)
    )
