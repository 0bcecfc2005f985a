"""One request and its answer: what is sent, and what each way to fail is taken for."""

import asyncio

import aiohttp
import pytest
from yarl import URL

from exporter.clouds.http import (
    classify,
    request,
)
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
from exporter.clouds.proxies import environment_proxy
from exporter.credentials import SecretUnavailable
from tests.clouds.calls import LIST, NOW, Plain, SteppedClock, client_of, failure_of, heard
from tests.clouds.loopback import (
    CHUNKED,
    Answerer,
    always,
    answer,
    hang,
    loopback,
    reset,
    stall,
    writing,
)

PAST_PATIENCE = 0.1


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
GZIPPED = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"

FAULTS: dict[str, tuple[Answerer, type[Failure], str]] = {
    "hangs up": (lambda _head, _writer: None, ConnectionFailed, "error"),
    "reset before the headers": (writing(then=reset), ConnectionFailed, "error"),
    "cut in the headers": (writing(HEADERS[:20]), ConnectionFailed, "error"),
    "reset in the headers": (writing(HEADERS[:20], then=reset), ConnectionFailed, "error"),
    "cut in the body": (writing(HEADERS, b"{"), Truncated, "200"),
    "reset in the body": (writing(HEADERS, b"{", then=reset), Truncated, "200"),
    "cut in a chunk": (writing(CHUNKED, b"64\r\n{"), Truncated, "200"),
    "no end of chunks": (writing(CHUNKED, b"1\r\n{\r\n"), Truncated, "200"),
    "nonsense for a chunk": (writing(CHUNKED, b"zz\r\n{\r\n"), BadResponse, "error"),
    "nonsense for gzip": (writing(GZIPPED, b"no gzip in any sense"), Truncated, "200"),
    "hangs": (lambda _head, _writer: hang(), TimedOut, "error"),
    "hangs in the headers": (writing(HEADERS[:20], then=stall), TimedOut, "error"),
    "hangs in the body": (writing(HEADERS, b"{", then=stall), TimedOut, "200"),
    "another protocol": (writing(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), BadResponse, "error"),
    "binary": (writing(b"\x16\x03\x01\x00\xff\r\n\r\n"), BadResponse, "error"),
    "a status that is none": (writing(b"HTTP/1.1 abc OK\r\n\r\n"), BadResponse, "error"),
    "a length that is none": (
        writing(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"),
        BadResponse,
        "error",
    ),
    "a header without end": (
        writing(b"HTTP/1.1 200 OK\r\nA: " + b"a" * 70_000),
        BadResponse,
        "error",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_of_a_server_has_its_class(
    session: aiohttp.ClientSession, fault: str
) -> None:
    """However a server fails, the failure is of the class that tells what happened."""
    answerer, kind, code = FAULTS[fault]
    async with loopback(answerer) as server:
        client = client_of(session, server.url, request_timeout=PAST_PATIENCE)
        with pytest.raises(Failure) as failed:
            await client.attempt(LIST)
    assert type(failed.value) is kind
    assert failed.value.message
    assert heard(client).requests == [("/v1/things", code)]


async def test_a_port_that_nobody_listens_at_is_a_failed_connection(
    session: aiohttp.ClientSession,
) -> None:
    """A refused connection is one that failed."""
    async with loopback(always(answer({}))) as server:
        url = server.url
    with pytest.raises(ConnectionFailed):
        await client_of(session, url).attempt(LIST)


async def test_a_name_that_is_none_is_a_failed_connection(session: aiohttp.ClientSession) -> None:
    """A host that can't be resolved can't be reached."""
    with pytest.raises(ConnectionFailed):
        await client_of(session, "http://no-such-host.invalid").attempt(LIST)


async def test_a_url_that_is_none_is_a_failure_too(session: aiohttp.ClientSession) -> None:
    """Even a URL that cannot be sent ends in a Failure."""
    with pytest.raises(Failure):
        await client_of(session, "http://[::").attempt(LIST)
    with pytest.raises(Failure):
        await client_of(session, "http://").attempt(LIST)


STATUSES = [
    (201, BadResponse),
    (204, BadResponse),
    (206, BadResponse),
    (301, BadResponse),
    (304, BadResponse),
    (400, BadRequest),
    (401, AuthFailed),
    (402, BadRequest),
    (403, Forbidden),
    (404, NoSuchPath),
    (405, BadRequest),
    (408, BadRequest),
    (413, BadRequest),
    (422, BadRequest),
    (429, RateLimited),
    (431, BadRequest),
    (500, ServerError),
    (502, ServerError),
    (503, ServerError),
    (504, ServerError),
    (599, ServerError),
]


@pytest.mark.parametrize(("status", "kind"), STATUSES)
async def test_every_status_has_its_class(
    session: aiohttp.ClientSession, status: int, kind: type[Failure]
) -> None:
    """Any status but 200 is a failure, whose text names it."""
    body = b"" if status in {204, 304} else b"because"
    failure = await failure_of(session, always(answer(body, status, x_request="req-1")))
    assert type(failure) is kind
    assert failure.message.startswith(f"HTTP {status}")
    assert failure.message.endswith("because" if body else str(status))
    assert failure.request_id == "req-1"
    if isinstance(failure, BadRequest):
        assert failure.status == status


async def test_a_missing_subscription_is_no_bad_key(session: aiohttp.ClientSession) -> None:
    """A 401 whose body says so is a missing entitlement."""
    failure = await failure_of(session, always(answer(b"not entitled", 401)))
    assert type(failure) is Forbidden


@pytest.mark.parametrize("fault", ["cut", "oversized", "bad gzip", "hanging"])
async def test_an_error_answer_needs_no_readable_body(
    session: aiohttp.ClientSession, fault: str
) -> None:
    """The status says enough where the body can't be read, is too large or hangs."""
    head = b"HTTP/1.1 503 Busy\r\nContent-Length: 100000\r\n"
    answerers = {
        "cut": writing(head + b"\r\n", b"half"),
        "oversized": always(head + b"\r\n" + b"x" * 100_000),
        "bad gzip": always(head + b"Content-Encoding: gzip\r\n\r\n" + b"x" * 100_000),
        "hanging": writing(head + b"\r\n", b"half", then=stall),
    }
    # It is real time, which the head has to come in, on a busy machine too.
    patience = 5 * PAST_PATIENCE if fault == "hanging" else 5.0
    failure = await failure_of(session, answerers[fault], patience)
    assert (type(failure), failure.message) == (ServerError, "HTTP 503")


async def test_a_redirect_is_not_followed(session: aiohttp.ClientSession) -> None:
    """Another host is not asked, and so is never given what was signed for this one."""
    async with loopback(always(answer({}))) as other:
        reply = answer(b"", 302, Location=other.url + "/v1/things")
        failure = await failure_of(session, always(reply))
        assert type(failure) is BadResponse
        assert not other.heads
        assert other.connections == 0


async def test_cookies_are_not_kept(session: aiohttp.ClientSession) -> None:
    """No answer makes the next request another one."""
    async with loopback(always(answer({}, Set_Cookie="a=b; Path=/"))) as server:
        client = client_of(session, server.url)
        await client.attempt(LIST)
        await client.attempt(LIST)
        assert [head.headers.get("cookie") for head in server.heads] == [None, None]


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ({"project_id": "a", "run_name": "2"}, "/p/a/2?x=1"),
        ({"project_id": "a/b", "run_name": "%2F"}, "/p/a%2Fb/%252F?x=1"),
        ({"project_id": "가", "run_name": "a b+{c}"}, "/p/%EA%B0%80/a%20b%2B%7Bc%7D?x=1"),
    ],
)
def test_a_template_is_filled_with_encoded_names(path: dict[str, str], target: str) -> None:
    """A name is one part of the path, whatever it is made of; metrics have the template."""
    what = request("/p/{project_id}/{run_name}", {"x": 1}, path)
    assert (what.template, what.target) == ("/p/{project_id}/{run_name}", target)


def test_no_query_is_no_question_mark() -> None:
    """An empty query is none."""
    assert request("/v1/gpu-nodes", {}).target == "/v1/gpu-nodes"


async def test_a_proxy_that_refuses_is_a_failed_connection(
    session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands between is part of the connection, and is used where that is configured."""
    async with loopback(always(answer(b"", 407))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("https_proxy", proxy.url)
        client = client_of(session, "https://cloud.invalid")
        client.proxy = environment_proxy
        with pytest.raises(ConnectionFailed, match="the proxy refused: 407"):
            await client.attempt(LIST)
        assert [head.method for head in proxy.heads] == ["CONNECT"]


def test_an_error_without_a_text_is_told_by_its_name() -> None:
    """A failure always says something."""
    assert classify(ConnectionResetError(), 1.0).message == "ConnectionResetError"


async def test_who_gives_up_is_counted_as_an_error(session: aiohttp.ClientSession) -> None:
    """An attempt that was cancelled was an attempt."""
    async with loopback(lambda _head, _writer: hang()) as server:
        client = client_of(session, server.url)
        task = asyncio.create_task(client.attempt(LIST))
        await server.asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert heard(client).requests == [("/v1/things", "error")]


async def test_the_timestamp_is_of_the_moment_of_sending(session: aiohttp.ClientSession) -> None:
    """It is in milliseconds of the injected clock, and the URL is the one that is sent."""
    async with loopback(always(answer({}))) as server:
        clock = SteppedClock(now=NOW + 0.5)
        await client_of(session, server.url + "/base", clock=clock).attempt(LIST)
        signed = server.heads[0].headers["x-signed"]
    assert signed == f"GET {server.url}/base/v1/things?page=0 {int(NOW * 1000) + 500}"


async def test_a_port_that_goes_without_saying_is_neither_signed_nor_sent(
    session: aiohttp.ClientSession,
) -> None:
    """What is signed is what is sent, also where the endpoint names the scheme's own port."""
    async with loopback(always(answer({}))) as proxy:
        client = client_of(session, "http://cloud.test:80/base")
        client.proxy = lambda _: URL(proxy.url)
        await client.attempt(LIST)
        (head,) = proxy.heads
    assert head.target == "http://cloud.test/base/v1/things?page=0"
    assert head.headers["host"] == "cloud.test"
    assert head.headers["x-signed"].split()[1] == head.target


async def test_credentials_that_cannot_be_read_are_refused_ones(
    session: aiohttp.ClientSession,
) -> None:
    """Where there is no key to sign with, nothing is sent, and the failure says so."""
    fault = SecretUnavailable("access_key: the file is empty")
    async with loopback(always(answer({}))) as server:
        client = client_of(session, server.url, Plain(fault=fault))
        with pytest.raises(AuthFailed, match="access_key: the file is empty"):
            await client.attempt(LIST)
        assert not server.heads
        assert await client.attempt(request("/", signed=False)) == b"{}"
