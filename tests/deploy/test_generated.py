"""What deploy/ has of the rules and dashboards is what stands in alerts/ and dashboards/."""

import json
import runpy
from pathlib import Path

import pytest
import yaml

from tests.deploy.objects import CHART, KUBERNETES, ROOT, all_groups

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "deploy_files.py"))
GENERATED: dict[Path, str] = dict(SCRIPT["generated"]())
DASHBOARDS = sorted((ROOT / "dashboards").glob("*.json"))
# kubectl apply notes the whole object in an annotation, and all annotations together may have this.
MOST_BYTES_APPLIED = 256 * 1024


@pytest.mark.parametrize("name", GENERATED, ids=str)
def test_each_generated_file_is_as_it_would_be_made_now(name: Path) -> None:
    """A rule or dashboard that was changed is written anew with `make docs`."""
    assert (ROOT / name).read_text() == GENERATED[name], "run scripts/deploy_files.py"


def test_nothing_else_stands_where_files_are_generated() -> None:
    """A dashboard that was renamed leaves no old one behind."""
    there = [*(KUBERNETES / "dashboards").rglob("*.*"), *(CHART / "files").rglob("*.*")]
    assert {path.relative_to(ROOT) for path in there} == {
        name for name in GENERATED if name.name != "prometheus-rule.yaml"
    }


def test_writing_them_takes_away_what_is_made_no_more(tmp_path: Path) -> None:
    """A tree with one rule file and one dashboard has those, and what was left over is gone."""
    for name in ("alerts/scp.yml", "dashboards/gpu-node.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text((ROOT / name).read_text())
    old = tmp_path / "deploy/kubernetes/dashboards/old.yaml"
    old.parent.mkdir(parents=True)
    old.touch()
    SCRIPT["write"](tmp_path)
    written = {
        str(path.relative_to(tmp_path / "deploy")) for path in tmp_path.rglob("deploy/**/*.*")
    }
    assert written == {
        "kubernetes/prometheus-rule.yaml",
        "kubernetes/dashboards/gpu-node.yaml",
        "helm/gpu-cluster-exporter/files/alerts/scp.yml",
        "helm/gpu-cluster-exporter/files/dashboards/gpu-node.json",
    }


def test_the_rule_object_has_every_group() -> None:
    """Record, alert, labels and annotations are the same, and their order within a group."""
    rule = yaml.safe_load((KUBERNETES / "prometheus-rule.yaml").read_text())
    assert rule["spec"]["groups"] == all_groups()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_each_dashboard_is_one_config_map_for_the_sidecar(path: Path) -> None:
    """It has the sidecar's label, and is small enough to be applied."""
    made = KUBERNETES / "dashboards" / f"{path.stem}.yaml"
    found = yaml.safe_load(made.read_text())
    assert found["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert list(found["data"]) == [path.name]
    assert json.loads(found["data"][path.name]) == json.loads(path.read_text())
    assert len(json.dumps(found)) < MOST_BYTES_APPLIED
