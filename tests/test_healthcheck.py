"""Asking a daemon whether it lives."""

import asyncio
import base64
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from exporter.healthcheck import Question, ask

Answer = Callable[[web.Request], web.Response]
Listen = Callable[..., Awaitable[str]]


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    """Give what starts a server that answers as told, and returns its address."""
    runners: list[web.ServerRunner] = []

    async def start(answer: Answer, context: ssl.SSLContext | None = None) -> str:
        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            return answer(request)  # type: ignore[arg-type]  # it has what the test asks of it

        runner = web.ServerRunner(web.Server(handler))
        runners.append(runner)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        return f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"

    yield start
    for runner in runners:
        await runner.cleanup()


async def answer_to(question: Question) -> tuple[bool, str]:
    """Ask without holding up the server that answers."""
    return await asyncio.to_thread(ask, question)


async def test_a_daemon_that_lives_says_so(listen: Listen) -> None:
    """The path depends on the question, and stands behind the address."""
    url = await listen(lambda request: web.Response(text=f"{request.path}\n"))
    assert await answer_to(Question(url)) == (True, "/-/healthy")
    assert await answer_to(Question(url + "/", ready=True)) == (True, "/-/ready")


async def test_a_daemon_that_does_not_attempt_is_not_alive(listen: Listen) -> None:
    """What it says is passed on, for it names the loop."""
    url = await listen(lambda _: web.Response(status=503, text="no attempt: scp/prod\n"))
    assert await answer_to(Question(url)) == (False, "HTTP 503: no attempt: scp/prod")


def guarded(request: web.Request) -> web.Response:
    """Let only the right password pass."""
    right = "Basic " + base64.b64encode(b"probe:made-up-password").decode()
    good = request.headers.get("Authorization") == right
    return web.Response(text="healthy") if good else web.Response(status=401, text="who?")


async def test_without_a_password_a_401_counts_as_alive_but_not_as_ready(listen: Listen) -> None:
    """The process answers; what it would say is not known."""
    url = await listen(guarded)
    asked = "HTTP 401: who? (the daemon asks for --username and --password-file)"
    assert await answer_to(Question(url)) == (True, asked)
    assert await answer_to(Question(url, username="probe")) == (True, asked)
    assert await answer_to(Question(url, ready=True)) == (False, asked)


async def test_a_limit_of_requests_counts_as_alive_but_not_as_ready(listen: Listen) -> None:
    """The process answers; it is no reason to restart it."""
    url = await listen(lambda _: web.Response(status=429, text="too many requests"))
    assert await answer_to(Question(url)) == (True, "HTTP 429: too many requests")
    assert await answer_to(Question(url, ready=True)) == (False, "HTTP 429: too many requests")


async def test_with_a_password_a_401_is_a_failure(listen: Listen, tmp_path: Path) -> None:
    """The right one passes, its line break at the end left out; neither is shown."""
    url, file = await listen(guarded), tmp_path / "password"
    file.write_text("made-up-password\n")
    question = Question(url, ready=True, username="probe", password_file=file)
    assert await answer_to(question) == (True, "healthy")
    file.write_text("another-password\n")
    good, text = await answer_to(question)
    assert not good
    assert text.startswith("HTTP 401: who? (the daemon does not take these")
    assert "password\n" not in text


@pytest.mark.parametrize(
    ("options", "content", "said"),
    [
        ("username password_file", None, "--password-file: {0} cannot be read: No such file"),
        ("username password_file", b"\xff", "--password-file: {0} is not valid UTF-8"),
        ("ca_file", None, "--ca-file: {0} cannot be read: No such file"),
        ("ca_file", b"text", "--ca-file: {0} does not hold what it should, in PEM form"),
        ("cert_file", b"text", "--cert-file and --key-file: {0} does not hold what it should"),
        ("password_file", b"text", "--password-file needs --username"),
        ("key_file", b"text", "--key-file needs --cert-file"),
    ],
)
def test_a_file_that_cannot_be_used_is_a_failure(
    tmp_path: Path, options: str, content: bytes | None, said: str
) -> None:
    """The flag is named, and the file; nothing of what is in it."""
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    given = {name: "u" if name == "username" else file for name in options.split()}
    good, text = ask(Question("http://127.0.0.1:9", **given))  # type: ignore[arg-type]  # by name
    assert not good
    assert text.startswith(said.format(file))


async def test_a_redirect_is_a_failure(listen: Listen, tmp_path: Path) -> None:
    """It is not followed: the password is for the daemon alone."""
    asked: list[str] = []

    def redirect(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=302, headers={"Location": "/elsewhere"}, text="there")

    (tmp_path / "password").write_text("made-up-password")
    url = await listen(redirect)
    question = Question(url, username="probe", password_file=tmp_path / "password")
    assert await answer_to(question) == (False, "HTTP 302: there")
    assert asked == ["/-/healthy"]


async def test_another_server_is_a_failure(listen: Listen) -> None:
    """A page of its own is not repeated."""
    page = "<!DOCTYPE html>\n<html><body>No such page</body></html>"
    url = await listen(lambda _: web.Response(status=404, text=page))
    assert await answer_to(Question(url)) == (
        False,
        f"HTTP 404: (an HTML page) (is {url} the exporter? --url takes no path)",
    )


async def test_nobody_listening_is_a_failure() -> None:
    """The address is named."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        good, text = await answer_to(Question(url))
    assert not good
    assert text.startswith(f"{url}: ")
    assert "refused" in text


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:1",
        "http://127.0.0.1:port",
        "http://a b",
        "",
        "ftp://127.0.0.1",
        "http://",
        "http://127.0.0.1:1/x",
        "http://127.0.0.1:1?",
        "http://127.0.0.1:1/#",
    ],
)
def test_what_is_no_address_is_a_failure(url: str) -> None:
    """It is told in one line, with the flag and an example."""
    good, text = ask(Question(url))
    assert not good
    assert text.startswith("--url takes an address without a path, such as http://127.0.0.1:10110")
    assert text.endswith(f", found {url!r}")


@pytest.mark.parametrize("url", ["http://u:made-up@127.0.0.1:1", "http://u:made-up@h:x", "u:p@h"])
def test_an_address_with_a_password_is_not_shown(url: str) -> None:
    """There are flags for it, of which one names a file."""
    good, text = ask(Question(url))
    assert not good
    assert text == "--url must not hold a user; there are --username and --password-file"


async def test_the_wrong_scheme_is_a_failure(listen: Listen) -> None:
    """TLS is asked for where none is."""
    url = await listen(lambda _: web.Response(text="healthy"))
    good, text = await answer_to(Question(url.replace("http:", "https:")))
    assert not good
    assert text.endswith("(does --url begin with the right scheme?)")


async def test_what_is_no_http_is_a_failure() -> None:
    """Whatever listens there is not the daemon."""

    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail ready\r\n")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        good, text = await answer_to(Question(f"http://127.0.0.1:{port}"))
    assert not good
    assert "220 mail ready" in text


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    made, key = directory / "cert.pem", directory / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = ["-subj", "/CN=exporter", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(made)]
    subprocess.run([*command, *subject, *files], check=True, capture_output=True)  # noqa: S603 - its own words
    return made, key


@pytest.mark.tool("openssl")
@pytest.mark.usefixtures("tool")
async def test_https_takes_a_ca_and_a_client_certificate(
    listen: Listen, certificate: tuple[Path, Path]
) -> None:
    """Without them the handshake fails, and that is told."""
    made, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    context.load_verify_locations(made)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # a refused client hears of it at once
    url = await listen(lambda _: web.Response(text="healthy"), context)
    good, text = await answer_to(Question(url))
    assert not good
    assert "self-signed certificate (--ca-file names certificates to trust)" in text
    assert not (await answer_to(Question(url, ca_file=made)))[0]
    question = Question(url, ca_file=made, cert_file=made, key_file=key)
    assert await answer_to(question) == (True, "healthy")


async def test_no_proxy_stands_in_between(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is for the clouds."""
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:1")
    url = await listen(lambda _: web.Response(text="healthy"))
    assert await answer_to(Question(url)) == (True, "healthy")
