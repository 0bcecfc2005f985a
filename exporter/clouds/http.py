"""One path for every request to a cloud: sign, limit, send, classify, retry.

Only GET can be sent. The URL is built once as text, and that text is both signed and
sent. Retries have this one owner: aiohttp's silent second try is switched off, and every
attempt is signed afresh.
"""

import asyncio
import email.utils
import random
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import aiohttp
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from yarl import URL

from exporter.clock import Clock
from exporter.clouds.budget import Budget
from exporter.clouds.outcomes import (
    AuthFailed,
    BadRequest,
    BadResponse,
    ConnectionFailed,
    Failure,
    Forbidden,
    NoSuchPath,
    NotFound,
    RateLimited,
    ServerError,
    TimedOut,
    TlsFailed,
    Truncated,
)
from exporter.clouds.proxies import Proxy, no_proxy
from exporter.clouds.resolver import Resolver
from exporter.credentials import SecretUnavailable

MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_ATTEMPTS = 3
_FIRST_BACKOFF_SECONDS = 0.5
_MAX_BACKOFF_SECONDS = 8.0
_NOTABLE_SKEW_SECONDS = 60.0
_TIME_WAS_UP = "the time of the whole poll was up"
_ERROR_BODY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for: `template` names it in metrics, `target` is sent behind the base URL."""

    template: str
    target: str
    signed: bool = True


def request(
    template: str,
    query: Mapping[str, str | int] | None = None,
    path: Mapping[str, str] | None = None,
    *,
    signed: bool = True,
) -> Request:
    """Fill a path template and encode its query, once and for all."""
    parts = {name: quote(value, safe="") for name, value in (path or {}).items()}
    target = template.format(**parts)
    if query:
        target += "?" + urlencode(query, quote_via=quote, safe="")
    return Request(template, target, signed)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What an error answer says: a text for people, and whether a subscription is missing.

    `of_service` is whether the service itself said so, and not a gateway or proxy before it.
    """

    message: str
    not_entitled: bool = False
    of_service: bool = False


class Dialect(Protocol):
    """What differs between the clouds on the way of a request."""

    @property
    def request_id_header(self) -> str:
        """The header of an answer that the cloud's support asks for."""
        ...

    def headers(self, method: str, url: str, timestamp_ms: int) -> Mapping[str, str]:
        """Return the headers that authenticate a request for exactly this URL."""
        ...

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Read an error answer, whatever it is made of."""
        ...


class Observer(Protocol):
    """Who is told of every attempt."""

    def request(self, path: str, code: str, seconds: float) -> None:
        """Count an attempt: `code` is the status, or `error` without an answer."""
        ...

    def skew(self, seconds: float) -> None:
        """Note the cloud's Date header minus the local clock."""
        ...


@dataclass(slots=True)
class Client:
    """Send requests to one cloud for one account in one region."""

    session: aiohttp.ClientSession
    base_url: str
    dialect: Dialect
    budget: Budget
    observer: Observer
    clock: Clock
    request_timeout: float
    proxy: Proxy = no_proxy
    skew: float | None = field(default=None, init=False)

    def until(self, deadline: float, *, urgent: bool = True) -> "Caller":
        """Return a caller for one poll, which ends at a time of the monotonic clock."""
        return Caller(self, deadline, urgent)

    async def attempt(self, what: Request) -> bytes:
        """Send a request once and return the body of its good answer."""
        started = self.clock.monotonic()
        code = "error"
        try:
            address = URL(self.base_url + what.target, encoded=True)
            headers = {"Accept": "application/json"}
            if what.signed:
                # As it is sent, which is without a port that goes without saying.
                headers |= self._authentication(str(address))
            async with self.session.get(
                address,
                headers=headers,
                proxy=self.proxy(address),
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=self.request_timeout),
            ) as response:
                code = str(response.status)
                self._note_skew(response)
                return await self._body(response)
        except Failure:
            raise
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise classify(error, self.request_timeout) from error
        finally:
            self.observer.request(what.template, code, self.clock.monotonic() - started)

    def _authentication(self, url: str) -> Mapping[str, str]:
        try:
            return self.dialect.headers("GET", url, int(self.clock.wall() * 1000))
        except SecretUnavailable as error:
            raise AuthFailed(f"no credentials: {error}") from error

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        if response.status == 200:  # noqa: PLR2004 - the only good answer of a GET here
            return await read_limited(response, MAX_BODY_BYTES)
        raise self._refused(response, await _error_body(response))

    def _note_skew(self, response: aiohttp.ClientResponse) -> None:
        date = parse_date(response.headers.get("Date", ""))
        if date is not None:
            self.skew = date - self.clock.wall()
            self.observer.skew(self.skew)

    def _refused(self, response: aiohttp.ClientResponse, body: bytes) -> Failure:
        refusal = self.dialect.refusal(response.status, body)
        failure = by_status(response.status, refusal)
        failure.request_id = response.headers.get(self.dialect.request_id_header, "")
        date = parse_date(response.headers.get("Date", ""))
        failure.wait = parse_retry_after(
            response.headers.get("Retry-After", ""), self.clock.wall() if date is None else date
        )
        if isinstance(failure, AuthFailed) and abs(self.skew or 0.0) > _NOTABLE_SKEW_SECONDS:
            failure.message += f"; the local clock is off by {-(self.skew or 0.0):+.0f} s"
        return failure


@dataclass(slots=True)
class Caller:
    """Send the requests of one poll, with retries up to its deadline.

    `announced` are the calls that the poll takes at least, as far as it knows, and `made` those
    that were made.
    """

    client: Client
    deadline: float
    urgent: bool = True
    announced: int = 0
    made: int = 0

    def announce(self, calls: int) -> None:
        """Say how many calls the poll takes at least, to be held against its deadline."""
        self.announced += calls

    async def get(self, what: Request) -> bytes:
        """Return the body of a good answer, or raise the Failure of the last attempt."""
        retrying = AsyncRetrying(
            sleep=self.client.clock.sleep,
            retry=retry_if_exception(lambda error: isinstance(error, Failure) and error.retried),
            wait=_wait,
            stop=self._stop,
            reraise=True,
        )
        remaining = self.deadline - self.client.clock.monotonic()
        if remaining <= 0:  # a timeout of 0 would still open a connection
            raise TimedOut(_TIME_WAS_UP)
        try:
            async with asyncio.timeout(remaining):
                return await retrying(self._attempt, what)
        except TimeoutError as error:
            raise TimedOut(_TIME_WAS_UP) from error

    async def _attempt(self, what: Request) -> bytes:
        async with self.client.budget.slot(urgent=self.urgent):
            self.made += 1
            return await self.client.attempt(what)

    def _stop(self, state: RetryCallState) -> bool:
        then = self.client.clock.monotonic() + state.upcoming_sleep
        return state.attempt_number >= MAX_ATTEMPTS or then >= self.deadline


def _wait(state: RetryCallState) -> float:
    """Return the wait that the server asked for, else an exponential one with full jitter."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, Failure) and error.wait is not None:
        return error.wait
    longest = min(_FIRST_BACKOFF_SECONDS * 2.0**state.attempt_number, _MAX_BACKOFF_SECONDS)
    return random.uniform(0.0, longest)  # noqa: S311 - spreads load, hides nothing


def by_status(status: int, refusal: Refusal) -> Failure:
    """Return the failure that an HTTP status other than 200 stands for."""
    text = f"HTTP {status}: {refusal.message}" if refusal.message else f"HTTP {status}"
    simple: dict[int, type[Failure]] = {403: Forbidden, 429: RateLimited}
    if status == 401:  # noqa: PLR2004
        return Forbidden(text) if refusal.not_entitled else AuthFailed(text)
    if status == 404:  # noqa: PLR2004
        return NotFound(text) if refusal.of_service else NoSuchPath(text)
    if status in simple:
        return simple[status](text)
    if 400 <= status < 500:  # noqa: PLR2004
        return BadRequest(text, status=status)
    return ServerError(text) if status >= 500 else BadResponse(text)  # noqa: PLR2004


def classify(error: Exception, timeout: float) -> Failure:
    """Return the failure that an exception of the HTTP client stands for."""
    match error:
        case TimeoutError():
            return TimedOut(f"no whole answer within {timeout:g} s")
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return TlsFailed(_text(error))
        case aiohttp.ClientPayloadError():
            return Truncated(f"the answer broke off: {type(error).__name__}")
        case aiohttp.ClientHttpProxyError():
            return ConnectionFailed(f"the proxy refused: {error.status} {error.message}")
        case aiohttp.ClientConnectionError() | OSError():
            return ConnectionFailed(_text(error))
        case _:
            # The error's text quotes the answer, which may hold what belongs into no log.
            return BadResponse(f"not an HTTP answer: {type(error).__name__}")


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__


async def read_limited(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body of at most so many bytes after decompression."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise BadResponse(f"an answer of more than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def _error_body(response: aiohttp.ClientResponse) -> bytes:
    """Read what an error answer says, as far as it can be read: its status says enough."""
    try:
        return await read_limited(response, _ERROR_BODY_BYTES)
    except (Failure, aiohttp.ClientError, OSError):
        return b""


def parse_date(text: str) -> float | None:
    """Return the Unix time of an HTTP date, which is in GMT where it names no zone, or None."""
    try:
        date = email.utils.parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def parse_retry_after(text: str, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None."""
    if text.isascii() and text.isdigit():
        return float(text[:9])
    date = parse_date(text)
    return None if date is None else max(date - now, 0.0)


async def name_disconnects(
    outgoing: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Turn a lost connection into a Failure, which aiohttp does not silently send again."""
    try:
        return await handler(outgoing)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise ConnectionFailed(_text(error)) from error


def open_session(*, tls: ssl.SSLContext | None = None) -> aiohttp.ClientSession:
    """Open the one session that all clients share, without cookies.

    Its connections are bounded by the budgets of those who use it, so that a cloud that hangs
    can't take those of another.
    """
    options: dict[str, Any] = {} if tls is None else {"ssl": tls}
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60, resolver=Resolver(), **options),
        cookie_jar=aiohttp.DummyCookieJar(),
        middlewares=(name_disconnects,),
        headers={"User-Agent": "gpu-cluster-exporter"},
    )


def tls_context(ca_file: str) -> ssl.SSLContext:
    """Return a context that trusts the system's store and the certificates of a file."""
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=ca_file)
    return context


async def close_session(session: aiohttp.ClientSession) -> None:
    """Close the session, and give its connections the turn of the loop that they need."""
    await session.close()
    await asyncio.sleep(0)
