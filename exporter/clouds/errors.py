"""Error answers, as far as both clouds' have something in common."""

import json
from typing import Any

_LONGEST = 300


def document(body: bytes) -> Any:  # noqa: ANN401 - JSON can be anything
    """Return the JSON of an error answer, or None where it is none."""
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def plain(body: bytes) -> str:
    """Return an answer that is no known JSON as a short text on one line."""
    text = body.decode("utf-8", "replace").strip()
    return "(an HTML page)" if text.startswith("<") else one_line(text)


def one_line(*parts: object) -> str:
    """Join what is there into a short text on one line."""
    texts = [" ".join(str(part).split()) for part in parts if part not in (None, "")]
    return printable(": ".join(dict.fromkeys(text for text in texts if text)))[:_LONGEST]


def printable(text: str) -> str:
    """Replace control characters, which could forge lines or colours of a log."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
