"""Requests by chance: whatever is sent, the web server makes no error, and polls go on."""

import asyncio
import base64
import re
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from exporter.app import Application
from exporter.poller import Poller
from exporter.simulator.server import Simulator
from exporter.web import connections
from tests.clocks import FakeClock
from tests.simulated import until, write
from tests.web.serving import USERS, Served, serving

INTERVAL = 30.0
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
