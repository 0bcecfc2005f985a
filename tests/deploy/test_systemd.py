"""The unit of deploy/systemd, as far as systemd can judge it without running it."""

import re
from pathlib import Path

import pytest

from exporter import flags
from exporter.config import load
from tests.deploy.objects import ROOT
from tests.deploy.programs import run

FOLDER = ROOT / "deploy" / "systemd"
UNIT = FOLDER / "gpu-cluster-exporter.service"
PROGRAM = "/opt/gpu-cluster-exporter/bin/gpu-cluster-exporter"
CREDENTIALS = f"/run/credentials/{UNIT.name}/"
MOST_EXPOSED = 15
"""Tenths, of 100; systemd calls a service of up to 20 well protected."""


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Give the unit with a program that exists on every machine in the exporter's place."""
    path = tmp_path / UNIT.name
    path.write_text(UNIT.read_text().replace(PROGRAM, "/bin/true"))
    return path


def values(key: str) -> list[str]:
    """Return what the unit says under a key."""
    return re.findall(rf"(?m)^{key}=(.*)$", UNIT.read_text())


@pytest.mark.tool("systemd-analyze")
def test_systemd_knows_every_line_of_it(tool: str, unit: Path) -> None:
    """A key that is misspelt is a warning, which nobody would ever read."""
    assert run(tool, "verify", "--man=no", unit) == ""


@pytest.mark.tool("systemd-analyze")
def test_what_it_may_do_is_little(tool: str, unit: Path) -> None:
    """By systemd's own measure, which fails here when a protection is taken away."""
    run(tool, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", unit)


def test_its_command_is_one_that_exists() -> None:
    """The program of the steps in docs/deployment.md, with a configuration file."""
    [start] = values("ExecStart")
    program, *argv = start.split()
    parsed = flags.parse(argv)
    assert (program, parsed.command) == (PROGRAM, "serve")
    assert parsed.config_file == Path("/etc/gpu-cluster-exporter/gpu-cluster-exporter.yml")


def test_a_reload_is_the_signal() -> None:
    """The process itself keeps the old configuration where the new one is wrong."""
    assert values("ExecReload") == ["/bin/kill -HUP $MAINPID"]


def test_the_keys_are_credentials_that_the_configuration_asks_for(tmp_path: Path) -> None:
    """Each key that is asked for is given, no other is, and with them the file is accepted."""
    names = {name for name, _ in (each.split(":") for each in values("LoadCredential"))}
    text = (FOLDER / "gpu-cluster-exporter.yml").read_text()
    assert set(re.findall(rf"_file: {re.escape(CREDENTIALS)}(.+)", text)) == names
    for name in names:
        (tmp_path / name).write_text("made-up\n")
    (tmp_path / "config.yml").write_text(text.replace(CREDENTIALS, f"{tmp_path}/"))
    loaded = load(tmp_path / "config.yml", {})
    assert [each.account for each in (*loaded.scp, *loaded.nsml)] == ["prod", "research"]
