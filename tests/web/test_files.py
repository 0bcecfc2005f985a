"""The bundled dashboards and rule files, over real sockets."""

import gzip
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import pytest

from exporter import bundle
from exporter.app import Application
from tests.web.serving import Served, serving


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Give a bundle of a dashboard, a rule file and a configuration."""
    contents = {
        "dashboards/gpu-fleet.json": '{"title": "Fleet <&> all"}',
        "dashboards/odd name.json": "{}",
        "alerts/scp.yml": "groups: []\n",
        "prometheus.yml": "scrape",
    }
    paths = {name: tmp_path / name for name in contents}
    for name, path in paths.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(contents[name])
    (tmp_path / "alerts" / "secret.yml").write_text("not bundled")
    monkeypatch.setattr(bundle, "files", lambda: paths)
    return paths


@pytest.fixture
async def served(files: dict[str, Path]) -> AsyncIterator[Served]:
    """Give a server with these files."""
    assert files
    async with Application(environ={}) as app, serving(app) as made:
        yield made


class Links(HTMLParser):
    """Finds the links of a page, and what is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link, and that a tag is open."""
        if tag == "a":
            self.found += [value or "" for name, value in attrs if name == "href"]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note that the last tag is closed."""
        assert self.open.pop() == tag


@pytest.mark.parametrize(
    ("folder", "names"),
    [("dashboards", {"gpu-fleet.json", "odd%20name.json"}), ("alerts", {"scp.yml"})],
)
async def test_an_index_links_every_file(served: Served, folder: str, names: set[str]) -> None:
    """By addresses that are relative, so that they hold below another path of a proxy."""
    answer = await served.ask(f"/{folder}/")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    page = Links()
    page.feed(answer.text)
    assert page.open == []
    assert set(page.found) == {"../", *names}
    for link in names:
        assert (await served.ask(urljoin(f"/{folder}/", link))).status == 200


async def test_a_dashboards_title_stands_beside_it(served: Served) -> None:
    """As text; a dashboard without one has its name."""
    text = (await served.ask("/dashboards/")).text
    assert "gpu-fleet.json</a>: Fleet &lt;&amp;&gt; all</li>" in text
    assert "odd name.json</a></li>" in text


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/dashboards/gpu-fleet.json", "application/json", b'{"title": "Fleet <&> all"}'),
        ("/alerts/scp.yml", "application/yaml", b"groups: []\n"),
    ],
)
async def test_a_file_is_served_as_it_is(served: Served, path: str, kind: str, body: bytes) -> None:
    """Under its own type."""
    answer = await served.ask(path)
    assert (answer.status, answer.headers["Content-Type"], answer.body) == (200, kind, body)


@pytest.mark.parametrize("folder", ["dashboards", "alerts"])
async def test_the_slash_may_be_left_out(served: Served, folder: str) -> None:
    """The index is found all the same, also below another path of a proxy."""
    answer = await served.ask(f"/{folder}", allow_redirects=False)
    assert (answer.status, answer.headers["Location"]) == (301, f"{folder}/")
    assert (await served.ask(f"/{folder}")).status == 200


@pytest.mark.parametrize(
    "name",
    [
        "nothing.json",
        "secret.yml",
        "prometheus.yml",
        "%2e%2e%2fprometheus.yml",
        "..%2Fprometheus.yml",
        "../prometheus.yml",
        "%2e%2e/alerts/secret.yml",
        "..%5cprometheus.yml",
        "%2fetc%2fpasswd",
        "scp.yml%00",
        "scp.yml/",
        "dashboards%2Fgpu-fleet.json",
        "gpu-fleet.json",
        "%ff%fe",
    ],
)
async def test_nothing_else_is_served(served: Served, name: str) -> None:
    """Whatever path is asked for, in whatever spelling."""
    request = f"GET /alerts/{name} HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n"
    answer = await served.raw(request.encode())
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"not bundled" not in answer
    assert b"scrape" not in answer


async def test_a_file_is_compressed_where_that_is_accepted(
    served: Served, files: dict[str, Path]
) -> None:
    """Dashboards are long."""
    body = b'{"title": "%b"}' % (b"long " * 1000)
    files["dashboards/gpu-fleet.json"].write_bytes(body)
    request = b"GET /dashboards/gpu-fleet.json HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n"
    head, _, packed = (await served.raw(request)).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert gzip.decompress(packed) == body


async def test_a_file_that_is_gone_is_not_found(served: Served, files: dict[str, Path]) -> None:
    """A package that was replaced while the daemon runs is no error of the server's."""
    files["dashboards/gpu-fleet.json"].unlink()
    assert (await served.ask("/dashboards/gpu-fleet.json")).status == 404
    text = (await served.ask("/dashboards/")).text
    assert "gpu-fleet" not in text
    assert "odd name.json" in text


async def test_without_a_bundle_there_is_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon runs without the files too, and says that they are missing."""
    monkeypatch.setattr(bundle, "files", dict)
    async with Application(environ={}) as app, serving(app) as served:
        assert "None came with this installation." in (await served.ask("/alerts/")).text
