"""The kinds of fields that the clouds' answers have, each read leniently but exactly.

Rows are read by msgspec, at the pace of C, as long as each value is of its field's own type.
Where one is not, the row is read again, field by field (see `salvage`): what a field `Also`
takes is made to be of its type, such as a number in the place of a text, and what does not
fit even so is no value.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

NOT_REPORTED = "NOT_REPORTED"
"""The state of an object whose state is null, missing, blank or no text."""

_MAX_STATE_LENGTH = 64
_FIRST_SENSIBLE_YEAR = 2000
_LAST_SENSIBLE_YEAR = 2200
KOREA = timezone(timedelta(hours=9))
MAX_EXACT = 2**53


@lru_cache(maxsize=1024)
def normal_state(text: str) -> str:
    """Return a state as it stands in the label `state`."""
    name = re.sub(r"[^A-Z0-9_]", "_", text.strip().upper())
    return name[:_MAX_STATE_LENGTH] or NOT_REPORTED


def stripped_state(prefix: str, text: str) -> str:
    """Return a state without the prefix that every state of its kind has."""
    name = normal_state(text)
    return name.removeprefix(prefix) or NOT_REPORTED


def unix_time(value: object, zone: timezone) -> float | None:
    """Return the Unix time of any spelling of the clouds', or None for a blank text.

    `zone` holds where the text names none. Raises ValueError for what is no time, and for
    one that nobody can mean, such as year 1.
    """
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004 - msgspec turns only this into a fault
    return _unix_time(value, zone)


@lru_cache(maxsize=1 << 14)
def _unix_time(value: str, zone: timezone) -> float | None:
    if not value.strip():
        return None
    moment = datetime.fromisoformat(value.strip())
    if not _FIRST_SENSIBLE_YEAR <= moment.year <= _LAST_SENSIBLE_YEAR:
        raise ValueError("not a time that can be meant")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.timestamp()


@dataclass(frozen=True, slots=True)
class Also:
    """What a field takes beside values of its type: the function returns the value it means.

    Other values it returns as they are.
    """

    meant: Callable[[Any], Any]


if TYPE_CHECKING:
    UtcTime = float | None
    KoreanTime = float | None
else:

    class UtcTime(float):
        """A point in time as Unix seconds, UTC where the text names no zone; None if blank."""

        __slots__ = ()

    class KoreanTime(float):
        """A point in time as Unix seconds, UTC+9 where the text names no zone; None if blank."""

        __slots__ = ()


TIMES: dict[object, timezone] = {UtcTime: UTC, KoreanTime: KOREA}


def read_time(kind: type, value: object) -> float | None:
    """Return the time that a text means, for msgspec. Raises ValueError, without the text."""
    try:
        moment = unix_time(value, TIMES[kind])
    except ValueError:
        raise ValueError("not a time that can be meant") from None
    return None if moment is None else kind(moment)


def _text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return str(value) if number else value


def _id(value: object) -> object:
    return _text(value.strip() if isinstance(value, str) else value)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, Also(_text)]
"""A text that a service may also give as a number."""

Id = Annotated[str, Meta(min_length=1), Also(_id)]
"""What names an object: not blank; a number is its text. Blanks around it go (see `read_row`)."""

Whole = Annotated[int, Also(_whole)]
"""A whole number, which a service may also write as `3.0`."""

Count = Annotated[int, Meta(ge=0, le=MAX_EXACT), Also(_whole)]
"""A number of things, exact as a float."""
