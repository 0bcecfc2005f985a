"""What is wrong with the links of the documentation."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from tests.docs.pages import Page

START = "README.md"
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:")


def broken(pages: Iterable[Page]) -> Iterator[str]:
    """Yield a line for each link to a file or an anchor that is not there."""
    known = {page.path.resolve(): page for page in pages}
    for page in known.values():
        for link in page.links():
            if not _ELSEWHERE.match(link.text):
                yield from (f"{link.place}: {fault}" for fault in _faults(page, link.text, known))


def _faults(page: Page, link: str, known: Mapping[Path, Page]) -> Iterator[str]:
    path, anchor = _target(page, link)
    if not path.exists():
        yield f"no such file: {link}"
    elif anchor and path not in known:
        yield f"no page to look for an anchor in: {link}"
    elif anchor and anchor not in known[path].anchors():
        yield f"no such anchor: {link}"


def orphans(pages: Iterable[Page]) -> list[str]:
    """Return the names of the pages that no chain of links leads to from the README."""
    known = {page.path.resolve(): page for page in pages}
    start = next(path for path, page in known.items() if page.name == START)
    reached, waiting = {start}, [start]
    while waiting:
        page = known[waiting.pop()]
        new = {_target(page, link.text)[0] for link in page.links()} & known.keys() - reached
        reached |= new
        waiting += new
    return sorted(known[path].name for path in known.keys() - reached)


def _target(page: Page, link: str) -> tuple[Path, str]:
    """Return the file that a link leads to, and the anchor in it."""
    address, _, anchor = unquote(link).partition("#")
    # Not `resolve` on the link alone: what is not there has to keep its name.
    there = os.path.normpath(page.path.resolve().parent / address) if address else page.path
    return Path(there).resolve(), anchor
