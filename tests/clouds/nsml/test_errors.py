"""Error answers of CLOVA NSML, in every shape that is known."""

import aiohttp
import pytest

from exporter.clouds.http import request
from exporter.clouds.nsml.errors import refusal
from exporter.clouds.nsml.signing import NsmlDialect
from exporter.clouds.outcomes import (
    AuthFailed,
    BadRequest,
    Failure,
    Forbidden,
    NoSuchPath,
    NotFound,
    RateLimited,
    ServerError,
)
from tests.clouds.calls import client_of
from tests.clouds.loopback import answer, in_turn, loopback

DENIED = b'{"error": {"errorCode": "210", "message": "Permission Denied", "details": null}}'
XML = b"<?xml version='1.0'?><error><errorCode>%d</errorCode><message>Denied</message></error>"
CASES: list[tuple[int, bytes, type[Failure], str]] = [
    (400, b'{"errorCode": "100", "message": "Bad Request"}', BadRequest, "100: Bad Request"),
    (401, b'{"errorCode": 200, "message": "Authentication"}', AuthFailed, "200: Authentication"),
    (401, DENIED, Forbidden, "210: Permission Denied"),
    (401, b'{"errorCode": 210}', Forbidden, "210"),
    (401, XML % 210, Forbidden, "210 Denied"),
    (401, XML % 200, AuthFailed, "200 Denied"),
    (403, b'{"error": {"errorCode": "230", "message": "No"}}', Forbidden, "230: No"),
    (404, b'{"error": {"errorCode": 300, "details": "run 2"}}', NotFound, "300: run 2"),
    (404, b"<html>Not here</html>", NoSuchPath, "(an HTML page)"),
    (413, b'{"errorCode": "430"}', BadRequest, "430"),
    (429, b'{"errorCode": "420", "message": "Rate Limited"}', RateLimited, "420: Rate Limited"),
    (500, b"Internal\nError", ServerError, "Internal Error"),
    (503, b'{"errorCode": null, "message": "Down"}', ServerError, "Down"),
    (504, b'{"timestamp": 1, "status": 504, "error": "Late"}', ServerError, "Late"),
    (500, b'["odd"]', ServerError, "(7 bytes of JSON)"),
    (502, b'{"nodes": [{"command": "secret', ServerError, "(30 bytes of JSON)"),
]


@pytest.mark.parametrize(("status", "body", "kind", "text"), CASES)
async def test_an_error_answer_says_what_it_says(
    session: aiohttp.ClientSession, status: int, body: bytes, kind: type[Failure], text: str
) -> None:
    """Each shape ends in the class of its status, with its text and the support's id."""
    keys = {"access_key": "a", "secret_key": "b", "api_key": "c"}
    reply = answer(body, status, x_ncp_trace_id="trace-7")
    async with loopback(in_turn([reply])) as server:
        client = client_of(session, server.url, NsmlDialect(lambda: keys))
        with pytest.raises(kind) as failed:
            await client.attempt(request("/projects"))
    assert failed.value.message == f"HTTP {status}: {text}"
    assert failed.value.request_id == "trace-7"


def test_the_code_of_a_subscription_counts_only_where_the_status_is_401() -> None:
    """Another status has its own meaning."""
    assert not refusal(403, DENIED).not_entitled
