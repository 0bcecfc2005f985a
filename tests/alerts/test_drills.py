"""The alerts' unit tests: that promtool passes them, and that they are whole and up to date."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from recordings import __main__ as recordings
from recordings.playbill import DRILLS
from recordings.rules import ALERTS, FILES
from tests.alerts import drills
from tests.alerts.test_rules import CONTRACT, EXPORTED, SCRAPED

NEWEST = "v0.316.0"  # of the module, which is Prometheus 3.16.0
# Those that take seconds; the rest are for `make scale`.
QUICK = {"deletions", "large", "ranks", "removed", "stops", "versions"}
SITE = {"cluster", "environment", "region", "team"}  # what a site adds to the targets of a drill
# Labels that an empty value leaves out: a Prometheus does not tell the two apart.
MAY_BE_EMPTY = {"environment", "region", "rank", "policy_nat"}
# What can't be deleted: that nothing can be scraped is what it tells of.
UNDELETABLE = {"GpuClusterExporterDown"}

PICTURES = list(drills.pictures())
each_alert = pytest.mark.parametrize("alert", CONTRACT)
each_file = pytest.mark.parametrize(
    "file",
    [
        pytest.param(file, marks=() if file.stem in QUICK else pytest.mark.scale)
        for file in drills.FILES
    ],
    ids=lambda file: file.stem,
)


def run(*command: str | Path) -> str:
    """Run promtool; return all that it says where it finds fault, else the empty text."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.fixture(scope="session")
def newest() -> Path:
    """Give promtool of the newest release, built once and kept outside of the repository."""
    if shutil.which("go") is None:
        pytest.skip("NEEDS go")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "gpu-cluster-exporter" / f"prometheus-{NEWEST}"
    if not (folder / "promtool").is_file():
        module = f"github.com/prometheus/prometheus/cmd/promtool@{NEWEST}"
        environ = {**os.environ, "GOBIN": str(folder)}
        built = subprocess.run(["go", "install", module], env=environ, check=False)  # noqa: S603, S607
        if built.returncode != 0:
            pytest.skip("NEEDS go and its modules")
    return folder / "promtool"


@pytest.mark.tool("promtool")
def test_the_rules_load(tool: str) -> None:
    """Debian's Prometheus takes every rule file."""
    assert run(tool, "check", "rules", *(ALERTS / file for file in FILES)) == ""


@pytest.mark.tool("promtool")
@each_file
def test_the_alerts_do_what_they_should(tool: str, file: Path) -> None:
    """In every drill exactly those alerts fire that should."""
    assert run(tool, "test", "rules", file) == ""


@pytest.mark.scale
def test_the_newest_prometheus_agrees(newest: Path) -> None:
    """The newest release loads all rules, and passes all tests."""
    assert run(newest, "check", "rules", *(ALERTS / file for file in FILES)) == ""
    assert run(newest, "test", "rules", *drills.FILES) == ""


@each_alert
def test_an_alert_is_seen_to_fire(alert: str) -> None:
    """A test has it fire, and one checks all its labels and annotations."""
    assert any(alert in picture.alerts for picture in PICTURES)
    checks = [
        check
        for file in drills.FILES
        for test in drills.tests_of(file)
        for check in test.get("alert_rule_test", [])
        if check["alertname"] == alert and check["exp_alerts"]
    ]
    assert checks


@each_alert
def test_an_alert_is_seen_not_to_fire(alert: str) -> None:
    """In a drill in which it fires there is a moment before at which it does not."""
    assert any(
        alert not in before.alerts and alert in later.alerts
        for before in PICTURES
        for later in PICTURES
        if before.drill == later.drill and before.seconds < later.seconds
    )


@each_alert
def test_an_alert_is_seen_in_an_outage(alert: str) -> None:
    """A test has it fire while nothing new is heard, or, of the outage itself, because of it."""
    assert any(alert in each.alerts for each in PICTURES if each.phase == "outage")


@each_alert
def test_an_alert_is_seen_to_end_with_what_it_tells_of(alert: str) -> None:
    """When the object or target was deleted, or is deleted by plan, it does not fire."""
    deleted = {
        each.drill for each in PICTURES if each.phase == "deleted" and alert not in each.alerts
    }
    assert deleted or alert in UNDELETABLE
    fired = {each.drill for each in PICTURES if alert in each.alerts}
    assert deleted & fired or alert in UNDELETABLE | {"ScpGpuNodeVanished"}


def test_no_alert_on_objects_begins_in_an_outage() -> None:
    """What fires in an outage of the API fired before it, but for the exporter's own alerts."""
    for drill in DRILLS:
        before: frozenset[str] = frozenset()
        for picture in (each for each in PICTURES if each.drill == drill):
            if picture.phase == "outage":
                began = {name for name in picture.alerts - before if "Exporter" not in name}
                assert began == set(), picture
            before = picture.alerts


@pytest.mark.parametrize("file", drills.FILES, ids=lambda file: file.stem)
def test_a_recording_has_the_series_that_the_exporter_writes(file: Path) -> None:
    """A metric or label that was renamed since makes the recording out of date."""
    for test in drills.tests_of(file):
        for series in test["input_series"]:
            name, _, text = series["series"].partition("{")
            labels = {part.partition("=")[0] for part in text.rstrip("}").split('",') if part}
            if name != "drill_phase":
                allowed = EXPORTED[name] | SCRAPED | SITE
                assert labels <= allowed, name
                assert EXPORTED[name] - labels <= MAY_BE_EMPTY, name


def test_every_drill_is_recorded() -> None:
    """Each test file holds one recording, of the drill of its name."""
    assert {file.stem for file in drills.FILES} == set(DRILLS)
    for file in drills.FILES:
        assert [name for name, _ in recordings.blocks(file.read_text())] == [file.stem]


@pytest.mark.tool("promtool")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "removed" else pytest.mark.scale) for name in DRILLS],
)
def test_a_drill_performed_anew_has_the_same_alerts_fire(
    name: str, tmp_path: Path, tool: str
) -> None:
    """What the exporter writes today has the series of the recording, and the same outcome.

    How long polls and retries took differs, and with it durations in annotations.
    """
    text = (ALERTS / "tests" / f"{name}.yml").read_text()
    [test] = yaml.safe_load(text)["tests"]
    anew = yaml.safe_load(recordings.block(name, "", tmp_path))
    assert {each["series"] for each in anew} == {each["series"] for each in test["input_series"]}
    test = {key: value for key, value in test.items() if key != "alert_rule_test"}
    document = {
        **yaml.safe_load(text),
        "rule_files": [str(ALERTS / file) for file in FILES],
        "tests": [{**test, "input_series": anew}],
    }
    file = tmp_path / "anew.yml"
    file.write_text(yaml.safe_dump(document))
    assert run(tool, "test", "rules", file) == ""
