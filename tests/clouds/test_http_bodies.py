"""Bodies of good answers: of whatever type, unpacked, and of at most 64 MiB."""

import asyncio
import gzip

import aiohttp
import pytest

from exporter.clouds import http
from exporter.clouds.http import (
    MAX_BODY_BYTES,
)
from exporter.clouds.outcomes import (
    BadResponse,
)
from tests.clouds.calls import LIST, client_of, failure_of
from tests.clouds.loopback import (
    CHUNKED,
    always,
    answer,
    in_turn,
    loopback,
)


@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain", "text/html; charset=euc-kr", ""]
)
async def test_the_content_type_is_not_believed(session: aiohttp.ClientSession, kind: str) -> None:
    """Good JSON is good under whatever name it comes."""
    async with loopback(always(answer({"a": 1}, Content_Type=kind))) as server:
        assert await client_of(session, server.url).attempt(LIST) == b'{"a": 1}'


async def test_a_gzipped_answer_is_unpacked(session: aiohttp.ClientSession) -> None:
    """Compression is the connection's business."""
    packed = answer(gzip.compress(b"{}" * 1000), Content_Encoding="gzip")
    async with loopback(always(packed)) as server:
        assert await client_of(session, server.url).attempt(LIST) == b"{}" * 1000


async def test_the_largest_answer_is_taken(session: aiohttp.ClientSession) -> None:
    """64 MiB are an answer."""
    async with loopback(always(answer(b" " * MAX_BODY_BYTES))) as server:
        body = await client_of(session, server.url, request_timeout=30.0).attempt(LIST)
    assert len(body) == MAX_BODY_BYTES == 64 * 2**20


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
async def test_an_answer_that_is_too_large_is_refused(
    session: aiohttp.ClientSession, encoding: str
) -> None:
    """One byte more than 64 MiB is refused, plain or unpacked; asking again would not help."""
    body = b" " * (MAX_BODY_BYTES + 1)
    sent = gzip.compress(body, 1) if encoding == "gzip" else body
    reply = answer(sent, Content_Encoding=encoding)
    failure = await failure_of(session, always(reply), 30.0)
    assert type(failure) is BadResponse
    assert str(MAX_BODY_BYTES) in failure.message


async def test_an_endless_answer_is_refused_while_it_is_read(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What never ends is cut off at the limit, long before any timeout."""
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 2**20)
    sent = 0

    async def endless(writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(CHUNKED)
        while True:
            writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            sent += 0x10000
            await writer.drain()

    failure = await failure_of(session, lambda _head, writer: endless(writer), 30.0)
    assert type(failure) is BadResponse
    assert sent < 2**25


async def test_what_was_cut_off_is_no_connection_for_the_next(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a refused answer is not taken for the next one."""
    monkeypatch.setattr(http, "MAX_BODY_BYTES", 10)
    replies = in_turn([answer(b"x" * 10_000_000), answer(b"good")])
    async with loopback(replies) as server:
        client = client_of(session, server.url)
        with pytest.raises(BadResponse):
            await client.attempt(LIST)
        assert await client.attempt(LIST) == b"good"
        assert [head.connection for head in server.heads] == [1, 2]
