"""Asking every target once, and what is said of those that fail."""

import asyncio
import io
import math
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exporter import probe
from exporter.app import Application
from exporter.clock import SystemClock
from exporter.config import Config
from exporter.remedies import Setting, remedy
from exporter.simulator.faults import (
    AnyFault,
    ChildrenGone,
    DateSkew,
    ErrorBody,
    Hang,
    Html,
    NodePoolsRefused,
    NullList,
    Oversize,
    RateLimit,
    Refuse,
    Reset,
    SizeFault,
    States,
    Status,
    Truncate,
)
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from tests.field.proxy import proxy
from tests.field.tls import make_certificates, serve_tls
from tests.simulated import config_text, read_config

NODES = "scp/prod/e/kr-west1/gpu_nodes"
TARGETS = 9
CALLS = TARGETS + 1  # the nodes of a run take a call that finds one


pytestmark = pytest.mark.usefixtures("log")


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """Give simulated clouds of one region in which nothing happens by itself."""
    places = (Place("e", "kr-west1"),)
    async with Simulator(8, seed=3, speed=0, alive=False, places=places) as simulator:
        yield simulator


KEY = {"value": "made-up"}


class WrongClock(SystemClock):
    """A clock that is seven minutes ahead."""

    def wall(self) -> float:
        """Return a Unix time that is not the time."""
        return super().wall() + 420


@dataclass
class Found:
    """What a probe of all targets found."""

    config: Config
    probes: list[probe.Probe]
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = probe.explanations(self.probes, self.config)

    def status(self, target: str = NODES) -> str:
        """Return the status that the table has for a target."""
        return self._cells(target)[1]

    def rows(self, target: str) -> str:
        """Return the rows that the table has for a target."""
        return " ".join(self._cells(target)[4:])

    def _cells(self, target: str) -> list[str]:
        [line] = [line for line in probe.table(self.probes) if line.startswith(f"{target} ")]
        return line.split()

    def line(self, target: str = NODES) -> str:
        """Return the only line about a target, the first of those that it tells of."""
        own = re.compile(rf"{re.escape(target)}( and \d+ more)?: ")
        [line] = [line for line in self.lines if own.match(line)]
        return line


Ask = Callable[..., object]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Give the directory of the configuration."""
    return tmp_path


async def ask(
    directory: Path,
    simulator: Simulator,
    *faults: AnyFault,
    text: str = "",
    clock: SystemClock | None = None,
    environ: Mapping[str, str] | None = None,
) -> Found:
    """Probe all targets of the usual configuration, or of another, under these faults."""
    for fault in faults:
        simulator.faults.add(fault)
    environ = environ or simulator.credentials
    config = read_config(directory, text or usual(simulator.url), environ)
    async with Application(environ=environ, clock=clock or SystemClock()) as application:
        await application.apply(config, loops=False)
        return Found(config, await probe.probe(application.pollers))


def usual(url: str, polling: str = "interval: 30s") -> str:
    """Write a configuration of both clouds."""
    return config_text(url, regions=["kr-west1"], polling=polling)


async def test_every_target_is_asked_once(directory: Path, simulator: Simulator) -> None:
    """It tells how long the answer took, and how many rows it had: what is truly there."""
    found = await ask(directory, simulator)
    truth = simulator.truth()
    assert {each.failure for each in found.probes} == {None}
    assert found.rows(NODES) == str(len(truth.scp[0].gpu_nodes))
    assert found.rows("nsml/research/projects") == str(len(truth.nsml.projects))
    assert all(each.seconds is not None for each in found.probes)
    assert found.lines == []
    assert len(found.probes) == TARGETS
    assert len(simulator.requests) == CALLS


async def test_of_a_long_list_the_first_page_is_asked_for(
    directory: Path, simulator: Simulator
) -> None:
    """The total that the API claims stands beside it."""
    polling = "interval: 30s, page_size: 5"
    found = await ask(directory, simulator, text=usual(simulator.url, polling))
    nodes = len(simulator.truth().scp[0].gpu_nodes)
    assert found.rows(NODES) == f"5 of {nodes}"
    assert len(simulator.requests) == CALLS


async def test_a_page_size_that_is_refused_is_no_failure(
    directory: Path, simulator: Simulator
) -> None:
    """As in a poll, a smaller one is tried."""
    found = await ask(directory, simulator, SizeFault(mode="refused"))
    assert found.status() == "ok"


async def test_node_pools_are_asked_for_as_a_poll_does(
    directory: Path, simulator: Simulator
) -> None:
    """Where the API wants to hear of a fabric, those of the first one are."""
    found = await ask(directory, simulator, NodePoolsRefused())
    assert found.status("scp/prod/e/kr-west1/node_pools") == "ok"
    assert found.rows("scp/prod/e/kr-west1/node_pools") == "1"
    async with Simulator(0, places=(Place("e", "kr-west1"),)) as empty:
        found = await ask(directory, empty, NodePoolsRefused())
    assert found.rows("scp/prod/e/kr-west1/node_pools") == "0"


KEYS = "check scp[0].access_key_env, scp[0].secret_key_env: wrong, expired"
SERVICE = "subscribe the account to Multi-node GPU Cluster"
GRANT = "grant the owner of scp[0].access_key_env the permission named here"
OTHER = "something else than the API answered"
RATE = "lower scp[0].polling.requests_per_second (now 10000)"
REDIRECT = Status(status=302, headers={"Location": "http://127.0.0.1:9/"}, body="")


@pytest.mark.parametrize(
    ("faults", "reason", "said"),
    [
        ([Refuse()], "auth", KEYS),
        ([Refuse(reason="not_entitled")], "forbidden", SERVICE),
        ([Refuse(reason="forbidden")], "forbidden", GRANT),
        ([Status(status=404, body="<html>x</html>")], "not_found", "check scp[0].endpoint and scp"),
        ([Status(status=404)], "not_found", "scp[0].api_version (now 1.2)"),
        ([RateLimit(seconds=99999)], "rate_limited", RATE),
        ([RateLimit()], "rate_limited", "scp[0].polling.max_concurrent_requests (now 4)"),
        ([Status(status=400, body="no")], "bad_request", "check scp[0].api_version, scp[0].acc"),
        ([Status(status=502)], "server_error", "try again later"),
        ([Html()], "bad_response", OTHER),
        ([REDIRECT], "bad_response", OTHER),
        ([ErrorBody()], "bad_response", OTHER),
        ([NullList()], "bad_response", "or an API that changed"),
        ([Truncate()], "bad_response", "check scp[0].endpoint"),
        ([Reset()], "connection", "check scp[0].endpoint"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_failure_says_what_to_do(
    directory: Path, simulator: Simulator, faults: list[AnyFault], reason: str, said: str
) -> None:
    """One line names the key or the permission; nothing is asked a second time."""
    limited = [fault.model_copy(update={"path": "/v1/gpu-nodes$"}) for fault in faults]
    found = await ask(directory, simulator, *limited)
    assert found.status() == reason
    what, _, remedy_said = found.line().partition(" -> ")
    assert what.startswith(f"{NODES}: {reason}: ")
    assert said in remedy_said
    assert len(found.lines) == 1
    refused = 3 if reason == "bad_request" else 1  # a page size may be what is refused
    asked = [one for one in simulator.requests if one.path.endswith("/v1/gpu-nodes")]
    assert len(asked) == refused


async def test_what_nsml_refuses_names_nsmls_keys(directory: Path, simulator: Simulator) -> None:
    """Its accounts have an API key too, and its service another name."""
    found = await ask(directory, simulator, Refuse(cloud="nsml"))
    keys = "nsml[0].access_key_env, nsml[0].secret_key_env, nsml[0].api_key_env"
    assert keys in found.line("nsml/research/projects")
    assert found.status() == "ok"
    simulator.faults.clear()
    found = await ask(directory, simulator, Refuse(cloud="nsml", reason="not_entitled"))
    assert "subscribe the account to CLOVA NSML" in found.line("nsml/research/projects")
    simulator.faults.clear()
    found = await ask(directory, simulator, Refuse(cloud="nsml", reason="forbidden"))
    assert "permission to list these" in found.line("nsml/research/projects")
    simulator.faults.clear()
    found = await ask(directory, simulator, Status(cloud="nsml", status=404))
    assert "nsml[0].endpoint, which ends in a path" in found.line("nsml/research/projects")
    simulator.faults.clear()
    found = await ask(directory, simulator, Status(cloud="nsml", status=400))
    assert "ids in nsml[0].runs" in found.line("nsml/research/projects")


async def test_a_clock_that_is_wrong_is_named(directory: Path, simulator: Simulator) -> None:
    """Both clouds refuse what is signed seven minutes ahead: the keys are not to blame."""
    found = await ask(directory, simulator, clock=WrongClock())
    assert found.status() == "auth"
    for target in (NODES, "nsml/research/projects"):
        assert "set this machine's clock" in found.line(target)
        assert "s ahead of the cloud's" in found.line(target)
        assert "access_key" not in found.line(target)


async def test_a_clock_that_is_behind_is_told_as_such(
    directory: Path, simulator: Simulator
) -> None:
    """By the Date of the answer that refuses."""
    found = await ask(directory, simulator, Refuse(), DateSkew(seconds=420))
    assert "s behind the cloud's" in found.line()


async def test_secrets_that_cannot_be_read_are_named(directory: Path, simulator: Simulator) -> None:
    """By the key, as the file spells it."""
    config = read_config(directory, usual(simulator.url), simulator.credentials)
    async with Application(environ={}) as application:
        await application.apply(config, loops=False)
        found = Found(config, await probe.probe(application.pollers))
    assert "no credentials: access_key: " in found.line()
    assert "one of scp[0].access_key_env, scp[0].secret_key_env" in found.line()


async def test_an_endpoint_that_nobody_listens_at_is_named(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the switch for a proxy, or, where it is on, with the variables that name one."""
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        text = usual(f"http://127.0.0.1:{free.getsockname()[1]}")
        found = await ask(directory, simulator, text=text)
        assert found.status() == "connection"
        assert "check scp[0].endpoint" in found.line()
        assert "http_client.proxy_from_environment: true" in found.line()
        text += "http_client: {proxy_from_environment: true}\n"
        found = await ask(directory, simulator, text=text)
        assert "HTTPS_PROXY, HTTP_PROXY and NO_PROXY" in found.line()


async def test_a_proxy_that_refuses_is_named(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its variables are, and not the endpoint; the password in one is not shown."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    switch = "http_client: {proxy_from_environment: true}\n"
    async with proxy("Basic another") as refusing:
        address = f"http://user:made-up-password@127.0.0.1:{refusing.port}"
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, address)
        plain = await ask(directory, simulator, text=usual(simulator.url) + switch)
        tunnel = usual(simulator.url.replace("http:", "https:")) + switch
        tunnelled = await ask(directory, simulator, text=tunnel)
    for found in (plain, tunnelled):
        assert "check the proxy that the environment names" in found.line()
        assert "made-up-password" not in str(found.lines)


async def test_a_proxy_that_is_no_address_is_named(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not shown, for it may hold a password."""
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", "socks5://user:made-up-password@127.0.0.1:9")
    text = usual(simulator.url) + "http_client: {proxy_from_environment: true}\n"
    found = await ask(directory, simulator, text=text)
    assert "HTTP_PROXY is no http or https address" in found.line()
    assert "made-up-password" not in str(found.lines)


@pytest.mark.tool("openssl")
async def test_a_certificate_that_is_not_trusted_names_the_file(
    directory: Path, simulator: Simulator, tool: str
) -> None:
    """The key that takes it is, without one and with the wrong one; the right one makes it good."""
    authority, certificate = make_certificates(tool, directory)
    url = await serve_tls(simulator, certificate)
    found = await ask(directory, simulator, text=usual(url))
    assert found.status() == "tls"
    assert "name a file with the authority" in found.line()
    assert found.line().endswith(": http_client.ca_file")
    (directory / "other").mkdir()
    make_certificates(tool, directory / "other")
    text = usual(url) + "http_client: {ca_file: other/ca.pem}\n"
    found = await ask(directory, simulator, text=text)
    assert "add the authority that signed the certificate" in found.line()
    text = usual(url) + f"http_client: {{ca_file: {authority.name}}}\n"
    found = await ask(directory, simulator, text=text)
    assert found.status() == "ok"


@pytest.mark.tool("openssl")
async def test_a_certificate_of_another_host_names_the_endpoint(
    directory: Path, simulator: Simulator, tool: str
) -> None:
    """The certificate is trusted, but it is for 127.0.0.1."""
    authority, certificate = make_certificates(tool, directory)
    url = (await serve_tls(simulator, certificate)).replace("127.0.0.1", "localhost")
    text = usual(url) + f"http_client: {{ca_file: {authority.name}}}\n"
    found = await ask(directory, simulator, text=text)
    assert found.status() == "tls"
    assert "another than the one that scp[0].endpoint names" in found.line()


async def test_a_port_without_tls_names_the_endpoint(directory: Path, simulator: Simulator) -> None:
    """There is no certificate to trust."""
    found = await ask(directory, simulator, text=usual(simulator.url.replace("http:", "https:")))
    assert found.status() in {"tls", "connection"}
    assert "scp[0].endpoint" in found.line()


async def test_a_cloud_that_hangs_is_waited_for_once(directory: Path, simulator: Simulator) -> None:
    """For as long as a request may take; the key that says how long is named."""
    polling = "interval: 30s, request_timeout: 200ms"
    found = await ask(directory, simulator, Hang(), text=usual(simulator.url, polling))
    assert found.status() == "timeout"
    assert "no whole answer within 0.2 s" in found.line()
    assert "scp[0].polling.request_timeout (now 0.2)" in found.line()
    assert len(simulator.requests) <= CALLS


async def test_all_calls_together_are_bounded(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one request may take long, and those of an account wait for each other."""
    monkeypatch.setattr(probe, "PATIENCE_SECONDS", 0.05)
    polling = "interval: 30s, max_concurrent_requests: 1"
    found = await ask(directory, simulator, Hang(), text=usual(simulator.url, polling))
    statuses = {each.failure.reason for each in found.probes if each.failure}
    assert statuses == {"timeout"}
    assert "no answer within 0.05" in found.line()


async def test_a_budget_of_few_calls_is_waited_for(directory: Path, simulator: Simulator) -> None:
    """A target may wait as long as its account's calls take at the rate that is configured."""
    text = usual(simulator.url, "interval: 30s").replace("10000", "0.5")
    config = read_config(directory, text, simulator.credentials)
    async with Application(environ=simulator.credentials) as application:
        await application.apply(config, loops=False)
        clients = [poller.client for poller in application.pollers]
        assert math.isclose(probe._patience(clients[0], clients), 60 + 6 / 0.5)


async def test_a_region_that_hangs_holds_up_no_other(directory: Path) -> None:
    """Regions and clouds have budgets of their own: their probes end while it still hangs."""
    places = (Place("e", "kr-west1"), Place("e", "kr-east1"))
    async with (
        Simulator(8, seed=3, speed=0, alive=False, places=places) as simulator,
        Application(environ=simulator.credentials) as application,
    ):
        simulator.faults.add(Hang(region="kr-east1"))
        config = read_config(directory, config_text(simulator.url), simulator.credentials)
        await application.apply(config, loops=False)
        probes = [probe.Probe(poller) for poller in application.pollers]
        tasks = {each.poller.collector.target: asyncio.ensure_future(each.ask()) for each in probes}
        await asyncio.gather(*(tasks[target] for target in tasks if target.region != "kr-east1"))
        assert {target.region for target in tasks if not tasks[target].done()} == {"kr-east1"}
        simulator.faults.clear()
        await asyncio.gather(*tasks.values())
    failed = {each.poller.collector.target.region for each in probes if each.failure}
    assert failed == {"kr-east1"}


def runs_only(url: str, **options: object) -> str:
    """Write a configuration of NSML alone, with more keys."""
    _scp, _, nsml = config_text(url).partition("nsml:\n")
    more = "".join(f"    {key}: {value}\n" for key, value in options.items())
    return "nsml:\n" + nsml + more


async def test_without_a_run_there_is_nothing_to_ask(directory: Path, simulator: Simulator) -> None:
    """That is said, and is no failure."""
    text = runs_only(simulator.url, projects="[nobody]")
    found = await ask(directory, simulator, text=text)
    assert found.status("nsml/research/run_nodes") == "ok"
    assert found.rows("nsml/research/run_nodes") == "0"
    assert "no run is in progress" in found.line("nsml/research/run_nodes")


async def test_a_run_that_is_over_is_not_asked_for(directory: Path, simulator: Simulator) -> None:
    """The first one that goes on is; where none does, that is said."""
    asked = []
    for states in (["IN_PROGRESS"], ["COMPLETED", "IN_PROGRESS"], ["COMPLETED"]):
        simulator.faults.clear()
        listed = [f"RUN_STATE_{state}" for state in states]
        fault = States(values=listed, path="/projects/runs$")
        found = await ask(directory, simulator, fault, text=runs_only(simulator.url))
        asked.append([one.path for one in simulator.requests if one.path.endswith("/nodes")])
        assert found.status("nsml/research/run_nodes") == "ok"
    assert len(asked[0]) == 1
    assert len(asked[1]) == 2
    assert asked[1][0] != asked[1][1]
    assert asked[2] == asked[1]
    assert "no run is in progress" in found.line("nsml/research/run_nodes")


async def test_a_configured_run_is_asked_for(directory: Path, simulator: Simulator) -> None:
    """Itself and its nodes; one that is not there is named, with its key."""
    [run, *_] = [
        run
        for project in simulator.truth().nsml.projects
        for run in project.runs
        if run.state and run.nodes
    ]
    project_id, run_name = run.id.split("/")
    there = f'[{{project_id: {project_id}, run_name: "{run_name}"}}]'
    text = runs_only(simulator.url, discover="false", runs=there)
    found = await ask(directory, simulator, text=text)
    assert found.rows("nsml/research/runs") == "1"
    assert found.status("nsml/research/run_nodes") == "ok"
    gone = f'[{{project_id: {project_id}, run_name: "999"}}]'
    text = runs_only(simulator.url, discover="false", runs=gone)
    found = await ask(directory, simulator, text=text)
    [line] = found.lines
    missing = f"the configured run is not there: {project_id}/999: "
    assert line.startswith(f"nsml/research/runs and 1 more: not_found: {missing}")
    assert line.endswith(" -> take a run that is over out of nsml[0].runs")


async def test_what_happened_to_many_is_told_once(directory: Path, simulator: Simulator) -> None:
    """A cloud that refuses all lists is one line, beside the one for the other cloud."""
    found = await ask(directory, simulator, Status(cloud="scp", status=404), Refuse(cloud="nsml"))
    assert [line.partition(": ")[0] for line in found.lines] == [
        f"{NODES} and 5 more", "nsml/research/projects and 2 more",
    ]  # fmt: skip


def test_an_address_that_is_not_configured_is_told_by_what_makes_it() -> None:
    """Nobody looks for a key that the file does not have."""
    scp = {
        "account": "a",
        "environment": "s",
        "regions": ("kr-west1",),
        "access_key": KEY,
        "secret_key": KEY,
    }
    nsml = {"account": "b", "access_key": KEY, "secret_key": KEY, "api_key": KEY}
    config = Config.model_validate({"scp": (scp,), "nsml": (nsml,)})
    for path, account, keys in (
        ("scp[0]", config.scp[0], "check scp[0].environment and scp[0].regions, which make"),
        ("nsml[0]", config.nsml[0], "check nsml[0].endpoint, which is the public one where"),
    ):
        setting = Setting(path, account, config.http_client)
        assert remedy("connection", "no such host", setting).startswith(keys)


async def test_a_listed_run_that_is_gone_is_named(directory: Path, simulator: Simulator) -> None:
    """It may have ended between the two calls."""
    found = await ask(directory, simulator, ChildrenGone(cloud="nsml"))
    assert "a run that was listed is not there" in found.line("nsml/research/run_nodes")
    assert "try again" in found.line("nsml/research/run_nodes")


async def test_an_answer_without_end_is_a_bad_response(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more is read than a poll would."""
    monkeypatch.setattr("exporter.clouds.http.MAX_BODY_BYTES", 2**16)
    found = await ask(directory, simulator, Oversize(path="/v1/gpu-nodes$", size=2**17))
    assert found.status() == "bad_response"


async def test_a_defect_ends_one_probe_alone(
    directory: Path, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, log: io.StringIO
) -> None:
    """Its traceback is in the log, and the others have their answers."""

    async def broken(*_: object) -> None:
        raise RuntimeError("made-up defect")

    monkeypatch.setattr(probe, "_first_nodes", broken)
    found = await ask(directory, simulator)
    assert found.status("nsml/research/run_nodes") == "internal"
    assert "RuntimeError, see the log" in found.line("nsml/research/run_nodes")
    assert "please report it" in found.line("nsml/research/run_nodes")
    assert "made-up defect" in log.getvalue()
    assert found.status() == "ok"


async def test_a_collector_of_a_new_kind_is_a_defect(directory: Path, simulator: Simulator) -> None:
    """It is told, and not passed over."""
    config = read_config(directory, usual(simulator.url), simulator.credentials)
    async with Application(environ=simulator.credentials) as application:
        await application.apply(config, loops=False)
        poller = next(application.pollers)
        poller.collector = object()  # type: ignore[assignment]  # no collector at all
        with pytest.raises(TypeError, match="nothing is known of a object"):
            await probe._first(poller.collector, lambda: None)  # type: ignore[arg-type,return-value]  # not called


def test_a_table_has_its_columns_below_each_other() -> None:
    """Also without any target."""
    assert probe.table([]) == ["target  status  latency  rows"]


@pytest.mark.parametrize(
    ("reason", "message", "said"),
    [
        ("partial", "not all could be read whole: forbidden: HTTP 403: no", "grant the owner"),
        ("partial", "not all could be read whole: two walks over the pages differ", "try again"),
        ("tls", "certificate verify failed: certificate has expired", "this machine's clock"),
        ("internal", "KeyError, see the log", "please report it"),
    ],
)
async def test_what_only_a_whole_poll_meets_has_a_remedy_too(
    directory: Path, simulator: Simulator, reason: str, message: str, said: str
) -> None:
    """Of a partial one it is that of the part that failed."""
    config = read_config(directory, usual(simulator.url), simulator.credentials)
    setting = Setting("scp[0]", config.scp[0], config.http_client)
    assert said in remedy(reason, message, setting)
