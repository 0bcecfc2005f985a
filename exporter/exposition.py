"""The page that Prometheus scrapes: the snapshots' lines, then the exporter's own metrics.

The lines stand ready in the snapshots; a page is a join of them under the headers of their
families. Both formats share all of them, for they are gauges.
"""

import gzip
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from exporter.families import Family
from exporter.negotiation import OPENMETRICS
from exporter.snapshots import Snapshot

_EOF = b"# EOF\n"
_GZIP_LEVEL = 1


@dataclass(frozen=True, slots=True)
class Page:
    """A finished page, not compressed."""

    body: bytes
    content_type: str

    @property
    def samples(self) -> int:
        """The number of samples on the page."""
        return self.body.count(b"\n") - self.body.count(b"\n#") - self.body.startswith(b"#")

    def gzipped(self) -> bytes:
        """Return the body compressed; this takes time, and belongs into a thread."""
        return gzip.compress(self.body, compresslevel=_GZIP_LEVEL, mtime=0)


def object_families(
    families: Iterable[Family[Any]], snapshots: Iterable[Snapshot], now: float
) -> list[bytes]:
    """Return each family that has samples: its header, then the lines of every target.

    What holds is asked of each snapshot once, so that all families of a page are of the
    same polls.
    """
    lines: defaultdict[str, list[bytes]] = defaultdict(list)
    for snapshot in snapshots:
        for pieces in snapshot.pieces(now):
            for name, piece in pieces.items():
                if piece:
                    lines[name].append(piece)
    page: list[bytes] = []
    for family in families:
        if family.name in lines:
            page += [family.header.encode(), *lines[family.name]]
    return page


def own_families(registries: Iterable[CollectorRegistry], content_type: str) -> bytes:
    """Return the exporter's own metrics, in the wanted format, without the end mark."""
    if content_type == OPENMETRICS:
        pages = [generate_openmetrics(registry) for registry in registries]  # type: ignore[no-untyped-call]  # it is untyped
        return b"".join(page.removesuffix(_EOF) for page in pages)
    return b"".join(generate_latest(registry) for registry in registries)


def render(
    families: Iterable[Family[Any]],
    snapshots: Iterable[Snapshot],
    registries: Iterable[CollectorRegistry],
    now: float,
    content_type: str,
) -> Page:
    """Return the whole page as of a time of the monotonic clock."""
    parts = object_families(families, snapshots, now)
    parts.append(own_families(registries, content_type))
    if content_type == OPENMETRICS:
        parts.append(_EOF)
    return Page(b"".join(parts), content_type)
