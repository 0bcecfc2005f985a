"""What a call needs around it: a clock that only steps, an observer that writes down."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp
import pytest

from exporter.clouds.budget import Budget
from exporter.clouds.http import Client, Dialect, Refusal, request
from exporter.clouds.outcomes import Failure
from tests.clouds.loopback import Answerer, loopback

NOW = 1_700_000_000.0
LIST = request("/v1/things", {"page": 0})


@dataclass
class SteppedClock:
    """A clock that stands still but for its own sleeps, which take no time.

    With a `gate` they last until it is set.
    """

    now: float = NOW
    slept: list[float] = field(default_factory=list)
    gate: asyncio.Event | None = None

    def wall(self) -> float:
        """Return the Unix time in seconds."""
        return self.now

    def monotonic(self) -> float:
        """Return the same time as seconds since an arbitrary start."""
        return self.now - NOW

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.slept.append(seconds)
        self.now += seconds
        await (asyncio.sleep(0) if self.gate is None else self.gate.wait())

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:
        """Let time pass at once; return whether the event is set."""
        await self.sleep(seconds)
        return event.is_set()


@dataclass
class Heard:
    """An observer that keeps what it is told."""

    requests: list[tuple[str, str]] = field(default_factory=list)
    skews: list[float] = field(default_factory=list)

    def request(self, path: str, code: str, seconds: float) -> None:
        """Keep an attempt."""
        assert seconds >= 0
        self.requests.append((path, code))

    def skew(self, seconds: float) -> None:
        """Keep a skew."""
        self.skews.append(seconds)


@dataclass
class Plain:
    """A dialect that sends what is to be signed, or fails, and reads an error as text."""

    request_id_header: str = "x-request"
    fault: Exception | None = None

    def headers(self, method: str, url: str, timestamp_ms: int) -> Mapping[str, str]:
        """Return a header that tells what was to be signed."""
        if self.fault is not None:
            raise self.fault
        return {"x-signed": f"{method} {url} {timestamp_ms}"}

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Take the body as the message."""
        not_entitled = b"entitled" in body and status == 401
        return Refusal(body.decode("latin-1"), not_entitled, of_service=b"errorCode" in body)


def client_of(
    session: aiohttp.ClientSession,
    base_url: str,
    dialect: Dialect | None = None,
    clock: SteppedClock | None = None,
    request_timeout: float = 5.0,
) -> Client:
    """Return a client that nothing limits."""
    return Client(
        session=session,
        base_url=base_url,
        dialect=Plain() if dialect is None else dialect,
        budget=Budget(100_000.0, 100),
        observer=Heard(),
        clock=SteppedClock() if clock is None else clock,
        request_timeout=request_timeout,
    )


def heard(client: Client) -> Heard:
    """Return the observer of a client of `client_of`."""
    assert isinstance(client.observer, Heard)
    return client.observer


async def failure_of(
    session: aiohttp.ClientSession, answerer: Answerer, patience: float = 5.0
) -> Failure:
    """Return what one request to such a server ends in."""
    async with loopback(answerer) as server:
        client = client_of(session, server.url, request_timeout=patience)
        with pytest.raises(Failure) as failed:
            await client.attempt(LIST)
    return failed.value
