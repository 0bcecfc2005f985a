"""No secret in anything that a command shows, whatever goes wrong."""

import json
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest

from exporter import cli, logs
from exporter.console import Console
from exporter.simulator.faults import (
    ErrorBody,
    Fault,
    Html,
    NullList,
    RateLimit,
    Refuse,
    Reset,
    Status,
    Truncate,
)
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from tests.processes import Daemon, daemon, run
from tests.simulated import write

PLACES = (Place("e", "kr-west1"), Place("e", "kr-east1"))
# As unlike a plain word as a secret may be: it stands escaped in URLs, JSON and tracebacks.
WRONG = {
    "access": "made-up/access+key==",
    "secret": 'made-up"secret\\key%41',
    "api": "made-up api & key",
}
PROXY_PASSWORD = "made-up-proxy-password"
CONFIG = """\
polling: {{interval: 1m, requests_per_second: 10000}}
http_client: {{proxy_from_environment: true}}
scp:
  - account: good
    environment: e
    access_key_env: SCP_ACCESS_KEY
    secret_key_file: good-key
    endpoint: {url}/scp/{{environment}}/{{region}}
  - account: wrong
    environment: e
    regions: [kr-west1]
    access_key: {access}
    secret_key: {secret}
    endpoint: {url}/scp/{{environment}}/{{region}}
  - account: unreachable
    environment: e
    regions: [kr-west1]
    access_key: {access}
    secret_key_file: wrong-key
    endpoint: https://127.0.0.1:9
nsml:
  - account: good
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
  - account: wrong
    access_key: {access}
    secret_key: {secret}
    api_key: {api}
    endpoint: {url}/nsml/v1
"""


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """Give clouds of which each part fails in another way, and tells what it should not."""
    async with Simulator(8, seed=3, speed=0, alive=False, places=PLACES) as simulator:
        told = " ".join([*simulator.credentials.values(), *WRONG.values()])
        for fault in faults(told):
            simulator.faults.add(fault)
        yield simulator


def faults(told: str) -> list[Fault]:
    """Return a fault of each kind; a body, where it has one, tells a text."""
    west, east = {"region": "kr-west1"}, {"region": "kr-east1"}
    service = json.dumps({"errors": [{"code": told, "title": told, "detail": [told]}]})
    nested = json.dumps({"error": {"errorCode": "200", "message": told, "details": told}})
    return [
        Status(status=401, body=told, path="/v1/gpu-nodes$", **west),
        Status(status=403, body=service, path="/v1/cluster-fabrics$", **west),
        Status(status=404, body=told, path="/v1/cluster-fabrics/node-pools", **west),
        Status(status=500, body=told, path="/v1/gpu-nodes/products", **west),
        Status(status=200, body=told, path="/v1/gpu-nodes/images", **west),
        Status(status=302, body=told, headers={"Location": f"/{told[:9]}"}, path="/$", **west),
        Html(path="/v1/gpu-nodes$", **east),
        ErrorBody(path="/v1/cluster-fabrics$", **east),
        NullList(path="/v1/cluster-fabrics/node-pools", **east),
        Truncate(path="/v1/gpu-nodes/products", **east),
        Reset(path="/v1/gpu-nodes/images", **east),
        Status(status=400, body=nested, cloud="nsml", path="/projects$"),
        Refuse(reason="not_entitled", cloud="nsml", path="/projects/runs", requests=1),
        RateLimit(retry_after="nonsense", cloud="nsml", path="/projects/runs"),
    ]


@pytest.fixture
def environ(simulator: Simulator) -> Mapping[str, str]:
    """Give the environment: keys, and a proxy whose password nobody needs to know."""
    proxy = f"http://user:{PROXY_PASSWORD}@127.0.0.1:9"
    return {**simulator.credentials, "https_proxy": proxy, "http_proxy": "", "no_proxy": ""}


@pytest.fixture
def file(simulator: Simulator, tmp_path: Path) -> Path:
    """Give the configuration; each way of giving a secret is in it."""
    file = tmp_path / "gpu-cluster-exporter.yml"
    quoted = {name: json.dumps(text) for name, text in WRONG.items()}
    write(file, CONFIG.format(url=simulator.url, **quoted))
    write(tmp_path / "good-key", simulator.credentials["SCP_SECRET_KEY"] + "\n")
    write(tmp_path / "wrong-key", WRONG["secret"] + "\n")
    return file


def leaks(simulator: Simulator, shown: str) -> list[str]:
    """Return the secrets that stand in a text, as they are or as JSON spells them."""
    secrets = {**simulator.credentials, **WRONG, "password": PROXY_PASSWORD}
    return [
        name
        for name, text in secrets.items()
        if text in shown or json.dumps(text)[1:-1] in shown or repr(text)[1:-1] in shown
    ]


LOUD = ("--log.level=debug", "--log.format=json")


@pytest.mark.slow
@pytest.mark.parametrize("argv", [("check", "--probe"), ("once",)])
async def test_a_command_that_asks_the_clouds_shows_no_secret(
    simulator: Simulator, file: Path, environ: Mapping[str, str], argv: tuple[str, ...]
) -> None:
    """Every target fails, in another way each, and is told of; the exit code is 2."""
    ended = await run(*argv, *LOUD, f"--config.file={file}", environ=environ)
    assert ended.code == 2
    assert "<secret>" in ended.out + ended.err
    for reason in ("auth", "forbidden", "not_found", "connection", "server_error", "bad_response"):
        assert f": {reason}: " in ended.out + ended.err
    assert leaks(simulator, ended.out + ended.err) == []


@pytest.mark.slow
async def test_a_daemon_shows_no_secret(
    simulator: Simulator, file: Path, environ: Mapping[str, str]
) -> None:
    """Neither in its log nor its pages nor its command line, while all fails and reloads do."""
    argv = ("serve", *LOUD, f"--config.file={file}", "--web.enable-lifecycle")
    async with daemon(*argv, environ=environ) as started:
        shown = started.command_line() + await _pages(started)
        write(file, f"scp:\n  - account: prod\n    secret_key: {WRONG['secret']}\n  {{")
        shown += await _ask(started, "/-/reload", "POST")
        write(file, f"scp: [{{account: prod, secret_key:{WRONG['access']}: x}}]\n")
        shown += await _ask(started, "/-/reload", "POST")
        ended = await started.end(signal.SIGTERM)
    assert ended.code == 0
    assert "poll failed" in ended.err
    assert "reload failed" in ended.err
    assert leaks(simulator, shown + ended.out + ended.err) == []


async def _pages(started: Daemon) -> str:
    """Return all that people and Prometheus read, once every target has been asked."""
    while "/-/ready 200" not in await _ask(started, "/-/ready"):
        pass
    paths = ("/", "/metrics", "/config", "/api/v1/targets", "/api/v1/nodes", "/api/v1/runs")
    return "".join([await _ask(started, path) for path in paths])


async def _ask(started: Daemon, path: str, method: str = "GET") -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, started.url + path) as response,
    ):
        return f"{path} {response.status} {await response.text()}"


@pytest.mark.parametrize(
    "text",
    [
        "scp: [{{account: a, environment: e, access_key: [{0}]}}]",
        "scp: [{{account: a, environment: e, access_key:{0}}}]",
        "scp: [{{account: a, environment: e, acces_key: {0}, secret_key: {0}}}]",
        "scp: [{{account: a, environment: e, access_key_file: {0}, secret_key_env: {0}}}]",
        "scp: {0}",
        "{0}: 1",
        "scp: [{0}",
        "scp: *{0}",
        "scp: !{0}",
        "scp: '{0}",
        "scp: {{{0}",
        "nsml: [{{account: a, api_key: {0}, endpoint: 'https://u:{0}@h'}}]",
    ],
)
def test_a_bad_configuration_shows_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Wherever in the file the secret was written, by each command that reads it."""
    secret = "hush+hush/42=="
    file = tmp_path / "gpu-cluster-exporter.yml"
    write(file, text.format(secret))
    for argv in (["check"], ["check", "--probe"], ["once"], ["serve"]):
        assert cli.main([*argv, *LOUD, f"--config.file={file}"]) == 1
    shown = "".join(capsys.readouterr())
    assert f"{file}: " in shown
    assert secret not in shown
    assert "Traceback" not in shown


def test_a_defect_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its traceback is logged, and not left to the interpreter."""

    async def broken(_: object, console: Console) -> int:
        console.redactor.add("made-up-secret")
        raise RuntimeError("a defect that tells made-up-secret")

    monkeypatch.setattr(cli, "COMMANDS", {"check": broken})
    monkeypatch.setattr(logs.configure, "__defaults__", (__import__("sys").stderr,))
    assert cli.main(["check"]) == 1
    shown = capsys.readouterr().err
    assert "RuntimeError: a defect that tells <secret>" in shown
    assert "made-up-secret" not in shown
