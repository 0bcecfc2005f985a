"""What a request is to the simulated clouds, and what an answer is."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from exporter.simulator.faults import Fault, Strike

F = TypeVar("F", bound=Fault)
JSON_TYPE = "application/json"


@dataclass(frozen=True)
class Call:
    """One request: `target` is path and query byte for byte as sent, `origin` what stands before.

    `strikes` are the faults that befall it; `id` is a UUID of its own.
    """

    method: str
    target: str
    origin: str
    headers: Mapping[str, str]
    id: str
    body: bytes = b""
    strikes: tuple[Strike, ...] = ()

    @cached_property
    def path(self) -> str:
        """Return the path as sent, still encoded, without the query."""
        return self.target.partition("?")[0]

    @cached_property
    def segments(self) -> tuple[str, ...]:
        """Return the decoded segments of the path."""
        return tuple(unquote(segment) for segment in self.path.split("/")[1:])

    @cached_property
    def query(self) -> dict[str, str]:
        """Return the decoded query; of a repeated parameter the last counts."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    def struck_by(self, kind: type[F]) -> tuple[F, int] | None:
        """Return the fault of that kind that befalls the call, and the how many-th time it does."""
        for strike in self.strikes:
            if isinstance(strike.fault, kind):
                return strike.fault, strike.number
        return None


def split_target(raw: str, origin: str) -> tuple[str, str]:
    """Return origin and target of a request line's target, which may be a whole URL."""
    if raw.startswith("/"):
        return origin, raw
    parts = urlsplit(raw)
    if not parts.netloc:
        return origin, "/" + raw
    own = f"{parts.scheme}://{parts.netloc}"
    return own, raw[len(own) :] or "/"


@dataclass(frozen=True)
class Answer:
    """A response before it is sent; `date_skew` seconds are added to its Date header."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: dict[str, str] = field(default_factory=dict)
    date_skew: float = 0.0


def as_json(status: int, document: object) -> Answer:
    """Answer with a JSON document."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair, which UTF-8 has no bytes for, is escaped as JSON escapes it.
    return Answer(status, text.encode(errors="backslashreplace"))
