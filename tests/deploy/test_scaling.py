"""The configurations that docs/scaling.md shows."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.config import load
from tests.alerts.conftest import program
from tests.alerts.pace import faster
from tests.alerts.world import TIMES
from tests.deploy.objects import ROOT
from tests.deploy.programs import run
from tests.deploy.rig import alerts, keeping, rig, until

FOLDER = ROOT / "deploy" / "scaling"
PAGE = (ROOT / "docs" / "scaling.md").read_text()
KEYS = ("SCP_ACCESS_KEY", "SCP_SECRET_KEY", "NCP_ACCESS_KEY", "NCP_SECRET_KEY", "NCP_API_KEY")
CREDENTIALS = dict.fromkeys(KEYS, "made-up")
SERVERS = sorted(FOLDER.glob("prometheus-*.yml"))


def read(name: str) -> Any:  # noqa: ANN401 - YAML
    """Read one of the configurations."""
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.mark.tool("promtool")
@pytest.mark.parametrize("path", SERVERS, ids=lambda path: path.stem)
def test_prometheus_loads_each(tool: str, path: Path) -> None:
    """With the rules, where it evaluates any; the file of a password need not be there."""
    agent = ["--agent", "--syntax-only"] if "agent" in path.stem else []
    told = run(tool, "check", "config", *agent, path)
    assert agent or "4 rule files found" in told


def test_the_page_shows_each_file() -> None:
    """And no file that is not there."""
    shown = set(re.findall(r"\]\(\.\./deploy/scaling/([\w.-]+)\)", PAGE))
    assert shown == {path.name for path in FOLDER.iterdir()}


def test_the_parts_of_a_split_are_a_whole() -> None:
    """Each region of the account is polled by one process, and by one alone."""
    west, east = (load(FOLDER / f"exporter-{name}.yml", CREDENTIALS) for name in ("west", "east"))
    regions = [region for part in (west, east) for each in part.scp for region in each.regions]
    assert sorted(regions) == ["kr-east1", "kr-west1"]
    assert [len(part.nsml) for part in (west, east)] == [0, 1]


@pytest.mark.parametrize("name", ["split", "pair"])
def test_several_exporters_are_one_job(name: str) -> None:
    """Or the rules would call each of them down while the other one is up."""
    [scrape] = read(f"prometheus-{name}.yml")["scrape_configs"]
    [targets] = scrape["static_configs"]
    assert len(targets["targets"]) == 2
    assert "labels" not in targets, "a label that differs between replicas makes two alerts of one"


def test_what_tells_two_servers_apart_is_no_part_of_an_alert() -> None:
    """Alertmanager takes two alerts with equal labels for one."""
    pair = read("prometheus-pair.yml")
    dropped = {each["regex"] for each in pair["alerting"]["alert_relabel_configs"]}
    assert set(pair["global"]["external_labels"]) == dropped


SPLIT = """
rule_files: [{rules}]
group_eval_order:
  [gpu-cluster-thresholds, gpu-cluster-scp, gpu-cluster-nsml, gpu-cluster-exporter]
evaluation_interval: 15s
tests:
  - interval: 15s
    input_series:
      - {{series: 'up{{job="gpu-cluster-exporter",instance="west"}}', values: '1x160'}}
      - {{series: 'up{{job="gpu-cluster-exporter",instance="east"}}', values: '1x40 0x120'}}
{series}
    promql_expr_test:
      - eval_time: 10m
        expr: count(ALERTS)
      - eval_time: 30m
        expr: count by (alertname, account, region) (ALERTS{{severity="critical"}})
        exp_samples:
          - labels: '{{alertname="GpuClusterExporterBlind",account="prod",region="kr-east1"}}'
            value: 1
"""
TARGET = (
    '{{provider="scp",account="prod",environment="e",region="kr-{0}1",collector="gpu_nodes",'
    'job="gpu-cluster-exporter",instance="{0}"}}'
)
SERIES = "      - {{series: 'gpu_cluster_exporter_target_{0}{1}', values: '{2}'}}"


def series(instance: str, lasting: str) -> list[str]:
    """Return what an exporter tells of its one target, while it can be scraped."""
    labels = TARGET.format(instance)
    ended = "" if lasting == "160" else " stale"
    return [
        SERIES.format("up", labels, f"1x{lasting}{ended}"),
        SERIES.format("interval_seconds", labels, f"30x{lasting}{ended}"),
        *(
            SERIES.format(f"last_{what}_timestamp_seconds", labels, f"0+15x{lasting}{ended}")
            for what in ("attempt", "success", "update")
        ),
    ]


@pytest.mark.tool("promtool")
def test_a_part_that_is_gone_is_a_page_about_its_regions(tool: str, tmp_path: Path) -> None:
    """The other part goes on, so that "no exporter" would be untrue; its regions are not blind."""
    lines = [*series("west", "160"), *series("east", "40")]
    rules = ", ".join(str(path) for path in sorted((ROOT / "alerts").glob("*.yml")))
    (tmp_path / "split.yml").write_text(SPLIT.format(rules=rules, series="\n".join(lines)))
    run(tool, "test", "rules", tmp_path / "split.yml")


@pytest.mark.scale
async def test_an_agent_sends_what_the_central_rules_page_about(tmp_path: Path) -> None:
    """Through the agent and remote write to a central Prometheus, with the files that are shown."""
    agent, central = read("prometheus-agent.yml"), read("prometheus-central.yml")
    async with rig(tmp_path, exporters=1) as running:
        central["global"]["evaluation_interval"] = faster("15s", TIMES)
        central["rule_files"] = ["alerts/*.yml"]
        central["alerting"] = {}
        flags = ("--web.enable-remote-write-receiver", *keeping("central"))
        server = await running.prometheus(program("prometheus"), "central", central, *flags)

        agent["global"] |= {"scrape_interval": "1500ms", "scrape_timeout": "1500ms"}
        agent["scrape_configs"][0]["static_configs"] = [{"targets": running.exporters}]
        agent["remote_write"] = [{"url": f"{server.url}/api/v1/write"}]
        flags = ("--enable-feature=agent", "--storage.agent.path=agent-data")
        await running.prometheus(program("prometheus"), "agent", agent, *flags)

        await until(server, 'up{job="gpu-cluster-exporter",cluster="seoul"} == 1')
        await until(server, "count(scp_gpu_node:info)")
        node = await running.fail_a_node()
        await until(server, f'ALERTS{{alertname="ScpGpuNodeFailed",gpu_node_id="{node}"}}')
        assert not any("Down" in each["alertname"] for each in await alerts(server))
