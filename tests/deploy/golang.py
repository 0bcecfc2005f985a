"""Programs in Go that tests need: built once, into the user's cache, where Go is at hand."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.deploy.programs import outcome

HELM = "helm.sh/helm/v3/cmd/helm@v3.22.0"
KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1"
OPERATOR_TYPES = Path(__file__).parent / "operator"


def bin_directory() -> Path:
    """Return where the programs are kept from one run to the next."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "gpu-cluster-exporter" / "bin"


def helm() -> Path:
    """Return Helm itself, of one release; the test is skipped without Go, also in CI."""
    return _installed(HELM)


def kustomize() -> Path:
    """Return Kustomize, which kubectl has in itself; without Go as above."""
    return _installed(KUSTOMIZE)


def _installed(module: str) -> Path:
    """Return a program, built where it is not yet in the cache."""
    path, _, version = module.partition("@")
    name = path.removesuffix("/v5").rpartition("/")[2]
    built = bin_directory() / version / name
    if not built.exists():
        _made(_go(), "install", module, env={**os.environ, "GOBIN": str(built.parent)})
    return built


def operator_types() -> Path:
    """Return the check of objects by the Prometheus Operator's types; without Go as above."""
    built = bin_directory() / "operator-types"
    _made(_go(), "build", "-o", str(built), ".", cwd=OPERATOR_TYPES)
    return built


def _made(*command: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    """Build something of others, whose sources may be out of reach."""
    if outcome(*command, env=env, cwd=cwd).returncode != 0:
        pytest.skip("NEEDS go and its modules")


def _go() -> str:
    found = shutil.which("go")
    if found is None:
        pytest.skip("NEEDS go")
    return found
