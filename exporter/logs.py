"""Logs: one line an event, in logfmt or JSON, without secrets."""

import contextlib
import json
import logging
import re
import sys
from collections.abc import Callable, Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO, TypeAlias
from urllib.parse import quote, quote_plus

import structlog
from structlog.stdlib import BoundLogger, ProcessorFormatter

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
}
MIN_SECRET_LENGTH: Final = 4  # shorter ones would blank out half of every line

_LEVEL_NAMES: Final = {"WARNING": "warn", "CRITICAL": "error"}
_BARE: Final = re.compile(r"[!#-<>-\[\]-~]+")  # needs no quotes in logfmt: no space, ", = or \
_STRANGE: Final = re.compile(r"[^!#-<>-~]")  # in a key of logfmt
# Beside what JSON escapes: other line ends, controls, and what no UTF-8 stream takes.
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Event: TypeAlias = MutableMapping[str, Any]
Render: TypeAlias = Callable[[Event], str]


class Redactor:
    """Replaces every known secret in a finished line, also where it stands escaped."""

    def __init__(self) -> None:
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        """Search for this secret from now on; one shorter than 4 characters never."""
        if len(secret) < MIN_SECRET_LENGTH or secret in self._forms:
            return
        self._forms |= _forms(secret)
        longest_first = sorted(self._forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def __call__(self, text: str) -> str:
        """Return the text with `<secret>` for each secret."""
        return text if self._pattern is None else self._pattern.sub("<secret>", text)


def _forms(secret: str) -> set[str]:
    """List the spellings of a secret in a line: in URLs, tracebacks, JSON, and JSON within JSON."""
    spelled = {
        secret,
        repr(secret)[1:-1],
        quote(secret),
        quote(secret, safe=""),
        quote_plus(secret),
    }
    spelled |= {re.sub("%..", lambda code: code[0].lower(), form) for form in spelled}
    for _ in range(2):
        spelled |= {_escaped(form, ascii_only) for form in spelled for ascii_only in (True, False)}
    return spelled


def _escaped(text: str, ascii_only: bool) -> str:  # noqa: FBT001 - both are asked for in a row
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def configure(level: str, fmt: str, redactor: Redactor, stream: TextIO = sys.stderr) -> None:
    """Send every event, the standard library's too, to `stream` as lines without secrets.

    `level` is one of LEVELS and `fmt` one of FORMATS; anything else is a KeyError. Called again,
    the new settings replace the old ones.
    """
    formatter = _Formatter(FORMATS[fmt], redactor)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.processors.StackInfoRenderer(),
            ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
    )
    root = logging.getLogger()
    root.setLevel(LEVELS[level])
    others = [handler for handler in root.handlers if not isinstance(handler, _Handler)]
    root.handlers = [*others, _Handler(stream, formatter)]


def get(name: str) -> BoundLogger:
    """Return the logger of this name; it may be asked for before `configure`."""
    logger: BoundLogger = structlog.stdlib.get_logger(name)
    return logger


class _Formatter(ProcessorFormatter):
    """Makes one redacted line of an event, whichever library it comes from."""

    def __init__(self, render: Render, redactor: Redactor) -> None:
        super().__init__(
            processors=[
                structlog.processors.format_exc_info,
                _in_order,
                lambda _logger, _name, event: render(event),
            ]
        )
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor(super().format(record))


class _Handler(logging.StreamHandler[TextIO]):
    def __init__(self, stream: TextIO, formatter: logging.Formatter) -> None:
        super().__init__(stream)
        self.setFormatter(formatter)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's own name
        """Write that an event could not be written.

        The standard library would print its arguments to standard error, secrets too.
        """
        lost = "an event could not be written"
        stand_in = logging.LogRecord(record.name, record.levelno, "", 0, lost, (), None)
        with contextlib.suppress(OSError, ValueError):  # the stream itself is gone
            self.stream.write(self.format(stand_in) + self.terminator)


def _in_order(_logger: object, _name: str, event: Event) -> Event:
    """Put what every line has first, taken from the standard library's record."""
    record: logging.LogRecord = event.pop("_record")
    del event["_from_structlog"]
    time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    common = {
        "ts": time.replace("+00:00", "Z"),
        "level": _LEVEL_NAMES.get(record.levelname, record.levelname.lower()),
        "logger": record.name,
        "msg": event.pop("event", ""),
    }
    return common | {key: value for key, value in event.items() if key not in common}


def _logfmt(event: Event) -> str:
    return " ".join(f"{_STRANGE.sub('_', key)}={_logfmt_value(event[key])}" for key in event)


def _logfmt_value(value: object) -> str:
    text = value if isinstance(value, str) else _json(value)
    if not isinstance(value, str) and text.startswith('"'):
        text = str(value)  # a path, an address: what JSON can only write as a text
    return text if _BARE.fullmatch(text) else _json(text)


def _json_line(event: Event) -> str:
    return "{" + ", ".join(f"{_json(key)}: {_json(value)}" for key, value in event.items()) + "}"


def _json(value: object) -> str:
    """Write a value as JSON on one line, whatever it is."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(str(value), ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


FORMATS: Final[Mapping[str, Render]] = {"logfmt": _logfmt, "json": _json_line}
