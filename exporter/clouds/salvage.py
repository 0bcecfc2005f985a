"""What is readable of a row with fields that do not fit.

Each field is read on its own, those of nested objects and the elements of lists too: what
does not fit is left out, and named.
"""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec.structs import fields

from exporter.clouds.fields import TIMES, Also, read_time

S = TypeVar("S", bound=msgspec.Struct)

Faults = dict[str, str]
"""What was left out and why, by the names of the fields in the API, joined by dots."""


class UnfitError(Exception):
    """A value that does not fit its field; the text never shows it."""


def salvage(model: type[S], row: Mapping[str, Any]) -> tuple[S, Faults]:
    """Return what is readable of a row as a model, and what was left out."""
    faults: Faults = {}
    return _struct(model, row, "", faults), dict(sorted(faults.items()))


def _struct(model: type[S], row: Mapping[str, Any], within: str, faults: Faults) -> S:
    values: dict[str, Any] = {}
    for field in fields(model):
        if field.encode_name in row:
            place = within + field.encode_name
            try:
                values[field.name] = _value(field.type, row[field.encode_name], place, faults)
            except UnfitError as error:
                faults[place] = str(error)
    return model(**values)


def _value(kind: Any, value: Any, place: str, faults: Faults) -> Any:  # noqa: ANN401 - of any kind
    """Return a value as one of a field's kind. Raises UnfitError."""
    for part in _parts(kind):
        if isinstance(value, dict) and isinstance(part, type) and issubclass(part, msgspec.Struct):
            return _struct(part, value, f"{place}.", faults)
        if isinstance(value, list) and get_origin(part) is list:
            return list(_elements(get_args(part)[0], value, place, faults))
        if isinstance(part, Also):
            value = part.meant(value)
    return _converted(kind, value)


def _elements(kind: Any, values: list[Any], place: str, faults: Faults) -> Iterator[Any]:  # noqa: ANN401
    for value in values:
        try:
            yield _value(kind, value, place, faults)
        except UnfitError as error:
            faults[place] = str(error)


def _converted(kind: Any, value: Any) -> Any:  # noqa: ANN401
    try:
        return read_time(kind, value) if kind in TIMES else msgspec.convert(value, kind)
    except ValueError as error:
        raise UnfitError(str(error)) from error


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield a kind, what it is a union of, and what is noted of those."""
    yield kind
    if get_origin(kind) in (Annotated, Union, UnionType):
        for part in get_args(kind):
            yield from _parts(part)
