"""Clients' certificates that are asked for and not verified: who is admitted, and what holds."""

import asyncio
import io
import shutil
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from exporter.app import Application
from exporter.web import openssl
from exporter.web.access import WebConfigError, load
from tests.clocks import FakeClock
from tests.processes import run
from tests.simulated import write
from tests.web.material import CLIENTS, lay_out
from tests.web.serving import serving, trusting
from tests.web.tls_clients import (
    ANY,
    DAY,
    NAMED,
    REQUESTED,
    TLS,
    VERSIONS,
    Talk,
    admitted,
    careless,
    context,
    make,
    steal,
)

NAME = x509.SubjectAlternativeName([x509.DNSName("prometheus.example")])
UNREADABLE = x509.UnrecognizedExtension(NAME.oid, b"\x30\x04\x82\x02\xff\xfe")
OF_SERVERS = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
ODD = ("self-signed", "expired", "not-yet", "of-servers", "stranger", "chain", "strangers", "weak")
"""Clients whose certificates would be refused if anybody verified them."""

KINDS = ("RequireAnyClientCert", "RequestClientCert")


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    """Give an application that polls nothing."""
    async with Application(environ={}, clock=FakeClock()) as application:
        yield application


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Give a web configuration file that requires any certificate, beside odd ones."""
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("NEEDS openssl")
    lay_out(program, tmp_path)
    make(tmp_path, "self-signed", NAME)
    make(tmp_path, "expired", since=-9 * DAY)
    make(tmp_path, "not-yet", since=DAY)
    make(tmp_path, "of-servers", OF_SERVERS)
    make(tmp_path, "unreadable", UNREADABLE)
    chain = [tmp_path / f"{name}.crt" for name in ("stranger", "strangers", "self-signed")]
    (tmp_path / "chain.crt").write_text("".join(each.read_text() for each in chain))
    shutil.copy(tmp_path / "stranger.key", tmp_path / "chain.key")
    (tmp_path / "web.yml").write_text(ANY)
    return tmp_path / "web.yml"


# Who is admitted


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("text", "refused"), [(ANY, {""}), (REQUESTED, set())], ids=KINDS)
async def test_any_certificate_will_do(
    app: Application, file: Path, text: str, refused: set[str], version: ssl.TLSVersion
) -> None:
    """Whoever signed it, when, for what; none is as good only where none is required."""
    write(file, text)
    async with serving(app, file) as served:
        for client in ("prometheus", *ODD, ""):
            good = await admitted(served, careless(file, client, version))
            assert good == (client not in refused), client


@pytest.mark.tool("curl")
@pytest.mark.parametrize(("text", "refused"), [(ANY, {""}), (REQUESTED, set())], ids=KINDS)
async def test_curl_fares_no_other_way(
    tool: str, app: Application, file: Path, text: str, refused: set[str]
) -> None:
    """With a good certificate, an expired one, one by itself or by strangers, and with none."""
    write(file, text)
    async with serving(app, file) as served:
        url = f"https://127.0.0.1:{served.port}/-/healthy"
        for client in ("prometheus", "expired", "self-signed", "stranger", ""):
            path = file.with_name(client or "none")
            options = ("--cert", f"{path}.crt", "--key", f"{path}.key") if client else ()
            trusted = ("--cacert", str(file.with_name("servers.crt")))
            ended = await run(*trusted, *options, url, command=(tool, "--silent", "--fail"))
            assert (ended.code == 0) == (client not in refused), client


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_known_of_a_client_is_told(file: Path, version: ssl.TLSVersion) -> None:
    """Its certificate as it is; as a verified one it is empty, and none is none."""
    server = context(file, REQUESTED)
    for client in ("stranger", ""):
        talk = Talk(server, careless(file, client, version))
        talk.shake_hands()
        pem = file.with_name(f"{client}.crt").read_text() if client else None
        assert talk.server.getpeercert(binary_form=True) == (pem and ssl.PEM_cert_to_DER_cert(pem))
        assert talk.server.getpeercert() == (None if pem is None else {})
        assert talk.server.cipher() == talk.client.cipher()
        assert talk.server.compression() is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_stolen_certificate_is_of_no_use(file: Path, version: ssl.TLSVersion) -> None:
    """Certificates are public: the client proves that it has the key to its own."""
    steal(file.parent, "prometheus", "thief")
    talk = Talk(context(file, ANY), careless(file, "thief", version))
    with pytest.raises(ssl.SSLError, match="bad signature"):
        talk.shake_hands()


@pytest.mark.tool("openssl")
@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", "No client certificate CA names sent"),
        ("  client_ca_file: clients.crt\n", "Acceptable client certificate CA names\nCN = clients"),
    ],
)
async def test_clients_are_told_whose_certificates_are_wanted(
    tool: str, app: Application, file: Path, more: str, told: str
) -> None:
    """Where client_ca_file is given: one that has several may choose by it."""
    write(file, REQUESTED + more)
    async with serving(app, file) as served:
        address = f"127.0.0.1:{served.port}"
        ended = await run("s_client", "-connect", address, command=(tool,))
    assert told in ended.out


# Names


async def test_names_count_whoever_signed(app: Application, file: Path) -> None:
    """DNS name, address, e-mail address or URI, each exactly as it stands in the list."""
    named = {client: san.partition(":")[2] for client, san in CLIENTS.items()}
    for allowed, name in named.items():
        write(file, f'{ANY}  client_allowed_sans: ["{name}", "unused.example"]\n')
        async with serving(app, file) as served:
            for client in named:
                assert await admitted(served, careless(file, client)) == (client == allowed)


async def test_a_wrong_name_is_refused_in_silence(
    app: Application, file: Path, log: io.StringIO
) -> None:
    """As is one that nobody can read, and none at all; a stranger with a right one is admitted."""
    write(file, NAMED)
    good = {"prometheus", "stranger", "self-signed"}
    async with serving(app, file) as served:
        for client in (*good, "other", "expired", "unreadable", ""):
            assert await admitted(served, careless(file, client)) == (client in good), client
    assert log.getvalue() == ""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("client", "expected"),
    [("stranger", nullcontext()), ("other", pytest.raises(ssl.SSLCertVerificationError))],
)
def test_who_comes_back_is_looked_at_again(
    file: Path, client: str, expected: AbstractContextManager[object], version: ssl.TLSVersion
) -> None:
    """A session is resumed with its certificate, whose names count as before."""
    server, known = context(file, NAMED), careless(file, client, version)
    first, again = Talk(server, known), Talk(server, known)
    with expected:
        first.shake_hands()
    with suppress(ssl.SSLWantReadError):
        first.say()
        first.client.read()  # the ticket
    assert first.client.session is not None
    again.client.session = first.client.session
    with expected:
        again.shake_hands()
    assert again.client.session_reused


# What else holds


async def test_a_change_of_the_type_is_followed(app: Application, file: Path) -> None:
    """By new connections; one that is open goes on."""
    write(file, TLS)
    async with serving(app, file) as served:
        nobody = trusting(file.parent)
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port, ssl=nobody)
        for text, good in ((ANY, False), (REQUESTED, True), (ANY, False), (TLS, True)):
            write(file, text)
            assert await admitted(served, nobody) == good
        writer.write(b"GET /-/healthy HTTP/1.1\r\nHost: exporter\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()


# What it needs


def test_without_pyopenssl_the_extra_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the line of the key; the other types do without."""
    monkeypatch.setitem(sys.modules, "OpenSSL", None)
    monkeypatch.delitem(sys.modules, "exporter.web.openssl", raising=False)
    with pytest.raises(WebConfigError) as raised:
        load(file)
    [problem] = raised.value.problems
    assert "client_auth_type: RequireAnyClientCert needs pyOpenSSL" in problem
    assert problem.endswith("pip install 'gpu-cluster-exporter[client-certificates]'")
    context(file, TLS)


async def test_pyopenssl_costs_nothing_where_it_is_not_asked_for(file: Path) -> None:
    """It is imported for these types alone."""
    (file.parent / "plain.yml").write_text(TLS)
    script = """
import pathlib, sys
from exporter.web.access import load
for name in sys.argv[1:]:
    load(pathlib.Path(name))
    print("OpenSSL" in sys.modules)
"""
    names = (str(file.with_name(name)) for name in ("plain.yml", "web.yml"))
    ended = await run("-c", script, *names, command=(sys.executable,))
    assert ended.out.split() == ["False", "True"], ended.err


def test_what_pyopenssl_can_not_do_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has an OpenSSL of its own, which may be built in another way than Python's."""
    file.write_text(f"{ANY}  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n")
    with monkeypatch.context() as patched:
        patched.setattr(openssl.Unverifying, "cipher_names", list)
        with pytest.raises(WebConfigError, match="this build of OpenSSL lacks ECDHE-RSA-AES128"):
            load(file)
    monkeypatch.setattr(openssl, "_cipher_list", lambda _: b"MADE-UP")
    with pytest.raises(WebConfigError, match="client_auth_type: pyOpenSSL can't serve Require"):
        load(file)
