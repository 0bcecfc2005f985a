"""Error answers, as far as both clouds' have something in common."""

import json
import re
from typing import Any

_LONGEST = 300
_HTML = re.compile(r"<(!doctype )?html\b", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")


def document(body: bytes) -> Any:  # noqa: ANN401 - JSON can be anything
    """Return the JSON of an error answer, or None where it is none."""
    try:
        return json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def plain(body: bytes) -> str:
    """Return an answer that is no known JSON as a short text on one line, without tags.

    Of JSON nothing is shown: it may be a part of a good answer, with what belongs into no log.
    """
    text = body.decode("utf-8-sig", "replace")
    if text.lstrip().startswith(("{", "[")):
        return f"({len(body)} bytes of JSON)"
    return "(an HTML page)" if _HTML.search(text) else one_line(_TAG.sub(" ", text))


def one_line(*parts: object) -> str:
    """Join what is there into a short text on one line."""
    texts = [" ".join(_text(part).split()) for part in parts if part not in (None, "")]
    return printable(": ".join(dict.fromkeys(text for text in texts if text)))[:_LONGEST]


def _text(part: object) -> str:
    try:
        return str(part)
    except (ValueError, RecursionError):  # endless digits, or lists in lists without end
        return "(unreadable)"


def printable(text: str) -> str:
    """Replace control characters, which could forge lines or colours of a log."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
