"""TLS on the web server: what is offered, who is admitted, and how certificates are renewed."""

import asyncio
import io
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from exporter.app import Application
from exporter.web import connections, listening, tls
from exporter.web.access import WebConfigError, load
from exporter.web.tls_names import CIPHER_SUITES
from tests.clocks import FakeClock
from tests.simulated import write
from tests.web.material import CLIENTS, lay_out
from tests.web.serving import serving, trusting
from tests.web.tls_clients import admitted, connected, serial

pytestmark = pytest.mark.tool("openssl")

TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
CLIENT_CA = TLS + "  client_ca_file: clients.crt\n  client_auth_type: "
SANS = CLIENT_CA + "RequireAndVerifyClientCert\n  client_allowed_sans: "


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    """Give an application that polls nothing."""
    async with Application(environ={}, clock=FakeClock()) as application:
        yield application


@pytest.fixture
def file(tool: str, tmp_path: Path) -> Path:
    """Give a web configuration file that serves TLS to everybody."""
    path = lay_out(tool, tmp_path) / "web.yml"
    path.write_text(TLS)
    return path


@pytest.fixture(params=["NoClientCert", "RequestClientCert"])
def either(request: pytest.FixtureRequest, file: Path) -> Path:
    """Give one that serves everybody by Python's own TLS, and by pyOpenSSL."""
    file.write_text(f"{TLS}  client_auth_type: {request.param}\n")
    return file


def add(file: Path, text: str) -> None:
    """Write more into a file."""
    write(file, file.read_text() + text)


async def test_https_is_served_and_nothing_else(app: Application, either: Path) -> None:
    """The certificate is that of the file; who speaks plain HTTP gets no answer."""
    async with serving(app, either) as served:
        assert await admitted(served, trusting(either.parent))
        assert not await admitted(served, ssl.create_default_context())
        assert await served.raw(b"GET / HTTP/1.1\r\nHost: exporter\r\n\r\n") == b""


async def test_what_a_client_needs_is_agreed_on(app: Application, either: Path) -> None:
    """TLS 1.3 at best, 1.2 at least, and HTTP/1.1 within."""
    async with serving(app, either) as served:
        context = trusting(either.parent)
        context.set_alpn_protocols(["h2", "http/1.1"])
        connection = await connected(served, context)
        assert connection.version() == "TLSv1.3"
        assert connection.selected_alpn_protocol() == "http/1.1"
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        assert (await connected(served, context)).version() == "TLSv1.2"
        context.set_alpn_protocols(["h2"])
        assert (await connected(served, context)).selected_alpn_protocol() is None


@pytest.mark.parametrize(
    ("versions", "good"),
    [("  min_version: TLS13\n", "TLSv1_3"), ("  max_version: TLS12\n", "TLSv1_2")],
)
async def test_versions_are_bounded(
    app: Application, either: Path, versions: str, good: str
) -> None:
    """Below and above."""
    add(either, versions)
    async with serving(app, either) as served:
        for version in ("TLSv1_2", "TLSv1_3"):
            context = trusting(either.parent)
            context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
            assert await admitted(served, context) == (version == good)


@pytest.mark.parametrize(
    ("prefer", "agreed"),
    [("true", "ECDHE-ECDSA-AES256-GCM-SHA384"), ("false", "ECDHE-ECDSA-AES128-GCM-SHA256")],
)
async def test_cipher_suites_and_their_order_are_kept(
    app: Application, either: Path, prefer: str, agreed: str
) -> None:
    """The server's order decides, or the client's where the file says so; others are refused."""
    suites = [f"TLS_ECDHE_ECDSA_WITH_AES_{kind}" for kind in ("256_GCM_SHA384", "128_GCM_SHA256")]
    text = f"  cipher_suites: [{', '.join(suites)}]\n  prefer_server_cipher_suites: {prefer}\n"
    add(either, text)
    async with serving(app, either) as served:
        context = trusting(either.parent)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384")
        cipher = (await connected(served, context)).cipher()
        assert cipher is not None
        assert cipher[0] == agreed
        context.set_ciphers("ECDHE-ECDSA-CHACHA20-POLY1305")
        assert not await admitted(served, context)


def test_a_cipher_suite_that_is_not_built_in_is_told(
    either: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSL itself would leave it out in silence."""
    add(either, f"  cipher_suites: [{', '.join(list(CIPHER_SUITES)[:2])}]\n")
    first, second = list(CIPHER_SUITES)[:2]
    for names, lacking in ((["MADE-UP", "UP-MADE"], "MADE-UP, UP-MADE"), (["UP-MADE"], "UP-MADE")):
        known = {**CIPHER_SUITES, **dict(zip((first, second), names, strict=False))}
        monkeypatch.setattr(tls, "CIPHER_SUITES", known)
        with pytest.raises(WebConfigError, match=f"this build of OpenSSL lacks {lacking}$"):
            load(either)


async def test_a_curve_is_kept_to(app: Application, either: Path) -> None:
    """A client that knows only another one is refused."""
    add(either, "  curve_preferences: [CurveP521]\n")
    async with serving(app, either) as served:
        for curve, good in (("secp521r1", True), ("secp384r1", False)):
            context = trusting(either.parent)
            context.set_ecdh_curve(curve)
            assert await admitted(served, context) == good


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("NoClientCert", {"", "prometheus", "stranger"}),
        ("VerifyClientCertIfGiven", {"", "prometheus"}),
        ("RequireAndVerifyClientCert", {"prometheus"}),
    ],
)
async def test_clients_are_admitted_by_their_certificates(
    app: Application, file: Path, kind: str, good: set[str]
) -> None:
    """None, one that was verified, and one by a stranger, for each type of authentication."""
    write(file, TLS if kind == "NoClientCert" else f"{CLIENT_CA}{kind}\n")
    async with serving(app, file) as served:
        for client in ("", "prometheus", "stranger"):
            context = trusting(file.parent, client)
            assert await admitted(served, context) == (client in good), client


async def test_clients_are_admitted_by_their_names(app: Application, file: Path) -> None:
    """DNS name, address, e-mail address or URI, each exactly as it stands in the list."""
    named = {client: san.partition(":")[2] for client, san in CLIENTS.items()}
    for allowed, name in named.items():
        write(file, f'{SANS}["{name}", "unused.example"]\n')
        async with serving(app, file) as served:
            for client in named:
                context = trusting(file.parent, client)
                assert await admitted(served, context) == (client == allowed), (allowed, client)


async def test_a_name_alone_admits_nobody(app: Application, file: Path, log: io.StringIO) -> None:
    """A stranger's certificate with the right name is a stranger's; refusals fill no log."""
    write(file, f"{SANS}[prometheus.example]\n")
    async with serving(app, file) as served:
        assert not await admitted(served, trusting(file.parent, "stranger"))
        assert not await admitted(served, trusting(file.parent, "other"))
        assert not await admitted(served, trusting(file.parent))
        assert await admitted(served, trusting(file.parent, "prometheus"))
    assert log.getvalue() == ""


async def test_a_renewed_certificate_is_served_at_once(app: Application, either: Path) -> None:
    """To new connections; one that is open goes on."""
    directory = either.parent
    async with serving(app, either) as served:
        before = await serial(served, trusting(directory))
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=trusting(directory)
        )
        shutil.copy(directory / "renewed.key", directory / "server.key")
        assert await serial(served, trusting(directory)) == before  # not until both fit
        shutil.copy(directory / "renewed.crt", directory / "server.crt")
        assert await serial(served, trusting(directory)) != before
        writer.write(b"GET /-/healthy HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_half_a_renewal_is_told_once(app: Application, file: Path, log: io.StringIO) -> None:
    """With the key that does not fit yet; and that it is well again."""
    async with serving(app, file) as served:
        shutil.copy(file.parent / "renewed.key", file.parent / "server.key")
        for _ in range(3):
            assert await admitted(served, trusting(file.parent))
        assert log.getvalue().count("is not the key of the first certificate") == 1
        shutil.copy(file.parent / "renewed.crt", file.parent / "server.crt")
        assert await admitted(served, trusting(file.parent))
        assert log.getvalue().count("web configuration read again") == 1


async def test_a_file_that_is_waited_for_is_noticed(app: Application, file: Path) -> None:
    """A name may stand in the file before what it names; until then the old state holds."""
    directory = file.parent
    (directory / "renewed.crt").rename(directory / "late")
    async with serving(app, file) as served:
        before = await serial(served, trusting(directory))
        write(file, TLS.replace("server.", "renewed."))
        assert await serial(served, trusting(directory)) == before
        (directory / "late").rename(directory / "renewed.crt")
        assert await serial(served, trusting(directory)) != before


async def test_an_authority_that_is_taken_away_admits_nobody_more(
    app: Application, file: Path
) -> None:
    """Neither anew nor by resuming an old session."""
    write(file, f"{CLIENT_CA}RequireAndVerifyClientCert\n")
    async with serving(app, file) as served:
        context = trusting(file.parent, "prometheus")
        assert await admitted(served, context)
        shutil.copy(file.parent / "strangers.crt", file.parent / "clients.crt")
        assert not await admitted(served, context)
        assert await admitted(served, trusting(file.parent, "stranger"))


async def test_a_client_that_says_nothing_is_hung_up_on(
    app: Application, either: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the handshake and after it, each within its time."""
    monkeypatch.setattr(listening, "HANDSHAKE_SECONDS", 0.1)
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)
    async with serving(app, either) as served:
        silent, writer = await asyncio.open_connection("127.0.0.1", served.port)
        assert await silent.read() == b""
        writer.close()
        silent, writer = await asyncio.open_connection(
            "127.0.0.1", served.port, ssl=trusting(either.parent)
        )
        assert await silent.read() == b""
        writer.close()
