"""The pages of the documentation: their blocks of code, code spans, links and anchors."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parent.parent.parent
_MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A block of code: its language, or nothing, its text, and where its first line stands."""

    place: str
    language: str
    text: str


@dataclass(frozen=True)
class Span:
    """A piece of text within a line, such as a link's address, and where it stands."""

    place: str
    text: str


@dataclass(frozen=True)
class Page:
    """One page; `root` is the directory that `name` starts at."""

    root: Path
    name: str

    @property
    def path(self) -> Path:
        """Where the page stands."""
        return self.root / self.name

    @cached_property
    def text(self) -> str:
        """The page as it was written."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tokens(self) -> list[Token]:
        """The page as a reader of Markdown sees it."""
        return _MARKDOWN.parse(self.text)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of code."""
        for token in self.tokens:
            if token.type == "fence":
                yield Block(self._place(token), token.info.strip(), token.content)

    def code_spans(self) -> Iterator[Span]:
        """Yield the pieces of code within the text."""
        for place, token in self._pieces():
            if token.type == "code_inline":
                yield Span(place, token.content)

    def links(self) -> Iterator[Span]:
        """Yield the addresses of links and pictures."""
        for place, token in self._pieces():
            address = token.attrGet("href") or token.attrGet("src")
            if address is not None:
                yield Span(place, str(address))

    def anchors(self) -> set[str]:
        """Return the anchors of the headings, as GitHub makes them."""
        seen: Counter[str] = Counter()
        found = set()
        for heading in self._headings():
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
        return found

    def _headings(self) -> Iterator[str]:
        for opening, inline in zip(self.tokens, self.tokens[1:], strict=False):
            if opening.type == "heading_open":
                yield "".join(piece.content for piece in inline.children or ())

    def _pieces(self) -> Iterator[tuple[str, Token]]:
        for token in self.tokens:
            for piece in token.children or ():
                yield self._place(token), piece

    def _place(self, token: Token) -> str:
        line = token.map[0] + 1 if token.map else 1
        return f"{self.name}:{line}"


def pages(root: Path = ROOT) -> list[Page]:
    """Return the pages for people: those of docs/, and those at the top."""
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return [Page(root, str(path.relative_to(root))) for path in sorted(found)]
