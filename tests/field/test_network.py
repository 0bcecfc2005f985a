"""The way to the clouds: proxies, certificates, redirects; and what never travels along."""

import base64
import io
from pathlib import Path

import pytest

from exporter.simulator.faults import Status
from tests.clouds.loopback import always, answer, loopback
from tests.field.proxy import proxy
from tests.field.rig import NODES, Field
from tests.field.tls import make_certificates, serve_tls
from tests.simulated import config_text, write

USER, PASSWORD = "scraper", "made-up:p@ssword/1"
LOGIN = "scraper:made-up%3Ap%40ssword%2F1"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
NETRC = "made-up-netrc-password"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Give the environment, in which nothing is said of proxies, and `~/.netrc` of loopback."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NETRC"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    write(tmp_path / ".netrc", f"machine 127.0.0.1 login somebody password {NETRC}\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def text_of(url: str, *options: str, nsml: bool = True) -> str:
    """Write a configuration for clouds at an address, with options of the HTTP client."""
    return f"http_client: {{{', '.join(options)}}}\n" + config_text(
        url, regions=["kr-west1"], nsml=nsml
    )


PROXIED = "proxy_from_environment: true"


async def test_a_proxy_of_the_environment_is_not_used_unasked(
    field: Field, environment: pytest.MonkeyPatch
) -> None:
    """The clouds are asked directly as long as the configuration does not say otherwise."""
    async with proxy() as between:
        environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{between.port}")
        await field.start(nsml=True)
        assert await field.outcome() == (1.0, "")
        assert between.heads == []


@pytest.mark.parametrize("scheme", ["http://", ""])
async def test_plain_requests_go_through_the_proxy_by_their_whole_url(
    field: Field, environment: pytest.MonkeyPatch, scheme: str
) -> None:
    """Signed as they are sent: both clouds accept what comes through."""
    async with proxy() as between:
        environment.setenv("HTTP_PROXY", f"{scheme}127.0.0.1:{between.port}")
        await field.start(text_of(field.simulator.url, PROXIED))
        assert await field.outcome() == (1.0, "")
        assert await field.outcome(collector="runs") == (1.0, "")
        assert len(between.lines) == len(field.simulator.requests)
        assert all(line.startswith(f"GET {field.simulator.url}/") for line in between.lines)


@pytest.mark.parametrize("exempt", ["127.0.0.1", "*", "elsewhere.test,127.0.0.1", "HOST:PORT"])
async def test_exempt_hosts_are_asked_directly(
    field: Field, environment: pytest.MonkeyPatch, exempt: str
) -> None:
    """NO_PROXY names hosts, with or without a port."""
    port = field.simulator.url.rpartition(":")[2]
    async with proxy() as between:
        environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{between.port}")
        environment.setenv("NO_PROXY", exempt.replace("HOST:PORT", f"127.0.0.1:{port}"))
        await field.start(text_of(field.simulator.url, PROXIED))
        assert await field.outcome() == (1.0, "")
        assert between.heads == []


@pytest.mark.parametrize("exempt", ["elsewhere.test", "127.0.0.1:1", "7.0.0.1"])
async def test_other_exemptions_exempt_nothing(
    field: Field, environment: pytest.MonkeyPatch, exempt: str
) -> None:
    """A host that is not named goes through the proxy."""
    async with proxy() as between:
        environment.setenv("HTTP_PROXY", f"http://127.0.0.1:{between.port}")
        environment.setenv("NO_PROXY", exempt)
        await field.start(text_of(field.simulator.url, PROXIED))
        assert await field.outcome() == (1.0, "")
        assert between.heads


@pytest.fixture
def certificates(tool: str, tmp_path: Path) -> tuple[Path, Path]:
    """Give the file of a new authority, and one with a certificate of it and its key."""
    return make_certificates(tool, tmp_path)


@pytest.mark.tool("openssl")
@pytest.mark.parametrize("login", ["", LOGIN + "@"])
async def test_requests_with_tls_go_through_a_tunnel(
    field: Field,
    environment: pytest.MonkeyPatch,
    certificates: tuple[Path, Path],
    login: str,
    log: io.StringIO,
) -> None:
    """The proxy is told host and port alone; its own password goes to it, and nowhere else."""
    authority, certificate = certificates
    url = await serve_tls(field.simulator, certificate)
    async with proxy(BASIC if login else "") as between:
        environment.setenv("HTTPS_PROXY", f"http://{login}127.0.0.1:{between.port}")
        await field.start(text_of(url, PROXIED, f"ca_file: {authority}"))
        await field.next_poll()
        assert await field.outcome() == (1.0, "")
        assert await field.outcome(collector="runs") == (1.0, "")
        told = {line.split(" ")[0] for line in between.lines}
        assert told == {"CONNECT"}
        port = url.rpartition(":")[2]
        assert all(line.split(" ")[1] == f"127.0.0.1:{port}" for line in between.lines)
        assert not any("Scp-" in head or "x-ncp" in head for head in between.heads)
    assert PASSWORD not in log.getvalue()


async def test_the_password_of_a_proxy_is_sent_with_plain_requests_too(
    field: Field, environment: pytest.MonkeyPatch
) -> None:
    """In the header that is the proxy's own."""
    async with proxy(BASIC) as between:
        environment.setenv("HTTP_PROXY", f"http://{LOGIN}@127.0.0.1:{between.port}")
        await field.start(text_of(field.simulator.url, PROXIED))
        assert await field.outcome() == (1.0, "")
        assert all(f"Proxy-Authorization: {BASIC}\r\n" in head for head in between.heads)


@pytest.mark.parametrize(
    "address",
    [
        f"http://{LOGIN}@127.0.0.1:1",
        f"http://somebody:{PASSWORD}@127.0.0.1:port",
        f"socks5://{LOGIN}@127.0.0.1:1",
        f"http://somebody:{PASSWORD}@127.0.0.1:1",
        f"http://[{PASSWORD}",
    ],
)
async def test_a_proxy_that_cannot_be_used_is_a_failed_connection(
    field: Field, environment: pytest.MonkeyPatch, address: str, log: io.StringIO
) -> None:
    """Nothing goes past it to the cloud, and no text shows its password."""
    environment.setenv("HTTP_PROXY", address)
    await field.start(text_of(field.simulator.url, PROXIED))
    assert await field.outcome() == (0.0, "connection")
    assert list(field.simulator.requests) == []
    message = field.poller().snapshot.health.error_message
    for text in (message, log.getvalue(), (await field.page()).decode()):
        assert "p@ssword" not in text
        assert "p%40ssword" not in text
    assert "Traceback" not in log.getvalue()


@pytest.mark.parametrize("options", [[], [PROXIED]])
async def test_what_netrc_says_of_a_host_is_never_sent(
    field: Field, options: list[str], log: io.StringIO
) -> None:
    """A cloud gets its own signature and no other credentials, whatever is in the home."""
    async with loopback(always(answer({"count": 0, "gpu_nodes": []}))) as cloud:
        await field.start(text_of(cloud.url, *options))
        assert await field.outcome() == (1.0, "")
        assert cloud.heads
        assert not any("authorization" in head.headers for head in cloud.heads)
        sent = [text for head in cloud.heads for text in head.headers.values()]
        assert not any(NETRC in text for text in sent)
    assert NETRC not in log.getvalue()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(field: Field, status: int) -> None:
    """The other host is never asked, so it never sees a signature: a `bad_response`."""
    async with loopback(always(answer({"count": 0, "gpu_nodes": []}))) as elsewhere:
        await field.start(nsml=True)
        before = await field.objects()
        headers = {"Location": f"{elsewhere.url}/v1/gpu-nodes"}
        field.simulator.faults.add(Status(status=status, headers=headers))
        await field.next_poll()
        await field.next_poll(collector="runs")
        assert await field.outcome() == (0.0, "bad_response")
        assert await field.outcome(collector="runs") == (0.0, "bad_response")
        assert elsewhere.connections == 0
        assert await field.objects() == before


@pytest.mark.tool("openssl")
async def test_a_private_authority_is_trusted_where_its_file_is_named(
    field: Field, certificates: tuple[Path, Path]
) -> None:
    """Without `ca_file` nothing is sent, and the reason is `tls`; with it all is well."""
    authority, certificate = certificates
    url = await serve_tls(field.simulator, certificate)
    await field.start(text_of(url))
    assert await field.outcome() == (0.0, "tls")
    assert await field.own("poll_failures_total", reason="tls", **NODES) == 1.0
    assert list(field.simulator.requests) == []
    field.configure(text_of(url, f"ca_file: {authority}"))
    assert await field.reloader.reload() == ""
    await field.quiet()
    assert await field.outcome() == (1.0, "tls")
    assert await field.own("target_consecutive_failures") == 0.0
    assert (await field.outcome(collector="runs"))[0] == 1.0
