"""Asks a running daemon whether it lives, for a container's HEALTHCHECK."""

import base64
import http.client
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_TIMEOUT_SECONDS = 4.0
_UNAUTHORIZED = 401
_LONGEST_TEXT = 1000


@dataclass(frozen=True, slots=True)
class Question:
    """Whom to ask, for what, and as whom."""

    url: str
    ready: bool = False
    username: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None


def ask(question: Question) -> tuple[bool, str]:
    """Return whether the answer is good, and what it was.

    Without a password a 401 counts as alive, for the process answers, but not as ready.
    """
    path = "/-/ready" if question.ready else "/-/healthy"
    try:
        outgoing = urllib.request.Request(question.url.rstrip("/") + path)  # noqa: S310 - its flag
        _authenticate(outgoing, question)
        with _opener(question).open(outgoing, timeout=_TIMEOUT_SECONDS) as response:
            return True, _text(response)
    except urllib.error.HTTPError as error:
        with error:
            alive = error.code == _UNAUTHORIZED and question.password_file is None
            return alive and not question.ready, f"HTTP {error.code}: {_text(error)}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        return False, f"{question.url}: {getattr(error, 'reason', None) or error}"


def _text(answer: IO[bytes]) -> str:
    return answer.read(_LONGEST_TEXT).decode("utf-8", "replace").strip()


def _authenticate(outgoing: urllib.request.Request, question: Question) -> None:
    if question.username is None or question.password_file is None:
        return
    password = question.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    both = base64.b64encode(f"{question.username}:{password}".encode()).decode()
    outgoing.add_header("Authorization", f"Basic {both}")


def _opener(question: Question) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context()
    if question.ca_file is not None:
        context.load_verify_locations(question.ca_file)
    if question.cert_file is not None:
        context.load_cert_chain(question.cert_file, question.key_file)
    # No proxy stands between a container and itself.
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
