"""The kinds of fields that the clouds' answers have, each read leniently but exactly.

A value is taken only if it is what its field says: a number in a text field, or a
negative count, is no value. What does not fit raises, and the row is then read once more
without that field (see `rows`).
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

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
        raise ValueError("not a text")  # noqa: TRY004 - pydantic turns only this into a fault
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


def _utc_time(value: object) -> float | None:
    return unix_time(value, UTC)


def _korean_time(value: object) -> float | None:
    return unix_time(value, KOREA)


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# A text is the common case, tried first, and read without a call of Python.
_Number = Annotated[int | Annotated[float, Field(allow_inf_nan=False)], AfterValidator(str)]

if TYPE_CHECKING:
    Id = str
    Text = str
else:
    Id = Annotated[
        Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)] | _Number,
        Field(union_mode="left_to_right"),
    ]
    """What names an object: not blank; a number is its text."""

    Text = Annotated[str | _Number, Field(union_mode="left_to_right")]
    """A text that a service may also give as a number."""

Whole = Annotated[int, BeforeValidator(_whole)]
"""A whole number, which a service may also write as `3.0`."""

Count = Annotated[Whole, Field(ge=0, le=MAX_EXACT)]
"""A number of things, exact as a float."""

UtcTime = Annotated[float | None, BeforeValidator(_utc_time)]
"""A point in time as Unix seconds, UTC where the text names no zone."""

KoreanTime = Annotated[float | None, BeforeValidator(_korean_time)]
"""A point in time as Unix seconds, UTC+9 where the text names no zone."""
