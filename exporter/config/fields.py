"""The kinds of value that a configuration holds, and the words for one that is wrong.

What stands in a file is validated with the file's directory as the context, and then a duration
is a text and a path a relative one; without a context they are what code works with.
"""

import difflib
import re
import ssl
import stat
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, ValidationInfo
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError, ValidationError

Item = TypeVar("Item", bound=Hashable)

MAX_SECRET_BYTES: Final = 16_384
SHORTEST_INTERVAL: Final = 1.0  # of polls, in seconds: shorter ones only spend a cloud's patience

_UNITS: Final = (  # from the largest, the order in which a duration is written; in milliseconds
    ("y", 31_536_000_000),
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
)
_CALENDAR: Final = ("y", "w", "d")
_DURATION: Final = re.compile("".join(rf"(?:([0-9]{{1,16}}){unit})?" for unit, _ in _UNITS))
_LONGEST: Final = 292 * 31_536_000_000  # Prometheus counts nanoseconds in 64 bits
_A_DURATION: Final = "a duration such as 30s, 5m or 1h30m"

_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_SHOWN_LENGTH: Final = 60


def parse_duration(text: str) -> float:
    """Read a duration as Prometheus does (`500ms`, `1h30m`, `2d`), in seconds.

    Raises ValueError, which says how a duration is written.
    """
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        hint = f"; did you mean {text}s?" if re.fullmatch("[0-9]{1,9}", text) else ""
        raise ValueError(f"expected {_A_DURATION}, found {found(text)}{hint}")
    amounts = (int(amount or 0) for amount in match.groups())
    total = sum(amount * size for amount, (_, size) in zip(amounts, _UNITS, strict=True))
    if total > _LONGEST:
        raise ValueError(f"must be 292y at most, found {found(text)}")
    return total / 1000


def format_duration(seconds: float) -> str:
    """Write a duration the way Prometheus does, to the millisecond.

    Years, weeks and days appear only where they leave no rest, so that 25 hours stay `25h`.
    """
    rest = round(seconds * 1000)
    parts = []
    for unit, size in _UNITS:
        if rest >= size and (unit not in _CALENDAR or rest % size == 0):
            amount, rest = divmod(rest, size)
            parts.append(f"{amount}{unit}")
    return "".join(parts) or "0s"


def _duration(value: object, info: ValidationInfo) -> object:
    if info.context is None:
        return value
    if isinstance(value, str):
        return parse_duration(value)
    hint = f"; did you mean {value}s?" if type(value) is int and value >= 0 else ""
    raise ValueError(f"expected {_A_DURATION}, found {found(value)}{hint}")


def _positive(seconds: float) -> float:
    if seconds <= 0:
        raise ValueError("must be longer than 0s")
    return seconds


def _interval(seconds: float) -> float:
    if seconds < SHORTEST_INTERVAL:
        least = format_duration(SHORTEST_INTERVAL)
        raise ValueError(f"must be at least {least}, found {format_duration(seconds)}")
    return seconds


def _name(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if text != text.strip() or not text.isprintable():
        raise ValueError("has a space at an end, or a character that cannot be printed")
    return text


def _header_text(text: str) -> str:
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("must be ASCII without spaces, and not empty")
    return text


def _api_version(text: str) -> str:
    if not re.fullmatch(r"[0-9]{1,6}\.[0-9]{1,6}", text):
        raise ValueError(f'expected a version such as "1.2", found {found(text)}')
    return text


def _state(text: str) -> str:
    if not re.fullmatch(r"[A-Z0-9_]{1,64}", text) or text.startswith("RUN_STATE_"):
        expected = "a state in capitals, without RUN_STATE_, such as COMPLETED"
        raise ValueError(f"expected {expected}, found {found(text)}")
    return text


def _day(value: object) -> object:
    if isinstance(value, date):
        return value
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}(-[0-9]{2}){2}", value):
        raise ValueError(f"expected a day such as 2027-01-31, found {found(value)}")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"no calendar has the day {value}") from None


def _ca_file(value: object, info: ValidationInfo) -> object:
    if info.context is None or not isinstance(value, str):
        return value
    path: Path = info.context / _name(value)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        raise ValueError(f"{quoted(value)} holds no certificates in PEM form") from None
    except OSError as error:
        raise ValueError(f"{quoted(value)} cannot be read: {error.strerror}") from None
    return path


def _distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Refuse an item that stands in the list twice, at the place of the second."""
    first: dict[Item, int] = {}
    again: list[InitErrorDetails] = []
    for index, item in enumerate(items):
        if first.setdefault(item, index) != index:
            fault = {"error": f"stands at [{first[item]}] already; name it once"}
            kind = PydanticCustomError("value_error", "{error}", fault)
            again.append({"type": kind, "loc": (index,), "input": item})
    if again:
        raise ValidationError.from_exception_data("distinct", again)
    return items


def _not_empty(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if not items:
        raise ValueError("must not be empty; leave the key out for all")
    return items


Duration = Annotated[
    float,
    BeforeValidator(_duration),
    Field(allow_inf_nan=False, ge=0),
    PlainSerializer(format_duration, when_used="json"),
]
PositiveDuration = Annotated[Duration, AfterValidator(_positive)]
Interval = Annotated[Duration, AfterValidator(_interval)]
Name = Annotated[str, AfterValidator(_name)]
HeaderText = Annotated[str, AfterValidator(_header_text)]
ApiVersion = Annotated[str, AfterValidator(_api_version)]
State = Annotated[str, AfterValidator(_state)]
Day = Annotated[date, BeforeValidator(_day)]
CaFile = Annotated[Path, BeforeValidator(_ca_file)]
Several = Annotated[tuple[Item, ...], Field(strict=False), AfterValidator(_distinct)]
Some = Annotated[Several[Item], AfterValidator(_not_empty)]


def endpoint(url: str, placeholders: Sequence[str]) -> str:
    """Check an address that requests are built on; return it without a slash at its end.

    A credential may stand in it by mistake: no error shows the address.
    """
    if strange := [name for name in _PLACEHOLDER.findall(url) if name not in placeholders]:
        possible = " and ".join(f"{{{name}}}" for name in placeholders) or "none"
        raise ValueError(f"unknown placeholder {{{strange[0][:_SHOWN_LENGTH]}}}; known: {possible}")
    filled = _PLACEHOLDER.sub("x", url)
    if not re.fullmatch(r"[!-~]+", filled) or set(filled) & set('\\{}<>"^`|'):
        raise ValueError("must be a URL, with percent signs for what is not plain ASCII")
    _check_url(filled)
    return url.rstrip("/")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        complete = False
    if not complete:
        raise ValueError("must be a URL with scheme and host, such as https://api.example.com/v1")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or password; the keys have settings of their own")
    if "?" in url or "#" in url:
        raise ValueError("must not hold a query or fragment (? or #)")


def secret(text: str) -> str:
    """Return a secret without the line break at its end; ValueError where it cannot be one."""
    text = text.rstrip("\r\n")
    if not text.strip():
        raise ValueError("is empty")
    if not text.isprintable():
        raise ValueError("has a line break or another character that cannot be printed")
    return text


def key(text: str) -> str:
    """Return a secret as the clouds give them out, which is in ASCII; ValueError for any other."""
    text = secret(text)
    if not text.isascii():
        raise ValueError("has a character that is not ASCII, which no key has; was it cut short?")
    return text


def secret_file(path: Path) -> str:
    """Return the text of a secret's file; ValueError, which does not name it, where it has none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would block until somebody writes
            raise ValueError("is not a regular file")
        with path.open("rb") as opened:
            content = opened.read(MAX_SECRET_BYTES + 1)
    except FileNotFoundError:
        directory = "the directory of the configuration file"
        raise ValueError(f"no such file; a relative path starts at {directory}") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(content) > MAX_SECRET_BYTES:
        raise ValueError(f"has more than {MAX_SECRET_BYTES} bytes, too many for a secret")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise ValueError("is not valid UTF-8") from None


def quoted(text: str) -> str:
    """Put a text in quotes for an error: on one line, and no longer than a line."""
    return repr(text if len(text) <= _SHOWN_LENGTH else text[: _SHOWN_LENGTH - 3] + "...")


def found(value: object) -> str:
    """Say what stands where something else was expected."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return quoted(value)
    return shape(value)


def shape(value: object) -> str:
    """Say what stands where a mapping or list was expected.

    A text is not shown: `secret_key:abc`, with its space forgotten, is one.
    """
    match value:
        case None:
            return "nothing (null)"
        case list():
            return "a list"
        case dict():
            return "a mapping"
    return "text" if isinstance(value, str) else "a number, true or false"


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, which one may be meant, and which there are."""
    near = difflib.get_close_matches(name, known := tuple(known), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown {what}; {hint}known: {', '.join(known)}"


_EXPECTED: Final = {
    "bool_type": "true or false",
    "float_type": "a number",
    "finite_number": "a number",
    "int_type": "a whole number",
    "is_instance_of": "text",
    "string_type": "text",
}


def wording(error: ErrorDetails, keys: Iterable[str]) -> str:
    """Say in plain words what one of pydantic's errors means to the author of a file.

    `keys` are those that the mapping may have.
    """
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    match kind:
        case "value_error":
            text = str(context["error"])
        case "missing":
            text = "missing; this key has no default"
        case "extra_forbidden":
            text = unknown("key", str(error["loc"][-1]), keys)
        case "greater_than":
            text = f"must be greater than {context['gt']:g}, found {value}"
        case "greater_than_equal":
            text = f"must be at least {context['ge']:g}, found {value}"
        case "tuple_type":
            text = f"expected a list, such as [a, b], found {shape(value)}"
        case _:
            expected = context.get("expected") or _EXPECTED.get(kind, "another kind of value")
            hint = "; put it in quotes" if kind == "string_type" and is_number(value) else ""
            text = f"expected {expected}, found {found(value)}{hint}"
    return text


def is_number(value: object) -> bool:
    """Tell whether YAML made a number or truth value of what may have been meant as text."""
    return isinstance(value, bool | int | float)
