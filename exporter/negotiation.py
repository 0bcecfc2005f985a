"""What a scraper accepts: the format of the page and its compression.

Prometheus sends `application/openmetrics-text;version=1.0.0;q=0.5,text/plain;…;q=0.3,
*/*;q=0.1` and the like. The highest quality wins, the text format where two are equal. A
header that can't be understood gets what every scraper understands.
"""

from collections.abc import Iterator
from dataclasses import dataclass

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_OPENMETRICS_VERSIONS = ("1.0.0", "0.0.1", "")
_TEXT_VERSIONS = ("0.0.4", "")


@dataclass(frozen=True, slots=True)
class _Choice:
    name: str
    quality: float
    version: str = ""


def content_type(accept: str) -> str:
    """Return the content type, of the two that there are, that an Accept header prefers."""
    best, chosen = 0.0, TEXT
    for choice in _choices(accept):
        offered = _offered(choice)
        better = choice.quality > best or (choice.quality == best and offered == TEXT)
        if offered and choice.quality > 0 and better:
            best, chosen = choice.quality, offered
    return chosen


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header takes gzip; `gzip;q=0` refuses it."""
    qualities = {choice.name: choice.quality for choice in _choices(accept_encoding)}
    return qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0))) > 0


def _offered(choice: _Choice) -> str:
    if choice.name == "application/openmetrics-text" and choice.version in _OPENMETRICS_VERSIONS:
        return OPENMETRICS
    if choice.name == "text/plain" and choice.version in _TEXT_VERSIONS:
        return TEXT
    return TEXT if choice.name in {"*/*", "text/*"} else ""


def _choices(header: str) -> Iterator[_Choice]:
    for part in header.split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        values = {
            key.strip().lower(): value.strip().strip('"')
            for key, _, value in (parameter.partition("=") for parameter in parameters)
        }
        yield _Choice(name.lower(), _quality(values.get("q", "1")), values.get("version", ""))


def _quality(text: str) -> float:
    """Return a quality value; what is none counts as a refusal, for nothing can be made of it."""
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0.0 <= quality <= 1.0 else 0.0
