"""Error answers of Samsung Cloud Platform, in every shape that was seen."""

import json

import aiohttp
import pytest

from exporter.clouds.http import request
from exporter.clouds.outcomes import (
    AuthFailed,
    BadRequest,
    Failure,
    Forbidden,
    NoSuchPath,
)
from exporter.clouds.scp.errors import refusal
from exporter.clouds.scp.signing import ScpDialect
from tests.clouds.calls import client_of
from tests.clouds.loopback import answer, in_turn, loopback


def service(**fields: object) -> bytes:
    """Write an error of the service."""
    error = {"code": "Oops", "title": "Oops", "detail": None, "status": 400, "response": None}
    return json.dumps({"errors": [error | fields]}).encode()


GATEWAY = "Request was rejected by gateway"
NOT_ENTITLED = {
    "status": "UNAUTHORIZED",
    "name": GATEWAY,
    "message": "No entry in the Product Catalog",
}
CASES: list[tuple[int, bytes, type[Failure], str]] = [
    (400, service(detail=["Field required", "size"]), BadRequest, "Oops: Field required; size"),
    (400, service(detail="Field required"), BadRequest, "Oops: Field required"),
    (
        403,
        service(code="Forbidden", title="No", response={"action_name": "mngc:ListNodes"}),
        Forbidden,
        "Forbidden: No: missing permission mngc:ListNodes",
    ),
    (
        404,
        b'{"timestamp": "2026-01-01", "status": 404, "error": "Not Found", "requestId": "a"}',
        NoSuchPath,
        "Not Found",
    ),
    (404, b"<!doctype html><html></html>", NoSuchPath, "(an HTML page)"),
    (401, b'{"reason": "HmacValidFail"}', AuthFailed, "HmacValidFail"),
    (401, b'{"code": "HmacValidFail"}', AuthFailed, "HmacValidFail"),
    (401, service(code="Unauthorized", title="catalog"), AuthFailed, "Unauthorized: catalog"),
    (
        401,
        json.dumps(NOT_ENTITLED).encode(),
        Forbidden,
        f"{GATEWAY}: No entry in the Product Catalog",
    ),
    (
        401,
        json.dumps(NOT_ENTITLED | {"message": "Expired"}).encode(),
        AuthFailed,
        f"{GATEWAY}: Expired",
    ),
    (401, b"", AuthFailed, ""),
]


@pytest.mark.parametrize(("status", "body", "kind", "text"), CASES)
async def test_an_error_answer_says_what_it_says(
    session: aiohttp.ClientSession, status: int, body: bytes, kind: type[Failure], text: str
) -> None:
    """Each shape ends in the class of its status, with its text and the support's id."""
    dialect = ScpDialect(lambda: {"access_key": "a", "secret_key": "b"}, "1.2")
    reply = answer(body, status, scp_request_id="req-7")
    async with loopback(in_turn([reply])) as server:
        with pytest.raises(kind) as failed:
            await client_of(session, server.url, dialect).attempt(request("/v1/gpu-nodes"))
    assert failed.value.message == (f"HTTP {status}: {text}" if text else f"HTTP {status}")
    assert failed.value.request_id == "req-7"


def test_the_catalog_counts_only_where_the_status_is_401() -> None:
    """Another status has its own meaning."""
    assert not refusal(500, json.dumps(NOT_ENTITLED).encode()).not_entitled
