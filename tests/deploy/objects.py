"""The Kubernetes objects of deploy/, and how they are held against the published schemas."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import kubernetes_validate  # type: ignore[import-untyped] # it has no annotations
import yaml

ROOT = Path(__file__).parent.parent.parent
KUBERNETES = ROOT / "deploy" / "kubernetes"
CHART = ROOT / "deploy" / "helm" / "gpu-cluster-exporter"
RELEASES = ("1.25", "1.37")
"""The oldest release of Kubernetes that is promised, and the newest whose schemas are at hand."""
OF_THE_OPERATOR = "monitoring.coreos.com/v1"

Object: TypeAlias = dict[str, Any]


def manifests() -> Iterator[tuple[Path, Object]]:
    """Yield each manifest of deploy/kubernetes, but for the kustomization."""
    for path in sorted(KUBERNETES.rglob("*.yaml")):
        if path.name != "kustomization.yaml":
            yield path, yaml.safe_load(path.read_text())


def of_kind(objects: list[Object], kind: str) -> Object:
    """Return the one object of a kind."""
    [found] = [each for each in objects if each["kind"] == kind]
    return found


def validate(found: Object) -> None:
    """Hold an object of Kubernetes' own against its schema; an unknown key is an error."""
    for release in RELEASES:
        kubernetes_validate.validate(found, release, strict=True)


def container(deployment: Object) -> Object:
    """Return the one container of a Deployment."""
    [only] = deployment["spec"]["template"]["spec"]["containers"]
    result: Object = only
    return result


def commands(deployment: Object) -> dict[str, list[str]]:
    """Return the command lines of a Deployment, without the program: what runs, and both probes."""
    only = container(deployment)
    found = {"run": only["args"]}
    for probe in ("livenessProbe", "readinessProbe"):
        program, *argv = only[probe]["exec"]["command"]
        assert program == "gpu-cluster-exporter"
        found[probe] = argv
    return found


def files_of_rules() -> dict[str, Any]:
    """Return every rule file, parsed, by its name."""
    files = sorted((ROOT / "alerts").glob("*.yml"))
    return {path.name: yaml.safe_load(path.read_text()) for path in files}


def all_groups() -> list[Any]:
    """Return the groups of all rule files, in the order of the files."""
    return [group for document in files_of_rules().values() for group in document["groups"]]
