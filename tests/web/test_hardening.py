"""What the web server does with clients that mean no good, or do no good."""

import asyncio
import base64
import io
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from aiohttp.web import PlainResource
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from exporter.app import Application
from exporter.clouds.http import MAX_BODY_BYTES
from exporter.poller import Poller
from exporter.simulator.server import Simulator
from exporter.web import connections, listening, passwords, sending, web_config
from exporter.web.server import Options
from tests.clocks import FakeClock
from tests.simulated import config_text, first_polls, read_config, until, write
from tests.web.serving import USERS, Served, serving

HEALTHY = b"GET /-/healthy HTTP/1.1\r\nHost: exporter\r\n\r\n"
SECRET_OF_THE_SYSTEM = b"root:x:0:"
INTERVAL = 30.0


@pytest.fixture
async def polled(app: Application, simulator: Simulator, tmp_path: Path) -> Application:
    """Give an application that has polled all its targets."""
    text = config_text(simulator.url)
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    await first_polls(app)
    return app


@pytest.fixture
async def served(app: Application) -> AsyncIterator[Served]:
    """Give a server that anybody may use, whose reload fails."""

    async def reload() -> str:
        return "scp: missing"

    async with serving(app, reload=reload) as served:
        yield served


# Methods

METHODS_OF_HTTP = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}


async def test_only_reading_is_answered(served: Served) -> None:
    """Whatever else is asked for is told what is allowed; but for POST on the reload."""
    for route in served.runner.app.router.routes():
        assert route.resource is not None
        path = route.resource.canonical
        allowed = {"POST"} if path == "/-/reload" else {"GET", "HEAD"}
        assert route.method in allowed, path
        for method in (
            METHODS_OF_HTTP - allowed if isinstance(route.resource, PlainResource) else ()
        ):
            answer = await served.ask(path, method)
            assert answer.status == 405, (method, path)
            assert set(answer.headers["Allow"].split(",")) == allowed


async def test_trace_gives_nothing_back(served: Served) -> None:
    """No header of a request is repeated to whoever sent it."""
    answer = await served.ask("/metrics", "TRACE", headers={"X-Made-Up": "made-up-secret"})
    assert "made-up-secret" not in answer.text


# A reload is no business of a page


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:10110"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "same-origin"},
    ],
)
async def test_no_page_may_order_a_reload(served: Served, headers: dict[str, str]) -> None:
    """Not of another site, nor under this one's name: the name may have been made to point here."""
    answer = await served.ask("/-/reload", "POST", headers=headers)
    assert (answer.status, answer.text) == (403, "a page in a browser may not order a reload")


async def test_a_program_may(served: Served) -> None:
    """As curl and the sidecars that watch a file do it."""
    for headers in ({}, {"Sec-Fetch-Site": "none"}):
        answer = await served.ask("/-/reload", "POST", headers=headers)
        assert (answer.status, answer.text) == (500, "scp: missing")


# Requests that are none

MALFORMED = {
    "garbage": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "no-target": b"GET\r\n\r\n",
    "version": b"GET / HTTP/9.9\r\n\r\n",
    "no-colon": b"GET / HTTP/1.1\r\nHost exporter\r\n\r\n",
    "nul": b"GET / HTTP/1.1\r\nHost: exp\0rter\r\n\r\n",
    "space-before-colon": b"GET / HTTP/1.1\r\nHost : exporter\r\n\r\n",
    "long-line": b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\n\r\n",
    "long-header": b"GET / HTTP/1.1\r\nHost: " + b"x" * 10_000 + b"\r\n\r\n",
    "many-headers": b"GET / HTTP/1.1\r\n" + b"X-Made-Up: 1\r\n" * 500 + b"\r\n",
    "negative-length": b"POST /-/reload HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "two-lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "length-and-chunks": (
        b"POST / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "second-of-two": HEALTHY + b"BROKEN\r\n\r\n",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
async def test_what_is_no_request_gets_one_line(
    served: Served, sent: bytes, log: io.StringIO, caplog: pytest.LogCaptureFixture
) -> None:
    """With 400 and the end of the connection; neither answer nor log repeats or explains it."""
    answer = await served.raw(sent)
    head, _, body = answer.rpartition(b"\r\n\r\n")
    assert b"HTTP/1.1 400 Bad Request\r\n" in head or b"HTTP/1.0 400 Bad Request\r\n" in head
    assert body == b"bad request\n"
    assert log.getvalue() == ""
    assert [record for record in caplog.records if record.levelname != "DEBUG"] == []
    assert (await served.ask()).status == 200


@pytest.mark.parametrize(
    "sent", [HEALTHY, *MALFORMED.values(), HEALTHY.replace(b"\r\n\r\n", b"\r\nExpect: tea\r\n\r\n")]
)
async def test_no_answer_names_the_software(served: Served, sent: bytes) -> None:
    """Neither Python's version nor aiohttp's."""
    answer = await served.raw(
        sent.replace(b"Host: exporter\r\n", b"Host: exporter\r\nConnection: close\r\n")
    )
    assert answer
    assert not re.search(rb"python|aiohttp", answer, re.IGNORECASE)


@pytest.mark.parametrize("expected", [b"100-continue", b"tea", b"\xa0", b""])
async def test_nobody_is_told_to_go_on(served: Served, expected: bytes) -> None:
    """A body is never asked for: the answer comes at once, whatever a client expects."""
    sent = HEALTHY.replace(b"\r\n\r\n", b"\r\nConnection: close\r\nExpect: %s\r\n\r\n")
    assert (await served.raw(sent % expected)).startswith(b"HTTP/1.1 200 ")


async def test_a_defect_is_told_to_the_log_alone(
    served: Served, app: Application, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    """The answer says that there is one, and neither where nor in which software."""

    def fail(*_: object) -> None:
        raise RuntimeError("made-up defect")

    monkeypatch.setattr(type(app), "page", fail)
    answer = await served.raw(HEALTHY.replace(b"/-/healthy", b"/metrics"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert not re.search(rb"made-up|python|aiohttp|Traceback", answer, re.IGNORECASE)
    assert "made-up defect" in log.getvalue()


# Clients that take their time


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server hang up soon."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.05)
    monkeypatch.setattr(connections, "LINGERING_SECONDS", 0.05)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("sent", [b"", b"GET /metrics HT", b"GET / HTTP/1.1\r\nHost: exporter\r\n"])
async def test_a_header_that_never_ends_is_cut_off(served: Served, sent: bytes) -> None:
    """Also one of which nothing has come yet."""
    assert await served.raw(sent) == b""


@pytest.mark.usefixtures("hasty")
async def test_a_drop_now_and_then_buys_no_time(served: Served) -> None:
    """The time is that of the whole header, of the second request on a connection too."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(HEALTHY)
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.write(b"GET / HTTP/1.1\r\n")
    rest = asyncio.ensure_future(reader.read())
    while not rest.done():
        writer.write(b"X-Made-Up: 1\r\n")
        await asyncio.wait({rest}, timeout=0.01)
    assert isinstance(rest.exception(), ConnectionError) or rest.result() == b"healthy\n"
    writer.close()


async def test_a_connection_without_requests_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the time that a scraper may need to come back."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)
    answer = await served.raw(HEALTHY)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"healthy\n")


async def test_a_slow_answer_is_not_cut_off_with_the_header(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once a request is there, its handler may take longer."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.02)

    async def reload() -> str:
        await asyncio.sleep(0.2)
        return ""

    async with serving(app, reload=reload) as served:
        assert (await served.ask("/-/reload", "POST")).text == "reloaded"


@pytest.mark.usefixtures("hasty")
async def test_a_body_is_not_waited_for(served: Served) -> None:
    """However long it says it is: nothing here reads one."""
    head = b"POST /-/reload HTTP/1.1\r\nHost: exporter\r\nContent-Length: %d\r\n\r\n"
    for length in (100, 10**12):
        answer = await served.raw(head % length + b"x" * 50)
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert answer.endswith(b"scp: missing\n")


@pytest.mark.usefixtures("hasty")
async def test_a_packed_body_is_not_unpacked(served: Served) -> None:
    """A few bytes could stand for many, and broken ones are no matter."""
    head = b"POST /-/reload HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n"
    sent = head + b"Content-Encoding: deflate\r\nContent-Length: 9\r\n\r\nno packed"
    assert (await served.raw(sent)).startswith(b"HTTP/1.1 500 ")


async def test_too_many_connections_cost_the_oldest_that_waits(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for something gets it, however many only hold the line."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    async with serving(app) as served:
        silent = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(5)]
        server = served.runner.server
        assert server is not None
        await until(lambda: len(server.connections) == 5)
        assert (await served.ask("/metrics")).status == 200
        assert await silent[0][0].read() == b""
        await until(lambda: len(server.connections) == 5)
        assert not silent[1][0].at_eof()
        for _, writer in silent:
            writer.close()


async def test_closed_connections_leave_nothing(served: Served) -> None:
    """Neither a timer nor a place in the queue."""
    for _ in range(20):
        await served.raw(HEALTHY.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.close()
    server = served.runner.server
    assert server is not None
    await until(lambda: not server.connections)
    [site] = served.runner.sites
    await until(lambda: not site._connections.waiting)  # type: ignore[attr-defined]


# Pages


async def test_pages_may_do_next_to_nothing(served: Served) -> None:
    """They run no script of others or of their own text, load nothing, and stand in no frame."""
    headers = (await served.ask("/")).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Frame-Options"].lower() == "deny"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] in {"no-referrer", "same-origin"}


async def test_nothing_is_taken_for_what_it_is_not(served: Served) -> None:
    """Every answer forbids guessing, also one that something is not there."""
    for path in ("/metrics", "/-/healthy", "/nothing"):
        assert (await served.ask(path)).headers["X-Content-Type-Options"] == "nosniff"


TRAVERSALS = [
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..%252f..%252fetc%252fpasswd",
    "..\\..\\etc\\passwd",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "....//....//etc/passwd",
    "fleet.json%00.yml",
    "../server.py",
    "..%2fserver.py",
    "..%2f..%2fpyproject.toml",
]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("beneath", ["/", "/dashboards/", "/alerts/", "/static/", "/api/v1/"])
async def test_no_path_leads_out(served: Served, beneath: str) -> None:
    """Neither plain nor encoded, once or twice: there is no such thing."""
    for path in TRAVERSALS:
        target = (beneath + path).encode()
        head = b"GET %s HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n"
        answer = await served.raw(head % target)
        assert re.match(rb"HTTP/1\.. (400|404) ", answer), (path, answer[:100])
        assert SECRET_OF_THE_SYSTEM not in answer


# What docs/security.md says

DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"
LIMITS = {
    "a TLS handshake": f"{listening.HANDSHAKE_SECONDS:g} s",
    "a request's header,": f"{connections.HEADER_SECONDS:g} s",
    "a connection without requests": f"{connections.IDLE_SECONDS:g} s",
    "what is left of a request's body,": f"{connections.LINGERING_SECONDS:g} s",
    "a response that its reader does not take": f"{sending.READ_TIMEOUT_SECONDS:g} s",
    "connections at once": str(connections.MAX_CONNECTIONS),
    "scrapes at once": str(Options([]).max_requests),
    "passwords that wait": str(passwords.MAX_WAITING),
    "a body that a cloud sends": f"{MAX_BODY_BYTES // 2**20} MiB",
    "a web configuration file,": f"{web_config.MAX_FILE_BYTES // 2**20} MiB",
}


@pytest.mark.parametrize(("what", "limit"), LIMITS.items())
def test_the_limits_are_those_of_the_document(what: str, limit: str) -> None:
    """Each as the code has it."""
    [row] = [line for line in DOCUMENT.read_text().splitlines() if line.startswith(f"| {what}")]
    assert row.endswith(f" | {limit} |")


async def test_nothing_is_sent_but_what_the_document_lists(
    polled: Application, simulator: Simulator
) -> None:
    """Only GET, and only to the calls that it asks permissions for."""
    listed = re.findall(r"^\| (?:SCP|NSML) \| `(/[^`]*)`", DOCUMENT.read_text(), re.MULTILINE)
    templates = {re.sub(r"Id}", "_id}", path).replace("runName", "run_name") for path in listed}
    assert polled.ready
    assert {request.method for request in simulator.requests} == {"GET"}
    asked = {request.template or request.path for request in simulator.requests}
    assert asked <= templates
    assert templates - asked == {"/projects/{project_id}/runs/{run_name}"}  # of runs by name


# Requests by chance

PATHS = (
    *("/", "/metrics", "/-/healthy", "/-/ready", "/-/reload", "/config", "/nothing"),
    *("/api/v1/targets", "/api/v1/nodes", "/api/v1/fabrics", "/api/v1/runs"),
    *("/sd/gpu-nodes", "/sd/run-nodes", "/dashboards/", "/dashboards/fleet.json"),
    *("/alerts/", "/alerts/scp.yml", "/static/", "/static/status.js"),
)
METHODS = ("GET", "GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")
NAMES = (
    *("Accept", "Accept-Encoding", "Authorization", "Cookie", "Content-Type", "Expect", "Origin"),
    *("Content-Encoding", "If-None-Match", "If-Modified-Since", "Range", "Upgrade", "X-Made-Up"),
    *("Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-Fetch-Site", "X-HTTP-Method-Override"),
)
VALUES = (
    *("", "*/*", "gzip", "gzip;q=0", "text/html", "application/json", "websocket", '"', "W/*"),
    *("100-continue", "bytes=0-", "13", "-1", "99999999999999999999", "Basic YTpi", "Basic ===="),
    "application/openmetrics-text;version=1.0.0;q=",
)
PARAMETERS = ("port", "account", "environment", "region", "state", "address", "cluster_fabric_name")
PARAMETER_VALUES = ("", "9400", "tcp0", "-1", "99999", "prod", "e", "kr-west1", "policy_ip", "\0")
BREAKING = st.sampled_from(
    ["\0", " ", "\r", "\n", "\t", ":", "Content-Length: 7\r\n", "\x80", "한"]
)

printable = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=["Cc"])
)
anything = st.text(st.characters(codec="utf-8"), max_size=8)
queries = st.lists(
    st.tuples(st.sampled_from(PARAMETERS) | anything, st.sampled_from(PARAMETER_VALUES) | anything),
    max_size=4,
).map(urlencode)
targets = st.tuples(
    st.sampled_from(PATHS) | st.tuples(st.sampled_from(PATHS), anything.map(quote)).map("".join),
    st.just("")
    | queries.map("?".__add__)
    | queries.map(lambda text: "?" + text.replace("%", "%2")),
).map("".join)
headers = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES) | printable), max_size=4
)


def _request(method: str, target: str, lines: list[tuple[str, str]], body: bytes) -> bytes:
    """Write a request as a client does that knows HTTP."""
    more = [f"{name}: {value}" for name, value in lines]
    length = [f"Content-Length: {len(body)}"] if body else []
    head = [f"{method} {target} HTTP/1.1", "Host: exporter", "Connection: close", *length, *more]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def _broken(sent: bytes, where: int, breaking: str, cut: int | None) -> bytes:
    """Put something into a request that does not belong there, or break it off."""
    where %= len(sent)
    return (sent[:where] + breaking.encode() + sent[where:])[:cut]


requests = st.builds(_request, st.sampled_from(METHODS), targets, headers, st.binary(max_size=40))
broken = st.builds(
    _broken, requests, st.integers(0, 300), BREAKING, st.none() | st.integers(1, 120)
)
by_chance = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
answered: Counter[bytes] = Counter()


def check_answers(sent: bytes, received: bytes) -> None:
    """Hold that no answer is an error of the server, but for those that the contract has."""
    for status in re.findall(rb"^HTTP/\d\.\d (\d{3}) ", received, re.MULTILINE):
        expected = {b"503"} | ({b"500"} if sent.startswith(b"POST /-/reload") else set())
        assert status < b"500" or status in expected, (sent, received[:200])
        answered[b"none" if received.endswith(b"\r\n\r\nbad request\n") else status] += 1
    assert b"Traceback" not in received


@pytest.fixture
async def undisturbed(
    polled: Application,
    clock: FakeClock,
    simulator: Simulator,
    served: Served,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Served]:
    """Give a server, and hold at the end that polls went on as if nobody had asked for anything."""
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.1)  # what is broken may ask to be kept
    names = sorted(task.get_name() for task in asyncio.all_tasks() if "/" in task.get_name())
    simulator.requests.clear()
    answered.clear()
    yield served
    assert answered[b"none"] < answered.total() / 2, "most never came to a page"
    assert min(answered[status] for status in (b"200", b"404", b"405")) > 0
    assert not simulator.requests
    assert names == sorted(t.get_name() for t in asyncio.all_tasks() if "/" in t.get_name())
    due = [poller for poller in polled.pollers if poller.collector.pace.interval == INTERVAL]
    before = [polls_of(polled, poller) for poller in due]
    await clock.advance(INTERVAL)
    await until(lambda: [polls_of(polled, poller) for poller in due] != before)
    await until(lambda: [polls_of(polled, each) for each in due] == [n + 1 for n in before])
    assert all(poller.snapshot.health.up for poller in due)


def polls_of(app: Application, poller: Poller) -> float:
    """Return how often a target was polled."""
    name = "gpu_cluster_exporter_polls_total"
    found = app.telemetry.registry.get_sample_value(name, poller.collector.target.labels)
    assert found is not None
    return found


@pytest.mark.usefixtures("hasty")
@settings(by_chance, max_examples=150)
@given(sent=requests | requests | requests | broken)
@example(sent=b"GET * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
@example(sent=b"GET http://exporter/metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
@example(sent=b"CONNECT exporter:443 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
@example(sent=b"GET //metrics?%zz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
@example(sent=b"GET http://[::1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
@example(sent=b"GET http://a:99999/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
async def test_no_request_is_an_error_of_the_server(
    sent: bytes, undisturbed: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever method, target, headers and body it has, and wherever it breaks off."""
    check_answers(sent, await undisturbed.raw(sent))
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.scale
@pytest.mark.usefixtures("hasty")
@settings(by_chance, max_examples=2000)
@given(sent=requests | requests | requests | broken)
async def test_no_request_of_thousands_is(
    sent: bytes, undisturbed: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """The same, for as long as it takes."""
    check_answers(sent, await undisturbed.raw(sent))
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.fixture
async def guarded(app: Application, tmp_path: Path) -> AsyncIterator[Served]:
    """Give a server with one user."""
    write(tmp_path / "web.yml", USERS)
    async with serving(app, tmp_path / "web.yml") as served:
        yield served


logins = st.binary(max_size=30) | st.binary(max_size=30).map(
    lambda login: b"Basic " + base64.b64encode(login)
)


@settings(by_chance, max_examples=100)
@given(header=logins, target=st.sampled_from(PATHS))
async def test_no_header_gets_past_the_password(
    header: bytes, target: str, guarded: Served
) -> None:
    """Unless it is no HTTP at all."""
    head = b"GET %s HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\nAuthorization: %s\r\n\r\n"
    answer = await guarded.raw(head % (target.encode(), header.translate(None, b"\r\n")))
    assert re.match(rb"HTTP/1.. 40[01] ", answer), answer[:100]
