"""What a scraper accepts: the format of the page and its compression.

Prometheus sends `application/openmetrics-text;version=1.0.0;q=0.5,text/plain;…;q=0.3,
*/*;q=0.1` and the like. A format has the quality of the closest range that names it; the
higher one wins, the text format where they are equal. A header that can't be understood
gets what every scraper understands.
"""

from collections.abc import Iterator
from dataclasses import dataclass

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_VERSIONS = {
    "application/openmetrics-text": ("1.0.0", "0.0.1", ""),
    "text/plain": ("0.0.4", ""),
}


@dataclass(frozen=True, slots=True)
class _Choice:
    name: str
    quality: float
    version: str = ""


def content_type(accept: str) -> str:
    """Return the content type, of the two that there are, that an Accept header prefers."""
    choices = tuple(_choices(accept))
    openmetrics = _quality_of("application/openmetrics-text", choices)
    return OPENMETRICS if openmetrics > _quality_of("text/plain", choices) else TEXT


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether an Accept-Encoding header takes gzip; `gzip;q=0` refuses it."""
    qualities = {choice.name: choice.quality for choice in _choices(accept_encoding)}
    return qualities.get("gzip", qualities.get("x-gzip", qualities.get("*", 0.0))) > 0


def _quality_of(media_type: str, choices: tuple[_Choice, ...]) -> float:
    """Return the quality that the closest range gives a media type; 0 where none names it."""
    group = media_type.partition("/")[0] + "/*"
    for media_range in (media_type, group, "*/*"):
        qualities = [
            choice.quality
            for choice in choices
            if choice.name == media_range
            and (media_range != media_type or choice.version in _VERSIONS[media_type])
        ]
        if qualities:
            return max(qualities)
    return 0.0


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
