"""What the web server does with requests that mean no good, and what its answers forbid."""

import io
import re
from pathlib import Path

import pytest
from aiohttp.web import PlainResource

from exporter.app import Application
from exporter.simulator.server import Simulator
from tests.web.serving import HEALTHY, Served

SECRET_OF_THE_SYSTEM = b"root:x:0:"
DOCUMENT = Path(__file__).parents[2] / "docs" / "security.md"

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
