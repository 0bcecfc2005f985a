"""Writes what deploy/ has of the rules and dashboards: Kubernetes objects, and the chart's files.

Everything here is made of alerts/ and dashboards/, by `make docs`; a test fails where it differs.
"""

import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
KUBERNETES = Path("deploy/kubernetes")
CHART = Path("deploy/helm/gpu-cluster-exporter")
_MADE = "# Made by scripts/deploy_files.py of {source}: change it there.\n"
_RULE = """\
# Your Prometheus selects rules by labels: give this those that its ruleSelector asks for.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: gpu-cluster-exporter
  labels:
    app.kubernetes.io/name: gpu-cluster-exporter
spec:
  groups:
"""
_DASHBOARD = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: gpu-cluster-exporter-{name}
  labels:
    app.kubernetes.io/name: gpu-cluster-exporter
    grafana_dashboard: "1"
  annotations:
    grafana_folder: GPU clusters
data:
  {name}.json: |
"""


def generated(root: Path = ROOT) -> Mapping[Path, str]:
    """Return the text of every file that is made, by its path in the tree."""
    return dict(_files(root))


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    rules = sorted((root / "alerts").glob("*.yml"))
    yield KUBERNETES / "prometheus-rule.yaml", _rule([path.read_text() for path in rules])
    for path in rules:
        yield CHART / "files" / "alerts" / path.name, path.read_text()
    for path in sorted((root / "dashboards").glob("*.json")):
        yield KUBERNETES / "dashboards" / f"{path.stem}.yaml", _config_map(path)
        yield CHART / "files" / "dashboards" / path.name, path.read_text()


def _rule(files: list[str]) -> str:
    """Put the groups of all rule files into one object, with their comments."""
    groups = [text.partition("\ngroups:\n")[2] for text in files]
    return _MADE.format(source="alerts/") + _RULE + "\n".join(_indented(each, 2) for each in groups)


def _config_map(path: Path) -> str:
    made = _MADE.format(source=f"dashboards/{path.name}")
    return made + _DASHBOARD.format(name=path.stem) + _indented(path.read_text(), 4)


def _indented(text: str, spaces: int) -> str:
    return textwrap.indent(text.rstrip("\n") + "\n", " " * spaces)


def write(root: Path = ROOT) -> None:
    """Write them all, and remove what is made no more."""
    files = generated(root)
    for folder in (KUBERNETES / "dashboards", CHART / "files"):
        for path in (root / folder).rglob("*.*"):
            if path.relative_to(root) not in files:
                path.unlink()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


if __name__ == "__main__":
    write()
