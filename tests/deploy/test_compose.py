"""The stack of deploy/docker-compose.yml, as far as it can be read without an engine."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.config import load
from tests.deploy.objects import ROOT
from tests.deploy.programs import BIN, outcome, run

DEPLOY = ROOT / "deploy"
FILE = DEPLOY / "docker-compose.yml"
STACK = yaml.safe_load(FILE.read_text())
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
OWN = ("exporter", "demo")
YAML = ("--default-filetype=yaml", "-")


def mounts(name: str) -> dict[str, Path]:
    """Return what a service mounts from the repository, by its place in the container."""
    volumes = [each.split(":") for each in SERVICES[name].get("volumes", [])]
    return {place: DEPLOY / source for source, place, *_ in volumes if source.startswith(".")}


def test_it_is_a_compose_file() -> None:
    """The compose specification's own schema accepts it, and would not accept everything."""
    check = (BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", *YAML)
    run(*check, stdin=FILE.read_text())
    assert outcome(*check, stdin=FILE.read_text() + "\nservice: {}\n").returncode != 0


@pytest.mark.parametrize("name", SERVICES)
def test_all_that_is_mounted_is_there_and_read_only(name: str) -> None:
    """Docker makes an empty directory of a file that is missing."""
    for place, source in mounts(name).items():
        assert source.exists(), source
        assert f":{place}:ro" in "\n".join(SERVICES[name]["volumes"])


@pytest.mark.parametrize("name", SERVICES)
def test_images_have_a_version_and_ports_are_this_machines(name: str) -> None:
    """Nothing changes by itself, and nobody else on the network sees it."""
    assert re.search(r":v?\d+\.\d+\.\d+$", SERVICES[name]["image"])
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name]["ports"])


def test_either_exporter_is_known_by_the_one_name() -> None:
    """Which of the two runs is the profile's choice; without one there is none of them."""
    assert [SERVICES[name]["profiles"] for name in OWN] == [["account"], ["demo"]]
    for name in OWN:
        assert SERVICES[name]["networks"]["default"]["aliases"] == ["exporter"]
        assert SERVICES[name]["read_only"] is True
    assert not any("profiles" in SERVICES[name] for name in SERVICES.keys() - OWN)


def test_the_commit_comes_from_a_variable() -> None:
    """Whoever gives it sees it in build_info; nobody has to."""
    for name in OWN:
        assert SERVICES[name]["build"] == {"context": "..", "args": {"REVISION": "${REVISION:-}"}}


def test_the_demo_is_reached_from_other_containers() -> None:
    """By itself it listens on loopback, which is the container's own."""
    assert SERVICES["demo"]["command"] == ["demo", "--web.listen-address=:10110"]
    assert "volumes" not in SERVICES["demo"]


def test_prometheus_differs_from_the_example_in_addresses_alone() -> None:
    """What is said of the one is true of the other."""
    example, here = (
        yaml.safe_load((DEPLOY / name).read_text())
        for name in ("prometheus.yml", "compose/prometheus.yml")
    )
    text = json.dumps(example).replace("127.0.0.1:9093", "alertmanager:9093")
    assert json.loads(text.replace("127.0.0.1:10110", "exporter:10110")) == here


@pytest.mark.tool("promtool")
def test_prometheus_loads_its_configuration_and_the_rules(tool: str, tmp_path: Path) -> None:
    """From where they are mounted to."""
    for place, source in mounts("prometheus").items():
        target = tmp_path / Path(place).relative_to("/etc/prometheus")
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    told = run(tool, "check", "config", tmp_path / "prometheus.yml")
    assert "4 rule files found" in told


@pytest.mark.tool("amtool")
def test_alertmanager_loads_its_configuration(tool: str) -> None:
    """The one that is mounted."""
    run(tool, "check-config", mounts("alertmanager")["/etc/alertmanager/alertmanager.yml"])


def test_grafana_finds_the_dashboards_and_prometheus() -> None:
    """Where its provisioning looks for them, and by the name that the service has."""
    provisioning = mounts("grafana")["/etc/grafana/provisioning"]
    read = [yaml.safe_load(path.read_text()) for path in provisioning.rglob("*.yml")]
    [folder] = [each["options"]["path"] for one in read for each in one.get("providers", [])]
    assert list(mounts("grafana")[folder].glob("*.json"))
    [source] = [each["url"] for one in read for each in one.get("datasources", [])]
    assert source == "http://prometheus:9090"
    assert "prometheus" in SERVICES


def test_the_account_that_is_to_be_filled_in_is_accepted(tmp_path: Path) -> None:
    """Once the keys are there, which no commit can take along."""
    folder = shutil.copytree(mounts("exporter")["/etc/gpu-cluster-exporter"], tmp_path / "etc")
    for name in ("scp-access-key", "scp-secret-key"):
        (folder / "secrets" / name).write_text("made-up\n")
    for name in ("ncp-access-key", "ncp-secret-key", "ncp-api-key"):
        (folder / "secrets" / name).write_text("made-up\n")
    loaded = load(folder / "gpu-cluster-exporter.yml", {})
    assert [each.account for each in (*loaded.scp, *loaded.nsml)] == ["prod", "research"]
    assert (folder / "secrets" / ".gitignore").read_text().split()[-2:] == ["*", "!.gitignore"]
