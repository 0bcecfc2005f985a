"""Asks a running daemon whether it lives, for a container's HEALTHCHECK."""

import base64
import http.client
import re
import ssl
import sys
import urllib.error
import urllib.request
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Self
from urllib.parse import urlsplit

from exporter import flags

_TIMEOUT_SECONDS = 4.0
_UNAUTHORIZED = 401
_TOO_MANY = 429
_NOT_FOUND = 404
_LONGEST_TEXT = 1000
_HTML = re.compile(r"<(!doctype )?html\b", re.IGNORECASE)


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

    @classmethod
    def of(cls, arguments: Namespace) -> Self:
        """Return what the flags ask."""
        return cls(**{field.name: getattr(arguments, field.name) for field in fields(cls)})


def main(argv: Sequence[str]) -> int:
    """Run the command by itself: a supervisor runs it often, and the daemon's imports are dear."""
    good, text = ask(Question.of(flags.parse(argv)))
    with suppress(OSError):
        print(text, file=sys.stdout if good else sys.stderr, flush=True)
    return 0 if good else 1


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Where the daemon is, is said by the flag alone: no password goes anywhere else."""

    def redirect_request(self, *_: object) -> None:
        """Follow none: the redirect is the answer."""


class _BadFlag(Exception):  # noqa: N818 - told as it is
    """A flag that can't be followed; the text names it, and shows no secret."""


def ask(question: Question) -> tuple[bool, str]:
    """Return whether the answer is good, and what it was, on one line.

    Without a password a 401 counts as alive, for the process answers, but not as ready.
    """
    path = "/-/ready" if question.ready else "/-/healthy"
    try:
        _check(question)
        outgoing = urllib.request.Request(question.url.rstrip("/") + path)  # noqa: S310 - checked
        _authenticate(outgoing, question)
        with _opener(question).open(outgoing, timeout=_TIMEOUT_SECONDS) as response:
            return True, _text(response)
    except _BadFlag as error:
        return False, str(error)
    except urllib.error.HTTPError as error:
        with error:
            # Who refuses answers: a limit of requests is no reason for a restart.
            asked = error.code == _UNAUTHORIZED and question.password_file is None
            alive = asked or error.code == _TOO_MANY
            return alive and not question.ready, _refusal(error, question)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return False, f"{question.url}: {_trouble(getattr(error, 'reason', error))}"


def _check(question: Question) -> None:
    """Refuse what cannot be meant; an address with a password in it is not shown."""
    example = "an address without a path, such as http://127.0.0.1:10110"
    try:
        parts = urlsplit(question.url)
        bare = parts.path in {"", "/"} and not set("?#") & set(question.url)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and bare
    except ValueError:  # a port that is none
        good = False
    if "@" in question.url:
        raise _BadFlag("--url must not hold a user; there are --username and --password-file")
    if not good or re.search(r"\s", question.url):
        raise _BadFlag(f"--url takes {example}, found {question.url!r}")
    if question.password_file and question.username is None:
        raise _BadFlag("--password-file needs --username")
    if question.key_file and not question.cert_file:
        raise _BadFlag("--key-file needs --cert-file")


def _refusal(error: urllib.error.HTTPError, question: Question) -> str:
    said = f"HTTP {error.code}: {_text(error)}"
    if error.code == _UNAUTHORIZED:
        wrong = "does not take these" if question.password_file else "asks for"
        return f"{said} (the daemon {wrong} --username and --password-file)"
    if error.code == _NOT_FOUND:
        return f"{said} (is {question.url} the exporter? --url takes no path)"
    return said


def _text(answer: IO[bytes]) -> str:
    text = " ".join(answer.read(_LONGEST_TEXT).decode("utf-8", "replace").split())
    return "(an HTML page)" if _HTML.search(text) else text


def _trouble(reason: object) -> str:
    """Say what went wrong before there was an answer, and which flag has to do with it."""
    match reason:
        case ssl.SSLCertVerificationError():
            return f"{reason.verify_message} (--ca-file names certificates to trust)"
        case ssl.SSLError():
            return f"{reason.reason or reason} (does --url begin with the right scheme?)"
        case http.client.BadStatusLine() | ConnectionResetError():
            return f"{reason} (does --url begin with the right scheme?)"
        case OSError():
            return reason.strerror or str(reason) or type(reason).__name__
    return str(reason)


def _authenticate(outgoing: urllib.request.Request, question: Question) -> None:
    if question.username is None or question.password_file is None:
        return
    with _naming("--password-file", question.password_file):
        password = question.password_file.read_text(encoding="utf-8").rstrip("\r\n")
    both = base64.b64encode(f"{question.username}:{password}".encode()).decode()
    outgoing.add_header("Authorization", f"Basic {both}")


def _opener(question: Question) -> urllib.request.OpenerDirector:
    context = ssl.create_default_context()
    if question.ca_file is not None:
        with _naming("--ca-file", question.ca_file):
            context.load_verify_locations(question.ca_file)
    if question.cert_file is not None:
        with _naming("--cert-file and --key-file", question.cert_file):
            context.load_cert_chain(question.cert_file, question.key_file)
    # No proxy stands between a container and itself.
    return urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        urllib.request.HTTPSHandler(context=context),
        _NoRedirects,
    )


@contextmanager
def _naming(flag: str, file: Path) -> Iterator[None]:
    """Name the flag whose file cannot be used."""
    try:
        yield
    except ssl.SSLError:
        raise _BadFlag(f"{flag}: {file} does not hold what it should, in PEM form") from None
    except UnicodeDecodeError:
        raise _BadFlag(f"{flag}: {file} is not valid UTF-8") from None
    except OSError as error:
        raise _BadFlag(f"{flag}: {file} cannot be read: {error.strerror}") from None
