"""Both monitors, before a real Prometheus that is configured as the operator would do it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.alerts.conftest import program
from tests.alerts.pace import faster
from tests.alerts.world import TIMES
from tests.deploy import golang
from tests.deploy.objects import KUBERNETES, ROOT, Object, manifests, of_kind
from tests.deploy.programs import outcome, run
from tests.deploy.rig import alerts, keeping, rig, until

pytestmark = pytest.mark.scale

ALL = [found for _, found in manifests()]
SERVICE = of_kind(ALL, "Service")
POD = of_kind(ALL, "Deployment")["spec"]["template"]
JOB = "gpu-cluster-exporter"


def meta(kind: str, labels: dict[str, str]) -> dict[str, str]:
    """Name labels as Prometheus' discovery of Kubernetes does."""
    named = {
        key.replace(".", "_").replace("/", "_").replace("-", "_"): labels[key] for key in labels
    }
    return {
        **{f"__meta_kubernetes_{kind}_label_{key}": text for key, text in named.items()},
        **{f"__meta_kubernetes_{kind}_labelpresent_{key}": "true" for key in named},
    }


def discovered(address: str, pod: str) -> Object:
    """Return a target as Prometheus' discovery finds it, by endpoints or by pods."""
    labels = {
        "__meta_kubernetes_namespace": "monitoring",
        "__meta_kubernetes_service_name": SERVICE["metadata"]["name"],
        **meta("service", SERVICE["metadata"]["labels"]),
        "__meta_kubernetes_endpoint_port_name": SERVICE["spec"]["ports"][0]["name"],
        "__meta_kubernetes_endpoint_address_target_kind": "Pod",
        "__meta_kubernetes_endpoint_address_target_name": pod,
        "__meta_kubernetes_pod_name": pod,
        "__meta_kubernetes_pod_phase": "Running",
        **meta("pod", POD["metadata"]["labels"]),
        "__meta_kubernetes_pod_container_name": POD["spec"]["containers"][0]["name"],
        "__meta_kubernetes_pod_container_port_name": "metrics",
    }
    return {"targets": [address], "labels": labels}


def by_service(monitor: Object) -> Object:
    """Return the scrape job that the operator makes of a ServiceMonitor.

    Source: what the operator's own tests expect (pkg/prometheus/testdata).
    """
    [endpoint] = monitor["spec"]["endpoints"]
    return job(
        "serviceMonitor",
        endpoint,
        [
            *kept("service", monitor),
            keep("__meta_kubernetes_endpoint_port_name", endpoint["port"]),
            *(copied(f"__meta_kubernetes_{name}", label) for name, label in COPIED),
            copied("__meta_kubernetes_service_name", "service"),
            copied("__meta_kubernetes_service_name", "job"),
        ],
    )


def by_pod(monitor: Object) -> Object:
    """Return the scrape job that the operator makes of a PodMonitor; the source is the same."""
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    return job(
        "podMonitor",
        endpoint,
        [
            *kept("pod", monitor),
            keep("__meta_kubernetes_pod_container_port_name", endpoint["port"]),
            *(copied(f"__meta_kubernetes_{name}", label) for name, label in COPIED),
            {"target_label": "job", "replacement": f"monitoring/{monitor['metadata']['name']}"},
        ],
    )


COPIED = (("namespace", "namespace"), ("pod_container_name", "container"), ("pod_name", "pod"))


def job(kind: str, endpoint: Object, relabelings: list[Object]) -> Object:
    """Return a scrape job with what the operator adds for either monitor."""
    own = [
        {"target_label": each["targetLabel"], "replacement": each["replacement"]}
        for each in endpoint["relabelings"]
    ]
    return {
        "job_name": f"{kind}/monitoring/{JOB}/0",
        "honor_labels": endpoint["honorLabels"],
        "scrape_interval": faster(endpoint["interval"], TIMES),
        "scrape_timeout": faster(endpoint["scrapeTimeout"], TIMES),
        "relabel_configs": [
            *relabelings,
            {"target_label": "endpoint", "replacement": endpoint["port"]},
            *own,
        ],
    }


def kept(kind: str, monitor: Object) -> list[Object]:
    """Keep what the monitor selects."""
    labels = meta(kind, monitor["spec"]["selector"]["matchLabels"])
    return [keep(name, text) for name, text in labels.items()]


def keep(name: str, text: str) -> Object:
    """Keep targets with a label."""
    return {"action": "keep", "source_labels": [name], "regex": text}


def copied(name: str, label: str) -> Object:
    """Copy a label."""
    return {"source_labels": [name], "target_label": label}


@pytest.mark.parametrize(
    ("kind", "made"),
    [("ServiceMonitor", by_service), ("PodMonitor", by_pod)],
    ids=["by service", "by pod"],
)
async def test_a_node_that_fails_is_one_alert_of_two_pods(
    kind: str, made: Callable[[Object], Object], tmp_path: Path
) -> None:
    """The rules know the job, the labels are the exporter's, and the replicas make one alert."""
    scrape: dict[str, Any] = made(of_kind(ALL, kind))
    async with rig(tmp_path) as running:
        pods = enumerate(running.exporters)
        scrape["static_configs"] = [discovered(address, f"pod-{n}") for n, address in pods]
        config = {
            "global": {"evaluation_interval": faster("15s", TIMES)},
            "rule_files": ["alerts/*.yml"],
            "scrape_configs": [scrape],
        }
        server = await running.prometheus(program("prometheus"), "one", config, *keeping("one"))
        await until(server, f'count(up{{job="{JOB}"}} == 1) == 2')
        await until(server, 'count(scp_gpu_node:info{region="kr-west1"})')
        node = await running.fail_a_node()
        await until(server, f'ALERTS{{alertname="ScpGpuNodeFailed",gpu_node_id="{node}"}}')
        await until(
            server, f'count(scp_gpu_node_state{{gpu_node_id="{node}",state="ERROR"}} == 1) == 2'
        )

        found = [each for each in await alerts(server) if each["alertname"] == "ScpGpuNodeFailed"]
        assert [each["gpu_node_id"] for each in found] == [node]
        assert not {"job", "instance", "pod"} & found[0].keys()
        assert found[0]["environment"] == "e"
        assert not await server.result('{exported_environment!=""} or {exported_region!=""}')
        assert not any("Down" in each["alertname"] for each in await alerts(server))


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor", "PrometheusRule"])
def test_the_operators_own_types_accept_each_of_its_objects(kind: str) -> None:
    """No key is one that the operator would drop in silence."""
    run(golang.operator_types(), stdin=yaml.safe_dump(of_kind(ALL, kind)))


def test_a_key_that_the_operator_does_not_have_would_be_found() -> None:
    """The check above can fail."""
    text = (KUBERNETES / "service-monitor.yaml").read_text().replace("honorLabels", "honourLabels")
    done = outcome(golang.operator_types(), stdin=text)
    assert done.returncode == 1
    assert "honourLabels" in done.stderr


def test_the_example_of_a_prometheus_takes_up_monitor_and_rules() -> None:
    """Its selectors are the labels that both objects have."""
    text = (ROOT / "deploy" / "scaling" / "prometheus-operator.yaml").read_text()
    run(golang.operator_types(), stdin=text)
    spec = yaml.safe_load(text)["spec"]
    for selector, kind in (
        ("serviceMonitorSelector", "ServiceMonitor"),
        ("ruleSelector", "PrometheusRule"),
    ):
        labels = of_kind(ALL, kind)["metadata"]["labels"]
        assert spec[selector]["matchLabels"].items() <= labels.items()
