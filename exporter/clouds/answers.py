"""The clouds' answers as JSON: the rows of a list, its total, and what is no answer at all.

What others wrote badly is read as far as it tells something: bad UTF-8, lone surrogates,
NaN, numbers and nesting without end. What says that it is an error is refused.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from exporter.clouds.errors import one_line, printable
from exporter.clouds.fields import MAX_EXACT
from exporter.clouds.outcomes import BadResponse

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_PIECE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]|[^"\[\]{}]+', re.DOTALL)
_MAX_DEPTH = 64
_MAX_INT_DIGITS = 400
_EXCERPT = 120
_BEGINNING = 32
_RAW_ROWS = list[msgspec.Raw]
_TOTALS = ("count", "totalCount")
_ERRORS = ("error", "errors", "errorCode", "Error", "fault", "exception")
_ODD_WITHOUT_ROWS = ("code", "message", "name", "status", "success")
_TELLING = (*_TOTALS, *_ERRORS, *_ODD_WITHOUT_ROWS)


def split(body: bytes, rows_field: str) -> tuple[Sequence[bytes], int | None]:
    """Return the JSON of each row and the total that an answer claims.

    Raises BadResponse for what is no JSON object or has no list where the rows should be.
    """
    try:
        fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        rows = [bytes(raw) for raw in msgspec.json.decode(fields[rows_field], type=_RAW_ROWS)]
        others = {key: loads(bytes(fields[key])) for key in _TELLING if key in fields}
    except (msgspec.MsgspecError, RecursionError, KeyError, ValueError):
        return _split_slowly(body, rows_field)
    refuse_error(others, rows)
    return rows, _total(others)


def _split_slowly(body: bytes, rows_field: str) -> tuple[Sequence[bytes], int | None]:
    """Split what a strict reader refuses: lone surrogates, NaN, or truly no answer."""
    document = document_of(body)
    if not isinstance(document, dict) or not isinstance(document.get(rows_field), list):
        raise BadResponse(f"no list `{rows_field}` in the answer: {shape(document)}")
    refuse_error(document, document[rows_field])
    rows = [json.dumps(row).encode() for row in document[rows_field]]
    return rows, _total(document)


def refuse_error(document: Mapping[str, Any], rows: Collection[Any] = ("an object",)) -> None:
    """Refuse an answer that says that it is an error, whatever list stands beside that.

    An empty list is not believed where what a gateway says of an error stands beside it.
    """
    told = [key for key in _ERRORS if document.get(key)]
    if told:
        raise BadResponse(f"an answer that has `{told[0]}` is no list")
    odd = [key for key in _ODD_WITHOUT_ROWS if document.get(key)]
    if not rows and (document.get("success") is False or ("message" in odd and len(odd) > 1)):
        raise BadResponse("an empty list beside a message is no list")


def _total(document: Mapping[str, Any]) -> int | None:
    """Return the largest total that is claimed, by whichever name and however written."""
    claims = [_number(document.get(key)) for key in _TOTALS]
    return max((claim for claim in claims if claim is not None), default=None)


def _number(claim: object) -> int | None:
    if isinstance(claim, str) and claim.isascii() and claim.isdigit():
        claim = _int(claim)
    if isinstance(claim, float) and claim.is_integer():
        claim = int(claim)
    return claim if type(claim) is int and 0 <= claim <= MAX_EXACT else None


def document_of(body: bytes) -> Any:  # noqa: ANN401 - JSON can be anything
    """Read a whole answer. Raises BadResponse, which says how it begins where that is no JSON."""
    try:
        return loads(body)
    except ValueError as error:
        raise BadResponse(f"not JSON: {_excerpt(body)}") from error


def loads(raw: bytes) -> Any:  # noqa: ANN401 - JSON can be anything
    """Read JSON that others wrote badly: bad UTF-8, lone surrogates, NaN, no end of digits."""
    text = raw.decode("utf-8-sig", "replace")
    try:
        return _scrubbed(json.loads(text, parse_int=_int))
    except RecursionError:
        return _scrubbed(json.loads(_shallow(text), parse_int=_int))


def _int(digits: str) -> float:
    """Return a number that no field takes where there are more digits than anything has."""
    return int(digits) if len(digits) < _MAX_INT_DIGITS else math.inf


def _shallow(text: str) -> str:
    """Put null in the place of what is nested deeper than any answer."""
    kept: list[str] = []
    depth = 0
    for piece in _PIECE.findall(text):
        depth += piece in "[{"
        if depth <= _MAX_DEPTH:
            kept.append(piece)
        elif piece in "[{" and depth == _MAX_DEPTH + 1:
            kept.append("null")
        depth -= piece in "]}"
    return "".join(kept)


def _scrubbed(value: Any) -> Any:  # noqa: ANN401
    match value:
        case str():
            return _LONE_SURROGATE.sub("\ufffd", value)
        case list():
            return [_scrubbed(part) for part in value]
        case dict():
            return {_scrubbed(key): _scrubbed(part) for key, part in value.items()}
        case _:
            return value


def shape(document: object) -> str:
    """Say what JSON looks like; its values are not shown, for they may be secret."""
    if isinstance(document, dict):
        return printable(f"an object with {', '.join(document) or 'no fields'}")[:_EXCERPT]
    return f"no object but {type(document).__name__}"


def _excerpt(body: bytes) -> str:
    """Return how what is no JSON begins, on one line; of what may be a list only its size.

    What stands further behind may be a secret, in whatever format.
    """
    text = one_line(body[: 4 * _EXCERPT].decode("utf-8-sig", "replace"))
    broken = text.startswith(("{", "[", '"'))
    return f"{len(body)} bytes that begin like it" if broken else repr(text[:_BEGINNING])
