"""The web configuration file: who may read here, and how.

The format is that of Prometheus' exporter-toolkit (docs/web-configuration.md there), read strictly:
a key that can't be honoured is an error, and never ignored.
"""

import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import bcrypt
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from exporter.config import fields, strict_yaml
from exporter.config.models import Section
from exporter.config.strict_yaml import Document, KeyPath
from exporter.web.pem import Material
from exporter.web.tls import TlsFault, TlsServerConfig, server_context

MAX_FILE_BYTES: Final = 1024 * 1024
MAX_BCRYPT_COST: Final = 15  # about 2 s; a scrape has 10
HEADERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Content-Security-Policy": (),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-Content-Type-Options": ("nosniff",),
    "X-XSS-Protection": (),
    "Strict-Transport-Security": (),
}
"""The headers that can be set, each with the only values that it can have, where they are few."""

_BCRYPT: Final = re.compile(r"\$2[aby]\$([0-9]{2})\$[./A-Za-z0-9]{53}")
_HOW_TO_HASH: Final = "make one with htpasswd -nBC 10 NAME"


class WebConfigError(Exception):
    """A web configuration that can't be used; `problems` has one line for each fault.

    `files` are those that were read, or would have been: a change of any may mend it.
    """

    def __init__(self, problems: Sequence[str], files: Mapping[Path, bytes | None]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)
        self.files = files


def _interval(value: object) -> object:
    return "0s" if value in ("0", 0) and not isinstance(value, bool) else value


def _http2(value: bool) -> bool:  # noqa: FBT001 - a validator
    if value:
        raise ValueError("this server speaks HTTP/1.1 alone; write false, or leave the key out")
    return value


def _headers(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name not in HEADERS:
            raise ValueError(fields.unknown(f"header {fields.quoted(name)}", name, HEADERS))
        if value and HEADERS[name] and value not in HEADERS[name]:
            allowed = " or ".join(HEADERS[name])
            raise ValueError(f"{name} must be {allowed}, found {fields.quoted(value)}")
        if not re.fullmatch(r"[ -~]*", value):
            raise ValueError(f"{name} must be ASCII on one line")
    return {name: value for name, value in given.items() if value}


def _user(name: str) -> str:
    if ":" in name:
        raise ValueError("a user's name can't hold a colon: basic authentication ends it there")
    return name


def _hash(value: object) -> SecretStr:
    """Check a password's hash; no error shows it, for it may be the password itself."""
    match = _BCRYPT.fullmatch(value) if isinstance(value, str) else None
    if match is None or not isinstance(value, str):
        raise ValueError(f"is no bcrypt hash (not shown); {_HOW_TO_HASH}")
    if not 4 <= int(match[1]) <= MAX_BCRYPT_COST:  # noqa: PLR2004 - bcrypt's least
        raise ValueError(f"has a cost of {match[1]}; {MAX_BCRYPT_COST} is the most; {_HOW_TO_HASH}")
    try:
        bcrypt.checkpw(b"", value.replace(f"${match[1]}$", "$04$", 1).encode())  # at least cost
    except ValueError:
        raise ValueError(f"has a salt that is none (not shown); {_HOW_TO_HASH}") from None
    return SecretStr(value)


class RateLimit(Section):
    """So many requests at once, and one more after each interval, in seconds; 0 is no limit."""

    interval: Annotated[fields.Duration, BeforeValidator(_interval)]
    burst: Annotated[int, Field(ge=1)]


class HttpServerConfig(Section):
    """How HTTP is spoken."""

    http2: Annotated[bool, AfterValidator(_http2)] = False
    headers: Annotated[dict[str, str], AfterValidator(_headers)] = Field(default_factory=dict)


Users = dict[Annotated[str, AfterValidator(_user)], Annotated[SecretStr, BeforeValidator(_hash)]]


_SECTIONS: Final[Mapping[str, TypeAdapter[Any]]] = {
    "tls_server_config": TypeAdapter(TlsServerConfig),
    "http_server_config": TypeAdapter(HttpServerConfig),
    "basic_auth_users": TypeAdapter(Users),
    "rate_limit": TypeAdapter(RateLimit),
}
_KEYS: Final[Mapping[KeyPath, Sequence[str]]] = {
    ("tls_server_config",): TlsServerConfig.key_names(),
    ("http_server_config",): HttpServerConfig.key_names(),
    ("rate_limit",): RateLimit.key_names(),
}
"""The keys that each mapping may have, by its path."""


@dataclass(frozen=True, slots=True)
class WebConfig:
    """What a web configuration file says.

    `users` are bcrypt hashes by name; `tls` is None for plain HTTP. `files` holds the content of
    every file that was read for it, by path.
    """

    tls: ssl.SSLContext | None = None
    users: Mapping[str, SecretStr] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    rate_limit: RateLimit | None = None
    files: Mapping[Path, bytes | None] = field(default_factory=dict, repr=False)


def load(path: Path) -> WebConfig:
    """Read a web configuration file, with the certificates and keys that it names.

    Raises WebConfigError with all faults found, in the order of the file, and no secret in any.
    """
    return _Reading(path).config()


def read_file(path: Path) -> bytes:
    """Return the content of a file; ValueError, which says why not."""
    try:
        if not path.exists():
            raise ValueError("no such file")
        if not path.is_file():  # a pipe would block until somebody writes
            raise ValueError("is not a regular file")
        with path.open("rb") as opened:
            content = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(content) > MAX_FILE_BYTES:
        raise ValueError(f"has more than {MAX_FILE_BYTES} bytes")
    return content


@dataclass
class _Reading:
    """One reading of a file, which goes on after a fault so that all are found."""

    path: Path
    files: dict[Path, bytes | None] = field(default_factory=dict)
    problems: list[tuple[KeyPath, str]] = field(default_factory=list)

    def config(self) -> WebConfig:
        """Read the file, and what it names."""
        document = self._document()
        raw = self._top_level(document)
        tls, http, users, limit = (self._section(name, raw.get(name)) for name in _SECTIONS)
        context = self._tls(tls)
        if self.problems:
            ordered = sorted(self.problems, key=lambda problem: document.place(problem[0]))
            raise self._error(_line(document, *problem) for problem in ordered)
        return WebConfig(
            tls=context,
            users=users or {},
            headers=http.headers if http else {},
            rate_limit=limit if limit and limit.interval else None,
            files=self.files,
        )

    def _document(self) -> Document:
        try:
            return strict_yaml.parse(self._read(self.path).decode())
        except UnicodeDecodeError:
            raise self._error(["is not valid UTF-8"]) from None
        except strict_yaml.StrictYamlError as error:
            raise self._error(error.problems) from None
        except ValueError as error:
            raise self._error([str(error)]) from None

    def _top_level(self, document: Document) -> Mapping[str, object]:
        top = {} if document.data is None else document.data
        if not isinstance(top, dict):
            expected = f"a mapping with {', '.join(_SECTIONS)}"
            self.problems.append(((), f"expected {expected}, found {fields.shape(top)}"))
            return {}
        for key in top.keys() - _SECTIONS.keys():
            self.problems.append(((key,), fields.unknown("key", key, _SECTIONS)))
        return top

    def _section(self, name: str, raw: object) -> Any:  # noqa: ANN401 - of the name's own kind
        if raw is None:
            return None
        try:
            return _SECTIONS[name].validate_python(raw, context=self.path.parent)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                self._note(name, fault)
            return None

    def _note(self, section: str, fault: ErrorDetails) -> None:
        path = (section, *(part for part in fault["loc"] if part != "[key]"))
        problem = fields.wording(fault, _KEYS.get(path[:-1], ()))
        if fault["type"] in {"model_type", "dict_type"}:
            problem = f"expected a mapping, found {fields.shape(fault['input'])}"
        self.problems.append((path, problem))

    def _tls(self, options: TlsServerConfig | None) -> ssl.SSLContext | None:
        if options is None or not options.model_fields_set:
            return None
        before = len(self.problems)
        for fault in options.faults():
            self._note_tls(fault)
        found = {name: self._material(options, name) for name in Material._fields}
        cert, key = found["cert"], found["key"]
        if len(self.problems) > before or cert is None or key is None:
            return None
        try:
            return server_context(options, Material(cert, key, found["client_ca"]))
        except TlsFault as fault:
            self._note_tls(fault)
            return None

    def _material(self, options: TlsServerConfig, name: str) -> bytes | None:
        inline = getattr(options, name)
        if inline is not None:
            text: str = inline.get_secret_value() if name == "key" else inline
            return text.encode()
        file = getattr(options, f"{name}_file")
        if file is None:
            return None
        path = self.path.parent / file
        try:
            return self._read(path)
        except ValueError as error:
            self._note_tls(TlsFault(f"{name}_file", f"{path}: {error}"))
            return None

    def _read(self, path: Path) -> bytes:
        self.files[path] = None
        content = self.files[path] = read_file(path)
        return content

    def _note_tls(self, fault: TlsFault) -> None:
        self.problems.append((("tls_server_config", fault.key), fault.why))

    def _error(self, problems: Iterable[str]) -> WebConfigError:
        return WebConfigError([f"{self.path}: {problem}" for problem in problems], self.files)


def _line(document: Document, path: KeyPath, problem: str) -> str:
    if not path:
        return problem
    if path[-1] in _KEYS.get(path[:-1], ()):
        return f"{strict_yaml.written(path[:-1])}.{path[-1]}: {problem}"
    hidden = not strict_yaml.is_shown(path[-1])
    place = f" ({document.place(path)})" if hidden else ""
    return f"{strict_yaml.written(path)}: {problem}{place}"
