"""Dates and waits in the headers of answers."""

import time
from email.utils import formatdate

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds.http import (
    parse_date,
    parse_retry_after,
)
from exporter.clouds.outcomes import (
    AuthFailed,
    ServerError,
)
from tests.clouds.calls import LIST, NOW, client_of, failure_of, heard
from tests.clouds.loopback import (
    always,
    answer,
    in_turn,
    loopback,
)


async def test_the_skew_of_the_clocks_is_told(session: aiohttp.ClientSession) -> None:
    """The cloud's date minus the local time is told at each answer that has one."""
    replies = in_turn(
        [
            answer({}, Date=formatdate(NOW + 90, usegmt=True)),
            answer({}, 500, Date=formatdate(NOW - 30, usegmt=True)),
            answer({}, Date="yesterday"),
            answer({}),
        ]
    )
    async with loopback(replies) as server:
        client = client_of(session, server.url)
        await client.attempt(LIST)
        with pytest.raises(ServerError):
            await client.attempt(LIST)
        await client.attempt(LIST)
        await client.attempt(LIST)
    assert heard(client).skews == [90.0, -30.0]


@pytest.mark.parametrize(("ahead", "said"), [(600, "-600 s"), (-600, "+600 s"), (59, ""), (0, "")])
async def test_a_refused_signature_names_a_clock_that_is_off(
    session: aiohttp.ClientSession, ahead: int, said: str
) -> None:
    """A 401 is often a wrong local clock: by how much it is off stands in the text."""
    reply = answer(b"no", 401, Date=formatdate(NOW + ahead, usegmt=True))
    failure = await failure_of(session, always(reply))
    assert isinstance(failure, AuthFailed)
    assert ("the local clock is off by " + said in failure.message) == bool(said)


async def test_only_a_refused_signature_speaks_of_the_clock(session: aiohttp.ClientSession) -> None:
    """Other failures have other causes."""
    reply = answer(b"no", 403, Date=formatdate(NOW + 600, usegmt=True))
    assert "clock" not in (await failure_of(session, always(reply))).message


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("0", 0.0),
        ("30", 30.0),
        ("99999", 99999.0),
        ("9" * 400, 999_999_999.0),
        (formatdate(NOW + 120, usegmt=True), 60.0),
        (formatdate(NOW - 120, usegmt=True), 0.0),
        ("in a while", None),
        ("-5", None),
        ("1.5", None),
        ("", None),
    ],
)
async def test_the_wait_that_a_server_asks_for_is_read(
    session: aiohttp.ClientSession, header: str, wait: float | None
) -> None:
    """Seconds, or a date by the server's own clock, which here is a minute ahead."""
    date = formatdate(NOW + 60, usegmt=True)
    reply = answer(b"", 429, Retry_After=header, Date=date)
    assert (await failure_of(session, always(reply))).wait == wait


async def test_a_date_to_wait_for_is_local_where_the_server_tells_no_time(
    session: aiohttp.ClientSession,
) -> None:
    """Without a Date header the local clock has to do."""
    reply = answer(b"", 429, Retry_After=formatdate(NOW + 120, usegmt=True))
    assert (await failure_of(session, always(reply))).wait == 120.0


@pytest.mark.parametrize(
    "text",
    [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 -0000",
        "Sun, 06 Nov 1994 17:49:37 +0900",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul", "America/New_York"])
def test_a_date_is_the_same_moment_everywhere(
    text: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP's three spellings are in GMT, wherever the exporter runs."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert parse_date(text) == 784111777.0
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ .*"))
def test_any_text_is_a_date_or_none(text: str) -> None:
    """No header brings anything but a number or None."""
    date = parse_date(text)
    assert date is None or isinstance(date, float)
    wait = parse_retry_after(text, NOW)
    assert wait is None or wait >= 0


def test_a_date_beyond_all_calendars_is_none() -> None:
    """What no calendar holds is no date."""
    assert parse_date("Mon, 01 Jan 99999 00:00:00 GMT") is None
