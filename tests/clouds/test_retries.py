"""Asking again: how often, after how long, and never past the deadline of the poll."""

import asyncio
from email.utils import formatdate

import aiohttp
import pytest

from exporter.clouds.budget import Budget
from exporter.clouds.http import MAX_ATTEMPTS, request
from exporter.clouds.outcomes import (
    AuthFailed,
    BadRequest,
    BadResponse,
    ConnectionFailed,
    Failure,
    Forbidden,
    NoSuchPath,
    RateLimited,
    ServerError,
    TimedOut,
    Truncated,
)
from tests.clouds.calls import NOW, Plain, SteppedClock, client_of, heard
from tests.clouds.loopback import Answerer, answer, hang, in_turn, loopback, reset

LIST = request("/v1/things", {"page": 3})
BUSY = answer(b"busy", 503)
GOOD = answer(b"good")


async def test_a_server_that_fails_twice_is_asked_three_times(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """The third attempt's answer is the answer, and each was counted."""
    async with loopback(in_turn([BUSY, answer(b"", 429), GOOD])) as server:
        client = client_of(session, server.url, clock=clock)
        assert await client.until(100.0).get(LIST) == b"good"
        assert len(server.heads) == 3
    assert [code for _, code in heard(client).requests] == ["503", "429", "200"]


async def test_three_attempts_are_all(session: aiohttp.ClientSession, clock: SteppedClock) -> None:
    """The last attempt's failure is raised, and the waits between grow no longer than they may."""
    replies = [BUSY, BUSY, answer(b"third", 502), GOOD]
    async with loopback(in_turn(replies)) as server:
        with pytest.raises(ServerError, match="502: third"):
            await client_of(session, server.url, clock=clock).until(100.0).get(LIST)
        assert len(server.heads) == MAX_ATTEMPTS == 3
    assert len(clock.slept) == 2
    assert 0 <= clock.slept[0] <= 1.0
    assert 0 <= clock.slept[1] <= 2.0


async def test_each_attempt_is_signed_afresh(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """A second attempt has the time of its own sending, so that it is not refused as old."""
    retry = answer(b"", 503, Retry_After="7")
    async with loopback(in_turn([retry, retry, GOOD])) as server:
        await client_of(session, server.url, clock=clock).until(100.0).get(LIST)
        signed = [head.headers["x-signed"].split()[-1] for head in server.heads]
    assert signed == [str(int((NOW + seconds) * 1000)) for seconds in (0, 7, 14)]


ONCE: dict[str, tuple[Answerer, type[Failure]]] = {
    "401": (in_turn([answer(b"", 401), GOOD]), AuthFailed),
    "401 with a wait": (in_turn([answer(b"", 401, Retry_After="1"), GOOD]), AuthFailed),
    "401 not entitled": (in_turn([answer(b"not entitled", 401), GOOD]), Forbidden),
    "403": (in_turn([answer(b"", 403), GOOD]), Forbidden),
    "404": (in_turn([answer(b"", 404), GOOD]), NoSuchPath),
    "400": (in_turn([answer(b"", 400), GOOD]), BadRequest),
    "302": (in_turn([answer(b"", 302), GOOD]), BadResponse),
    "no HTTP": (in_turn([b"garbage\r\n\r\n", GOOD]), BadResponse),
}


@pytest.mark.parametrize("why", ONCE)
async def test_what_would_not_change_is_not_asked_again(
    session: aiohttp.ClientSession, clock: SteppedClock, why: str
) -> None:
    """What was refused for what it is would be refused again."""
    answerer, kind = ONCE[why]
    async with loopback(answerer) as server:
        with pytest.raises(kind):
            await client_of(session, server.url, clock=clock).until(100.0).get(LIST)
        assert len(server.heads) == 1
    assert not clock.slept


AGAIN: dict[str, tuple[Answerer, type[Failure]]] = {
    "hangs up": (lambda _head, _writer: None, ConnectionFailed),
    "resets": (lambda _head, writer: reset(writer), ConnectionFailed),
    "hangs": (lambda _head, _writer: hang(), TimedOut),
    "breaks off": (lambda _head, writer: _break_off(writer), Truncated),
    "500": (lambda _head, _writer: answer(b"", 500), ServerError),
}


async def _break_off(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{")
    await writer.drain()
    raise ConnectionResetError


@pytest.mark.parametrize("why", AGAIN)
async def test_what_may_pass_is_asked_three_times(
    session: aiohttp.ClientSession, clock: SteppedClock, why: str
) -> None:
    """Every kind of trouble on the way gets three attempts, counted at the server."""
    answerer, kind = AGAIN[why]
    async with loopback(answerer) as server:
        client = client_of(session, server.url, clock=clock, request_timeout=0.1)
        with pytest.raises(kind):
            await client.until(100.0).get(LIST)
        assert len(server.heads) == 3
    assert len(heard(client).requests) == 3


@pytest.mark.parametrize("how", ["hangs up", "resets"])
async def test_a_kept_connection_that_is_lost_is_no_fourth_attempt(
    session: aiohttp.ClientSession, clock: SteppedClock, how: str
) -> None:
    """On a reused connection the HTTP client would send again by itself: it must not."""
    trouble, _ = AGAIN[how]
    async with loopback(in_turn([GOOD])) as server:
        client = client_of(session, server.url, clock=clock)
        await client.until(100.0).get(LIST)
        server.answerer = trouble
        with pytest.raises(ConnectionFailed):
            await client.until(100.0).get(LIST)
        assert [head.connection for head in server.heads[:2]] == [1, 1]
        assert len(server.heads) == 1 + 3
    assert len(heard(client).requests) == 1 + 3


@pytest.mark.parametrize(
    ("header", "slept"),
    [
        ("0", 0.0),
        ("5", 5.0),
        (formatdate(NOW + 60 + 5, usegmt=True), 5.0),
        (formatdate(NOW - 60, usegmt=True), 0.0),
    ],
)
async def test_a_wait_that_fits_is_waited(
    session: aiohttp.ClientSession, clock: SteppedClock, header: str, slept: float
) -> None:
    """Seconds are obeyed, and a date by the server's own clock, here a minute ahead."""
    limited = answer(b"", 429, Retry_After=header, Date=formatdate(NOW + 60, usegmt=True))
    async with loopback(in_turn([limited, GOOD])) as server:
        client = client_of(session, server.url, clock=clock)
        assert await client.until(100.0).get(LIST) == b"good"
    assert clock.slept == [slept]


@pytest.mark.parametrize("header", ["99999", formatdate(NOW + 99999, usegmt=True), "100"])
async def test_a_wait_that_does_not_fit_is_left_to_the_target(
    session: aiohttp.ClientSession, clock: SteppedClock, header: str
) -> None:
    """Past the deadline nobody waits: the failure says how long the server wants."""
    async with loopback(in_turn([answer(b"", 429, Retry_After=header), GOOD])) as server:
        with pytest.raises(RateLimited) as failed:
            await client_of(session, server.url, clock=clock).until(100.0).get(LIST)
        assert len(server.heads) == 1
    assert failed.value.wait == (100.0 if header == "100" else 99999.0)
    assert not clock.slept


@pytest.mark.parametrize("header", ["in a while", "-1", "1e3"])
async def test_a_wait_that_is_none_is_replaced_by_an_own_one(
    session: aiohttp.ClientSession, clock: SteppedClock, header: str
) -> None:
    """Rubbish in the header is as good as no header."""
    async with loopback(in_turn([answer(b"", 429, Retry_After=header), GOOD])) as server:
        client = client_of(session, server.url, clock=clock)
        assert await client.until(100.0).get(LIST) == b"good"
    assert 0 <= clock.slept[0] <= 1.0


async def test_no_attempt_begins_past_the_deadline(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """An attempt that would begin after the end of the poll is not made."""
    retry = answer(b"", 503, Retry_After="6")
    async with loopback(in_turn([retry, retry, GOOD])) as server:
        with pytest.raises(ServerError):
            await client_of(session, server.url, clock=clock).until(10.0).get(LIST)
        assert len(server.heads) == 2
    assert clock.slept == [6.0]


async def test_a_request_ends_with_the_poll(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """A request that hangs is cut off at the poll's deadline, before its own."""
    async with loopback(lambda _head, _writer: hang()) as server:
        client = client_of(session, server.url, clock=clock)
        with pytest.raises(TimedOut, match="whole poll"):
            await client.until(0.05).get(LIST)
        assert len(server.heads) == 1


async def test_a_poll_whose_time_is_up_sends_nothing(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """A poll that is over asks for no more pages."""
    clock.now += 200.0
    async with loopback(in_turn([GOOD])) as server:
        with pytest.raises(TimedOut):
            await client_of(session, server.url, clock=clock).until(100.0).get(LIST)
        assert server.connections == 0


async def test_waiting_for_the_budget_ends_with_the_poll_too(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """A request that never got its turn has timed out, and leaves its place in the queue."""
    async with loopback(lambda _head, _writer: GOOD) as server:
        client = client_of(session, server.url, clock=clock)
        client.budget = Budget(1000.0, 1)
        async with client.budget.slot():
            with pytest.raises(TimedOut):
                await client.until(0.05).get(LIST)
        assert await client.until(100.0).get(LIST) == b"good"


async def test_a_wait_holds_no_place_in_the_budget(
    session: aiohttp.ClientSession, clock: SteppedClock
) -> None:
    """While one request waits to be sent again, others go."""
    async with loopback(in_turn([BUSY, GOOD, GOOD])) as server:
        client = client_of(session, server.url, clock=clock)
        client.budget = Budget(1000.0, 1)
        clock.gate = asyncio.Event()
        waiting = asyncio.create_task(client.until(100.0).get(LIST))
        await server.asked.wait()
        assert await client.until(100.0).get(LIST) == b"good"
        clock.gate.set()
        assert await waiting == b"good"


async def test_a_defect_is_not_retried(session: aiohttp.ClientSession, clock: SteppedClock) -> None:
    """What is no Failure is a bug, and comes out as it is."""
    client = client_of(session, "http://127.0.0.1:1", Plain(fault=ZeroDivisionError()), clock)
    with pytest.raises(ZeroDivisionError):
        await client.until(100.0).get(LIST)


async def test_the_calls_of_a_poll_are_announced(session: aiohttp.ClientSession) -> None:
    """What a poll takes at least is added up, to be held against its deadline."""
    caller = client_of(session, "http://127.0.0.1:1").until(1.0)
    caller.announce(3)
    caller.announce(4)
    assert caller.announced == 7
