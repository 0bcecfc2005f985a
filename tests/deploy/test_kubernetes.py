"""The manifests of deploy/kubernetes."""

import asyncio
import base64
import re
from pathlib import Path

import aiohttp
import bcrypt
import pytest
import yaml

from exporter.config import load
from tests.deploy import golang
from tests.deploy.objects import (
    KUBERNETES,
    OF_THE_OPERATOR,
    ROOT,
    Object,
    commands,
    container,
    manifests,
    of_kind,
    validate,
)
from tests.deploy.programs import run as run_program
from tests.processes import daemon, run

ALL = [found for _, found in manifests()]
DEPLOYMENT = of_kind(ALL, "Deployment")
BYTES = {"Mi": 2**20, "Gi": 2**30}
PASSWORD = "a-password"


@pytest.mark.parametrize(
    "found",
    [each for each in ALL if each["apiVersion"] != OF_THE_OPERATOR],
    ids=lambda each: f"{each['kind']}-{each['metadata']['name']}",
)
def test_each_object_fits_the_published_schema(found: Object) -> None:
    """Of the oldest and the newest Kubernetes, and no key is one that they don't know."""
    validate(found)


def test_a_wrong_key_would_be_found() -> None:
    """The check above can fail."""
    wrong = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replica": 2}}
    with pytest.raises(Exception, match="replica"):
        validate(wrong)


def test_every_manifest_is_applied_or_said_to_be_a_choice() -> None:
    """The two that are left out are an example with no keys, and the other kind of monitor."""
    kustomization = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())
    there = {str(path.relative_to(KUBERNETES)) for path, _ in manifests()}
    assert there - set(kustomization["resources"]) == {"secret.example.yaml", "pod-monitor.yaml"}
    assert set(kustomization["resources"]) <= there


@pytest.mark.scale
def test_kustomize_makes_them_all_in_one_namespace() -> None:
    """As `kubectl apply --kustomize` would send them; the labels and selectors are untouched."""
    made = list(yaml.safe_load_all(run_program(golang.kustomize(), "build", KUBERNETES)))
    assert {each["metadata"].pop("namespace") for each in made} == {"monitoring"}
    left_out = {"secret.example.yaml", "pod-monitor.yaml"}
    there = [found for path, found in manifests() if path.name not in left_out]
    assert sorted(made, key=name_of) == sorted(there, key=name_of)


def name_of(found: Object) -> tuple[str, str]:
    """Return what tells an object from all others."""
    return found["kind"], found["metadata"]["name"]


def test_it_runs_with_no_right_at_all() -> None:
    """As Kubernetes' strictest standard for pods ("restricted") asks, and read-only."""
    pod, only = DEPLOYMENT["spec"]["template"]["spec"], container(DEPLOYMENT)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert only["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_its_memory_is_what_the_benchmark_says() -> None:
    """1,000 nodes fit the request; the most that 10,000 ever took is below half of the limit."""
    page = (ROOT / "docs" / "performance.md").read_text()
    row = re.search(r"^\| memory, MiB.*", page, re.MULTILINE)
    assert row is not None
    small, medium = (float(most) for most in re.findall(r"at most ([\d.]+)\)", row[0])[:2])
    resources = container(DEPLOYMENT)["resources"]
    assert small * BYTES["Mi"] < in_bytes(resources["requests"]["memory"])
    assert 2 * medium * BYTES["Mi"] < in_bytes(resources["limits"]["memory"])
    assert "cpu" not in resources["limits"], "a poll that is held back is an old value"


def in_bytes(quantity: str) -> int:
    """Read a quantity of memory."""
    return int(quantity[:-2]) * BYTES[quantity[-2:]]


def test_the_configuration_is_accepted_with_the_keys_of_the_secret(tmp_path: Path) -> None:
    """Both are mounted into one directory, so that the keys lie beside the configuration."""
    config, secret = of_kind(by_name("config-map.yaml"), "ConfigMap"), of_kind(ALL, "Secret")
    for name, text in {**config["data"], **secret["stringData"]}.items():
        (tmp_path / name).write_text(text)
    loaded = load(tmp_path / "gpu-cluster-exporter.yml", {})
    assert [each.account for each in (*loaded.scp, *loaded.nsml)] == ["prod", "research"]
    assert used_keys(config["data"]["gpu-cluster-exporter.yml"]) == set(secret["stringData"])


def by_name(name: str) -> list[Object]:
    """Return the object of one file."""
    return [found for path, found in manifests() if path.name == name]


def used_keys(text: str) -> set[str]:
    """Name the files with keys that a configuration asks for."""
    accounts = [account for cloud in yaml.safe_load(text).values() for account in cloud]
    return {value for each in accounts for key, value in each.items() if key.endswith("_file")}


def test_all_select_the_one_pod() -> None:
    """Service, monitors, network policy and the spread over machines mean the Deployment's pods."""
    pod = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    service = of_kind(ALL, "Service")
    selectors = [
        DEPLOYMENT["spec"]["selector"]["matchLabels"],
        service["spec"]["selector"],
        of_kind(ALL, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"],
        of_kind(ALL, "PodMonitor")["spec"]["selector"]["matchLabels"],
        *(
            each["labelSelector"]["matchLabels"]
            for each in DEPLOYMENT["spec"]["template"]["spec"]["topologySpreadConstraints"]
        ),
    ]
    assert all(selector.items() <= pod.items() for selector in selectors)
    monitor = of_kind(ALL, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert monitor.items() <= service["metadata"]["labels"].items()


@pytest.mark.slow
@pytest.mark.scale
async def test_the_probes_get_through_a_password(tmp_path: Path) -> None:
    """The one for life as it is; the one for readiness with what the manifest says to add."""
    (tmp_path / "web.yml").write_text(web_config())
    (tmp_path / "password").write_text(PASSWORD)
    (tmp_path / "config.yml").write_text(
        "nsml: [{account: a, access_key: x1, secret_key: x2, api_key: x3,"
        " endpoint: 'http://127.0.0.1:9'}]"
    )
    probes = commands(DEPLOYMENT)
    flags = (f"--config.file={tmp_path}/config.yml", f"--web.config.file={tmp_path}/web.yml")
    async with daemon("serve", *flags) as started:
        url = started.url.strip()
        await until_ready(url)
        alive = await run(*probes["livenessProbe"], "--url", url)
        unknown = await run(*probes["readinessProbe"], "--url", url)
        known = ("--username=probe", f"--password-file={tmp_path}/password")
        ready = await run(*probes["readinessProbe"], "--url", url, *known)
    assert (alive.code, unknown.code, ready.code) == (0, 1, 0), (alive, unknown, ready)


async def until_ready(url: str) -> None:
    """Wait until the first poll of everything has ended, well or badly."""
    user = base64.b64encode(f"probe:{PASSWORD}".encode()).decode()
    known = {"Authorization": f"Basic {user}"}
    async with asyncio.timeout(60), aiohttp.ClientSession(headers=known) as session:
        while (await session.get(f"{url}/-/ready")).status != 200:  # noqa: ASYNC110 - a process
            await asyncio.sleep(0.1)


def web_config() -> str:
    """Write a web configuration file with one user."""
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    return f"basic_auth_users: {{probe: '{hashed}'}}\n"
