"""The status page and its files, as they are answered."""

import re
from collections.abc import AsyncIterator
from importlib.resources import files
from urllib.parse import urljoin

import aiohttp
import pytest
from multidict import CIMultiDict

from exporter import __version__
from exporter.app import Application
from exporter.web import status
from exporter.web.listening import listen
from exporter.web.server import Options, Server

_LINK = re.compile(r'(?:href|src)="([^"]*)"')
_IMPORT = re.compile(r'from "\./([\w.]+)"')
_RISKY = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe"
)
STATIC = files("exporter.web") / "static"
MODULES = sorted(each.name for each in STATIC.iterdir() if each.name.endswith(".js"))


class Client:
    """A client of one server."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self._session = session

    async def ask(self, path: str = "/", method: str = "GET") -> tuple[int, CIMultiDict[str], str]:
        """Return status, headers and text."""
        async with self._session.request(method, urljoin(self.url, path)) as response:
            return response.status, response.headers.copy(), await response.text()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """Give a client of an exporter without a configuration."""
    options = Options(["127.0.0.1:0"], telemetry_path="/odd/metrics")
    async with Application() as app, aiohttp.ClientSession() as session:
        runner = await listen(Server(app, options).web_application(), options.addresses)
        yield Client(f"http://127.0.0.1:{runner.addresses[0][1]}/", session)
        await runner.cleanup()


async def test_the_page_says_what_runs_here(client: Client) -> None:
    """Its version, and where Prometheus finds the metrics."""
    code, headers, text = await client.ask()
    assert code == 200
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert f"Version {__version__}" in text
    assert 'href="./odd/metrics"' in text


async def test_the_page_allows_nothing_but_its_own_files(client: Client) -> None:
    """A policy without exceptions, kept by a page in which nothing stands inline."""
    _, headers, text = await client.ask()
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=)|javascript:", text)


async def test_every_address_of_the_page_is_relative_and_answers(client: Client) -> None:
    """So it works below another path; and no link leads nowhere."""
    _, _, text = await client.ask()
    links = [link for link in _LINK.findall(text) if not link.startswith("#")]
    assert len(links) > 15
    assert [link for link in links if not link.startswith("./")] == []
    for link in links:
        code, _, _ = await client.ask(link)
        assert code in {200, 503}, link  # 503: nothing was polled yet


async def test_files_are_kept_for_good_under_the_name_of_their_content(client: Client) -> None:
    """A browser asks once, until a release changes a file: then its name is another."""
    _, _, text = await client.ask()
    [script] = re.findall(r'src="([^"]*)"', text)
    code, headers, body = await client.ask(script)
    assert (code, headers["Content-Type"]) == (200, "text/javascript; charset=utf-8")
    assert headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert body == (STATIC / "main.js").read_text(encoding="utf-8")


async def test_a_file_of_another_release_is_not_kept(client: Client) -> None:
    """Two replicas of different releases serve each other's pages, but nobody keeps that."""
    code, headers, _ = await client.ask("/static/0123456789abcdef/main.js")
    assert (code, headers["Cache-Control"]) == (200, "no-store")


async def test_the_page_itself_is_asked_for_each_time(client: Client) -> None:
    """It names the files, and must not name those of a release that is gone."""
    _, headers, _ = await client.ask()
    assert headers["Cache-Control"] == "no-cache"


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "other.js",
        "..%2Fstatus.py",
        "%2e%2e%2fstatus.py",
        "",
        "main.js/x",
        "main.js%00",
    ],
)
async def test_nothing_else_is_served(client: Client, name: str) -> None:
    """Neither the page's template, nor what stands beside the folder."""
    code, _, text = await client.ask(f"/static/0123456789abcdef/{name}")
    assert (code, "import" in text) == (404, False)


async def test_only_the_head_may_be_asked_for(client: Client) -> None:
    """HEAD is answered as GET, without a body; other methods are refused."""
    code, headers, text = await client.ask("/", "HEAD")
    assert (code, text) == (200, "")
    assert "Content-Security-Policy" in headers
    assert (await client.ask("/", "POST"))[0] == 405


def test_the_name_follows_from_every_file() -> None:
    """Another name or another content of any file is another name of all."""
    names = {
        status._digest({"a.js": b"1", "b.js": b"2"}),
        status._digest({"a.js": b"12", "b.js": b""}),
        status._digest({"a.js": b"2", "b.js": b"1"}),
        status._digest({"a.js": b"1", "c.js": b"2"}),
    }
    assert len(names) == 4


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_there_and_writes_text_only(name: str) -> None:
    """No way leads from a text to HTML or to code, and no import leads nowhere."""
    text = (STATIC / name).read_text(encoding="utf-8")
    assert _RISKY.findall(text) == []
    assert set(_IMPORT.findall(text)) <= set(MODULES)


def test_an_odd_telemetry_path_stays_below_the_page() -> None:
    """A path that begins with two slashes names no other host."""
    assert 'href=".//elsewhere/metrics"' in status._page("0", "//elsewhere/metrics")
