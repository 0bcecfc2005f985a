"""Who gets which alert, what is told together, and what is silenced by what.

Asked of Alertmanager itself: its tool for the routes, a running one for groups and inhibitions.
"""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
import yaml

from recordings import rules
from tests.alerts import examples, servers
from tests.alerts.examples import GROUPS, INHIBITIONS, ROUTES, Alert
from tests.alerts.servers import DEPLOY, Server, alertmanager
from tests.alerts.webhook import Webhook

SHIPPED = DEPLOY / "alertmanager.yml"
PATIENCE_SECONDS = 20.0
PAUSE_SECONDS = 0.02


def run(*command: str) -> str:
    """Run a command that has to succeed; return what it said."""
    done = subprocess.run(  # noqa: S603 - a tool that was found
        command, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.tool("amtool")
def test_the_example_for_alertmanager_is_valid(tool: str) -> None:
    """Alertmanager's own tool accepts it, with all of its parts."""
    said = run(tool, "check-config", str(SHIPPED))
    assert f"{len(servers.shipped('alertmanager.yml')['inhibit_rules'])} inhibit rules" in said
    assert "3 receivers" in said


@pytest.mark.tool("amtool")
def test_its_office_hours_are_valid_too(tool: str, tmp_path: Path) -> None:
    """With the comments taken from what is commented out, it is as good."""
    config = uncommented(SHIPPED, "time_intervals:", "active_time_intervals:")
    (tmp_path / "alertmanager.yml").write_text(config)
    assert yaml.safe_load(config)["route"]["routes"][1]["active_time_intervals"]
    assert "SUCCESS" in run(tool, "check-config", str(tmp_path / "alertmanager.yml"))


def uncommented(file: Path, *starts: str) -> str:
    """Return a file in which the blocks of comments that start so are no comments."""
    lines, inside = [], False
    for line in file.read_text().splitlines():
        mark, hash_, text = line.partition("# ")
        comment = bool(hash_) and not mark.strip()
        inside = comment and (inside or text.startswith(starts))
        lines.append(mark + text if inside else line)
    return "\n".join(lines) + "\n"


@pytest.mark.tool("amtool")
@pytest.mark.parametrize(
    ("labels", "receiver"), ROUTES, ids=[labels["alertname"] for labels, _ in ROUTES]
)
def test_severity_decides_who_gets_an_alert(tool: str, labels: Alert, receiver: str) -> None:
    """Critical pages, warning waits for working hours, info is read; the rest is not lost."""
    pairs = [f"{key}={text}" for key, text in labels.items()]
    said = run(tool, "config", "routes", "test", f"--config.file={SHIPPED}", *pairs)
    assert said.split() == [receiver]


def test_examples_are_alerts_of_the_rules() -> None:
    """Each has the name and the severity of one, so that what is tested is what comes."""
    known = {(it.name, it.entry["labels"]["severity"]) for it in rules.read() if it.alert}
    made = [labels for labels, _ in ROUTES if labels != examples.STRANGER]
    for source, told, untold in INHIBITIONS.values():
        made += [source, *told, *untold]
    assert {(labels["alertname"], labels["severity"]) for labels in made} <= known


@pytest.mark.tool("promtool")
def test_the_example_for_prometheus_is_valid(tool: str, tmp_path: Path) -> None:
    """Prometheus' own tool accepts it beside the rules, and finds all of their files."""
    files = sorted((servers.ROOT / "alerts").glob("*.yml"))
    (tmp_path / "alerts").symlink_to(servers.ROOT / "alerts")
    for config in ((DEPLOY / "prometheus.yml").read_text(), with_discovery()):
        (tmp_path / "prometheus.yml").write_text(config)
        said = run(tool, "check", "config", str(tmp_path / "prometheus.yml"))
        assert f"{len(files)} rule files found" in said


def with_discovery() -> str:
    """Return the example for Prometheus with its discovery of GPU nodes."""
    return uncommented(DEPLOY / "prometheus.yml", "- job_name:", "alert_relabel_configs:")


def test_discovery_asks_for_one_account_and_region_at_a_time() -> None:
    """So that a region that can't be reached holds up only itself."""
    jobs = yaml.safe_load(with_discovery())["scrape_configs"]
    [own, *others] = jobs
    assert (own["job_name"], own["honor_labels"]) == ("gpu-cluster-exporter", True)
    assert [job["job_name"] for job in others] == ["dcgm-exporter", "node-exporter"]
    for job in others:
        for discovery in job["http_sd_configs"]:
            query = discovery["url"].partition("/sd/gpu-nodes?")[2]
            asked = dict(pair.split("=") for pair in query.split("&"))
            assert list(asked) == ["port", "account", "environment", "region"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    alertmanager_program: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Server]:
    """Give an Alertmanager with the example, but for the addresses of its receivers."""
    directory = tmp_path_factory.mktemp("alertmanager")
    async with Webhook() as webhook:
        config = servers.alertmanager_config(webhook.url)
        async with alertmanager(alertmanager_program, directory, config) as server:
            yield server


async def fire(server: Server, *alerts: Alert) -> None:
    """Have alerts fire."""
    await server.post("/api/v2/alerts", [{"labels": labels} for labels in alerts])


async def end(server: Server, *alerts: Alert) -> None:
    """Have alerts be over."""
    now = datetime.now(UTC).isoformat()
    await server.post("/api/v2/alerts", [{"labels": labels, "endsAt": now} for labels in alerts])


async def silenced(server: Server) -> list[Alert]:
    """Return the alerts that others silence."""
    found = await server.get("/api/v2/alerts", active="false", silenced="false")
    return [each["labels"] for each in found if each["status"]["inhibitedBy"]]


def sentinel(number: int) -> tuple[Alert, Alert]:
    """Return a page and one that it silences, which have nothing to do with anything else."""
    elsewhere = {"account": f"sentinel-{number}"}
    return (
        examples.at(examples.RUN_DEGRADED, elsewhere),
        examples.at(examples.RUN_NODE_FAILED, elsewhere),
    )


async def is_silenced(server: Server, source: Alert, target: Alert, number: int) -> bool:
    """Return whether one alert silences another, once Alertmanager has thought about both."""
    later, last = sentinel(number)
    for labels in (target, source, last, later):
        await fire(server, labels)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while last not in (found := await silenced(server)):  # noqa: ASYNC110 - another process
            await asyncio.sleep(PAUSE_SECONDS)
    await end(server, source, target, later, last)
    return target in found


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("number", "name"), [*enumerate(INHIBITIONS)], ids=INHIBITIONS)
async def test_what_pages_does_so_once(running: Server, number: int, name: str) -> None:
    """Each source silences what it is about, nothing elsewhere, and no page of another thing."""
    source, told, untold = INHIBITIONS[name]
    for index, target in enumerate((*told, *untold)):
        silent = await is_silenced(running, source, target, 100 * number + index)
        assert silent == (target in told), target


def test_every_inhibition_has_an_example() -> None:
    """Each rule's source stands among the examples, so none goes untested."""
    sources = [source for source, told, _ in INHIBITIONS.values() if told]
    for rule in servers.shipped("alertmanager.yml")["inhibit_rules"]:
        wanted = dict(re.findall(r'(\w+) = "(\w+)"', " ".join(rule["source_matchers"])))
        assert any(wanted.items() <= source.items() for source in sources), wanted


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_what_belongs_together_is_told_together(running: Server) -> None:
    """A fabric is one notification, a run is, and so is the rest of a region or account."""
    everything = [labels for group in GROUPS for labels in group]
    await fire(running, *everything)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sum(map(len, told := await groups(running))) < len(everything):  # noqa: ASYNC110
            await asyncio.sleep(PAUSE_SECONDS)
    await end(running, *everything)
    assert sorted(told) == sorted(map(by_text, GROUPS))


async def groups(server: Server) -> list[list[list[tuple[str, str]]]]:
    """Return the alerts that are told together."""
    found = await server.get("/api/v2/alerts/groups")
    return [by_text([each["labels"] for each in group["alerts"]]) for group in found]


def by_text(alerts: Collection[Alert]) -> list[list[tuple[str, str]]]:
    """Return alerts in an order that is always the same."""
    return sorted(sorted(labels.items()) for labels in alerts)
