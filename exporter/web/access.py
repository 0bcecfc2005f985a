"""Access: the web configuration file put in force, and followed as it changes."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Middleware

from exporter import logs
from exporter.credentials import SETTLED_NS, Status
from exporter.web.passwords import Login, Passwords, TooManyChecksError
from exporter.web.sending import Handler, plain
from exporter.web.tls import Following
from exporter.web.web_config import RateLimit, WebConfig, WebConfigError, load, read_file

__all__ = ["Access", "Followed", "WebConfig", "WebConfigError", "load"]

_CHALLENGE = 'Basic realm="gpu-cluster-exporter", charset="UTF-8"'

_log = logs.get("web")


class Followed:
    """A web configuration file as it is now: read again when it, or a file that it names, changes.

    A change for the worse leaves the last good one in force, and is logged once. `clock` gives
    the Unix time in nanoseconds. Raises WebConfigError where there is no good one to start with.
    """

    def __init__(self, path: Path, clock: Callable[[], int] = time.time_ns) -> None:
        self._path = path
        self._clock = clock
        self._config = load(path)
        self._files = dict(self._config.files)
        self._statuses: list[Status | None] | None = None

    def current(self) -> WebConfig:
        """Return what is in force."""
        statuses = [Status.of(file) for file in self._files]
        if statuses != self._statuses:
            self._look()
            self._statuses = statuses if self._settled(statuses) else None
        return self._config

    def _settled(self, statuses: list[Status | None]) -> bool:
        quiet_since = self._clock() - SETTLED_NS
        return all(status is not None and status.modified < quiet_since for status in statuses)

    def _look(self) -> None:
        if any(_content(file) != content for file, content in self._files.items()):
            try:
                self._renew(load(self._path))
            except WebConfigError as error:
                self._files = dict(error.files)
                _log.error("web configuration keeps its last good state", error=str(error))

    def _renew(self, config: WebConfig) -> None:
        self._files = dict(config.files)
        if (config.tls is None) != (self._config.tls is None):
            why = "tls_server_config came or went; restart to change between http and https"
            raise WebConfigError([f"{self._path}: {why}"], config.files)
        if self._config.users and not config.users:
            # A file that is being written, or was cut short, opens no door.
            why = "basic_auth_users are gone; restart to go without passwords"
            raise WebConfigError([f"{self._path}: {why}"], config.files)
        self._config = config
        _log.info("web configuration read again", file=str(self._path))


def _content(file: Path) -> bytes | None:
    try:
        return read_file(file)
    except ValueError:
        return None


class Bucket:
    """Tokens for requests: as many as `burst`, and one more after each interval."""

    def __init__(self, limit: RateLimit, clock: Callable[[], float]) -> None:
        self.limit = limit
        self._clock = clock
        self._tokens = float(limit.burst)
        self._filled = clock()

    def take(self) -> bool:
        """Take a token, and return whether there was one."""
        now = self._clock()
        gained = (now - self._filled) / self.limit.interval
        self._tokens = min(self._tokens + gained, float(self.limit.burst))
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Access:
    """Decide who gets an answer: by the file at `path`, or everybody where that is None.

    Raises WebConfigError where the file can't be used. `clock` gives monotonic seconds.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._followed = None if path is None else Followed(path)
        self._clock = clock
        self._bucket: Bucket | None = None
        self._passwords = Passwords()
        if self.config.users and self.config.tls is None:
            _log.warning("passwords are sent in the clear: basic_auth_users without TLS")

    @property
    def config(self) -> WebConfig:
        """What is in force at this moment."""
        return WebConfig() if self._followed is None else self._followed.current()

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What listens, where TLS is configured; each new connection follows the file."""
        return None if self.config.tls is None else Following(self._tls_now)

    def _tls_now(self) -> ssl.SSLContext:
        context = self.config.tls
        assert context is not None  # noqa: S101 - it neither comes nor goes while listening
        return context

    def middleware(self) -> Middleware:
        """Return what stands before every route."""

        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            refusal = await self._refusal(request)
            return await handler(request) if refusal is None else refusal

        return guard

    async def _refusal(self, request: web.Request) -> web.Response | None:
        config = self.config
        if not self._within(config.rate_limit):
            return plain("too many requests", status=429)
        if not config.users:
            return None
        login = Login.read(request.headers.get("Authorization"))
        try:
            if login is not None and await self._passwords.good(login, config.users):
                return None
        except TooManyChecksError:
            return plain("too many passwords are being checked", status=429)
        response = plain("a user and password are needed", status=401)
        response.headers["WWW-Authenticate"] = _CHALLENGE
        return response

    def _within(self, limit: RateLimit | None) -> bool:
        if limit is None:
            self._bucket = None
            return True
        if self._bucket is None or self._bucket.limit != limit:
            self._bucket = Bucket(limit, self._clock)
        return self._bucket.take()
