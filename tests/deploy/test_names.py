"""One port, command, image, job and version: over all of deploy/, and the Dockerfile."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter import __version__, flags
from tests.deploy.objects import CHART, ROOT, commands, manifests, of_kind

DEPLOY = ROOT / "deploy"
NAME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
IMAGE = f"{NAME}:{__version__}"
TEXTS = [
    path
    for path in sorted(DEPLOY.rglob("*"))
    if path.suffix in {".yml", ".yaml", ".tpl", ".txt", ".service", ".json"}
    and not {"files", "dashboards"} & {*path.relative_to(DEPLOY).parts}
]
FLAG = re.compile(r"--(?:web|config|log|simulator)\.[a-z.-]+[a-z]")


def strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - YAML
    """Yield every text of a document."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def documents() -> Iterator[tuple[Path, Any]]:
    """Yield each file of deploy/ that is YAML without more."""
    for path in TEXTS:
        if path.suffix in {".yml", ".yaml"} and "templates" not in path.parts:
            yield path, yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_each_file_means_the_same_port(path: Path) -> None:
    """Whatever looks like the exporter's port is it."""
    assert set(re.findall(r"\b10[01]\d\d\b(?!\w)", path.read_text())) <= {str(flags.PORT)}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(DEPLOY)))
def test_each_flag_that_is_named_exists(path: Path) -> None:
    """Also in comments; flags of Prometheus and the like are theirs."""
    own = FLAG.findall(path.read_text())
    if path.name in {"docker-compose.yml", *OF_PROMETHEUS}:
        own = [flag for flag in own if flag in KNOWN]
    assert set(own) <= KNOWN


OF_PROMETHEUS = {path.name for path in DEPLOY.rglob("prometheus*.yml")}
KNOWN = set(FLAG.findall((ROOT / "exporter" / "flags.py").read_text()))


def test_each_command_is_one_that_the_exporter_takes() -> None:
    """The Deployment, its probes and both services of the compose file, by the real parser."""
    found = commands(of_kind([each for _, each in manifests()], "Deployment"))
    stack = yaml.safe_load((DEPLOY / "docker-compose.yml").read_text())
    assert flags.parse(found["run"]).command == "serve"
    assert flags.parse(found["livenessProbe"]).url.endswith(f":{flags.PORT}")
    assert flags.parse(found["readinessProbe"]).ready is True
    assert flags.parse(stack["services"]["demo"]["command"]).addresses == [f":{flags.PORT}"]


def test_the_image_is_one_and_of_this_version() -> None:
    """A release changes it in each place, or this fails."""
    own = {
        text
        for path, document in documents()
        if path.parent.name != "ci"
        for text in strings(document)
        if re.fullmatch(rf"[\w./-]*{NAME}:[\w.-]+", text)
    }
    assert own == {IMAGE}
    for path in (ROOT / "Dockerfile", ROOT / "docs" / "deployment.md"):
        assert f"docker build --tag {IMAGE} " in path.read_text()


def test_the_chart_is_of_this_version() -> None:
    """Its image is that of its appVersion, and both versions go together."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["name"], str(chart["appVersion"])) == (NAME, __version__)
    assert str(chart["version"]) == __version__
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["image"] == {
        "repository": NAME,
        "tag": "",
        "digest": "",
        "pullPolicy": "IfNotPresent",
    }


def test_every_scrape_is_of_the_job_that_the_rules_know() -> None:
    """And keeps the exporter's own labels."""
    rules = (ROOT / "alerts" / "exporter.yml").read_text()
    [job] = set(re.findall(r'up\{job="([^"]+)"\}', rules))
    assert job == NAME
    for path, document in documents():
        for scrape in document.get("scrape_configs", []):
            assert (scrape["job_name"], scrape["honor_labels"]) == (job, True), path
        for key in ("endpoints", "podMetricsEndpoints"):
            for endpoint in document.get("spec", {}).get(key, []) if "kind" in document else []:
                assert endpoint["honorLabels"] is True
                assert {"targetLabel": "job", "replacement": job} in endpoint["relabelings"]
