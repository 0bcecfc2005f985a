"""The Helm chart, linted and rendered by Helm itself, with several files of values."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter import flags
from exporter.config import load
from exporter.config.models import Config
from tests.deploy import golang
from tests.deploy.objects import (
    CHART,
    OF_THE_OPERATOR,
    RELEASES,
    ROOT,
    Object,
    all_groups,
    commands,
    container,
    of_kind,
    validate,
)
from tests.deploy.programs import outcome, run

CASES = sorted((CHART / "ci").glob("*-values.yaml"))
ALWAYS = {"Deployment": 1, "Pod": 1, "Service": 1}
EXPECTED = {
    "demo": ALWAYS,
    "account": {**ALWAYS, "ConfigMap": 1},
    "replicas": {
        **ALWAYS,
        "ConfigMap": 6,
        "NetworkPolicy": 1,
        "PodDisruptionBudget": 1,
        "PrometheusRule": 1,
        "ServiceMonitor": 1,
    },
    "secured": {"ConfigMap": 1, "Deployment": 1, "PodMonitor": 1, "Secret": 1, "Service": 1},
}
RELEASE = ("gpus", CHART, "--kube-version", f"{RELEASES[-1]}.0")

each_case = pytest.mark.parametrize("case", EXPECTED)


@pytest.fixture(scope="module")
def helm() -> Path:
    """Give Helm."""
    return golang.helm()


def rendered(helm: Path, case: str, *more: str) -> list[Object]:
    """Return the objects that Helm makes of a file of values."""
    values = CHART / "ci" / f"{case}-values.yaml"
    text = run(helm, "template", *RELEASE, "--values", values, *more)
    return [each for each in yaml.safe_load_all(text) if each]


def refused(helm: Path, *settings: str) -> str:
    """Return why Helm does not take settings."""
    done = outcome(helm, "template", *RELEASE, *(f"--set={each}" for each in settings))
    assert done.returncode != 0
    return done.stderr


def closed(schema: Any, whole: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Return the properties of a schema that allows no others, or nothing."""
    schema = whole["$defs"][schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
    found: dict[str, Any] = schema.get("properties", {})
    return found if schema.get("additionalProperties") is False else {}


def test_the_cases_are_those_that_are_expected() -> None:
    """A file of values without an expectation would be no test."""
    assert {path.name.removesuffix("-values.yaml") for path in CASES} == set(EXPECTED)


def test_every_value_is_in_the_schema() -> None:
    """And every key of the schema is shown, with its default, in values.yaml."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(closed(schema, schema)) - {"global"} == set(values)
    for name, part in closed(schema, schema).items():
        if inner := closed(part, schema):
            assert set(values[name]) <= set(inner), name


def test_the_configuration_may_have_every_section() -> None:
    """A section that is added to the exporter has a place in the chart."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(closed(schema["properties"]["config"], schema)) == {"polling", *Config.key_names()}


@pytest.mark.scale
@each_case
def test_helm_finds_nothing_to_complain_of(helm: Path, case: str) -> None:
    """Warnings count as faults."""
    values = CHART / "ci" / f"{case}-values.yaml"
    run(helm, "lint", "--strict", CHART, *RELEASE[2:], "--values", values)


@pytest.mark.scale
@each_case
def test_what_is_rendered_fits_the_published_schemas(helm: Path, case: str) -> None:
    """Of Kubernetes, and of the operator by its own types; and it is all that is asked."""
    objects = rendered(helm, case)
    kinds = [each["kind"] for each in objects]
    assert {kind: kinds.count(kind) for kind in kinds} == EXPECTED[case]
    for each in objects:
        if each["apiVersion"] != OF_THE_OPERATOR:
            validate(each)
    operators = [each for each in objects if each["apiVersion"] == OF_THE_OPERATOR]
    if operators:
        run(golang.operator_types(), stdin=yaml.safe_dump_all(operators))


@pytest.mark.scale
@each_case
def test_each_command_is_one_that_the_exporter_takes(helm: Path, case: str) -> None:
    """What runs and what probes it, by the real parser."""
    deployment = of_kind(rendered(helm, case), "Deployment")
    found = commands(deployment)
    assert flags.parse(found["run"]).command == ("demo" if case == "demo" else "serve")
    assert flags.parse(found["run"]).addresses == [f":{flags.PORT}"]
    for probe in ("livenessProbe", "readinessProbe"):
        asked = flags.parse(found[probe])
        assert asked.url.endswith(f":{flags.PORT}")
        assert asked.ready is (probe == "readinessProbe")


@pytest.mark.scale
@pytest.mark.parametrize("case", sorted(set(EXPECTED) - {"demo"}))
def test_the_configuration_is_accepted(helm: Path, case: str, tmp_path: Path) -> None:
    """As Helm writes it, with the Secret's files beside it."""
    [text] = [
        each["data"]["gpu-cluster-exporter.yml"]
        for each in rendered(helm, case)
        if "gpu-cluster-exporter.yml" in each.get("data", {})
    ]
    (tmp_path / "gpu-cluster-exporter.yml").write_text(text)
    for name in ("scp-access-key", "scp-secret-key", "ncp-access-key", "ncp-secret-key"):
        (tmp_path / name).write_text("made-up")
    (tmp_path / "ncp-api-key").write_text("made-up")
    config = load(tmp_path / "gpu-cluster-exporter.yml", {})
    given = yaml.safe_load((CHART / "ci" / f"{case}-values.yaml").read_text())["config"]
    accounts = [*given.get("scp", []), *given.get("nsml", [])]
    assert [each.account for each in (*config.scp, *config.nsml)] == [
        each["account"] for each in accounts
    ]


@pytest.mark.scale
def test_rules_and_dashboards_are_those_of_the_project(helm: Path) -> None:
    """Their own templates, with braces like Helm's, are left as they are."""
    objects = rendered(helm, "replicas")
    assert of_kind(objects, "PrometheusRule")["spec"]["groups"] == all_groups()
    boards = {
        name: json.loads(text)
        for each in objects
        if each["kind"] == "ConfigMap"
        for name, text in each["data"].items()
        if name.endswith(".json")
    }
    files = (ROOT / "dashboards").glob("*.json")
    assert boards == {path.name: json.loads(path.read_text()) for path in files}


@pytest.mark.scale
def test_the_values_that_the_documentation_shows_are_taken(helm: Path) -> None:
    """With the Secret and the command beside them."""
    page = (ROOT / "docs" / "deployment.md").read_text()
    [shown] = re.findall(r"```yaml\n(# values\.yml\n.*?)```", page, re.DOTALL)
    text = run(helm, "template", *RELEASE, "--values", "-", stdin=shown)
    kinds = {each["kind"] for each in yaml.safe_load_all(text) if each}
    assert {"ServiceMonitor", "PrometheusRule", "NetworkPolicy"} <= kinds


@pytest.mark.scale
def test_parts_can_be_left_out(helm: Path) -> None:
    """Rules, dashboards and the like are switched one by one."""
    off = ("prometheusRule.enabled=false", "dashboards.enabled=false", "replicaCount=1")
    kinds = [each["kind"] for each in rendered(helm, "replicas", *(f"--set={x}" for x in off))]
    assert sorted(kinds) == [
        "ConfigMap",
        "Deployment",
        "NetworkPolicy",
        "Pod",
        "Service",
        "ServiceMonitor",
    ]


@pytest.mark.scale
def test_whatever_the_release_is_called_the_job_is_the_rules(helm: Path) -> None:
    """The label that Prometheus selects by is the site's own."""
    monitor = of_kind(rendered(helm, "replicas", "--set=nameOverride=other"), "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "kube-prometheus-stack"
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["honorLabels"] is True
    assert endpoint["relabelings"] == [
        {"targetLabel": "job", "replacement": "gpu-cluster-exporter"},
        {"targetLabel": "team", "replacement": "ml-platform"},
    ]


@pytest.mark.scale
def test_a_changed_configuration_is_a_new_pod(helm: Path) -> None:
    """The exporter reads its file again on a signal only, which nobody sends in a cluster."""

    def checksum(*more: str) -> str:
        pod = of_kind(rendered(helm, "account", *more), "Deployment")["spec"]["template"]
        found: str = pod["metadata"]["annotations"]["checksum/config"]
        return found

    assert checksum() == checksum() != checksum("--set=config.polling.interval=1m")


@pytest.mark.scale
def test_no_key_is_in_an_object_that_is_no_secret(helm: Path) -> None:
    """Keys of the values stand in the Secret alone; an image is taken by its digest."""
    objects = rendered(helm, "secured")
    for each in objects:
        assert ("made-up-1" in json.dumps(each)) is (each["kind"] == "Secret")
    assert "@sha256:" in container(of_kind(objects, "Deployment"))["image"]


@pytest.mark.scale
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (("demo=true", "replicaCounts=2"), "additional properties 'replicaCounts' not allowed"),
        (("demo=true", "serviceMonitor.enable=true"), "'enable' not allowed"),
        (("demo=true", "serviceMonitor.interval=15"), "serviceMonitor/interval"),
        (("demo=true", "image.digest=0123"), "image/digest"),
        ((), "name an account, or set demo to true"),
        (
            ("demo=true", "serviceMonitor.enabled=true", "podMonitor.enabled=true"),
            "every pod would be scraped twice",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_cannot_be_meant_is_refused(
    helm: Path, settings: tuple[str, ...], reason: str
) -> None:
    """With the place of the fault, before anything is changed in the cluster."""
    assert reason in refused(helm, *settings)
