"""The provisioning files that Grafana reads at its start."""

from pathlib import Path
from typing import Any

import yaml

PROVISIONING = Path(__file__).parent.parent.parent / "deploy" / "grafana" / "provisioning"


def read(kind: str) -> Any:  # noqa: ANN401 - YAML
    """Read the one provisioning file of a kind."""
    return yaml.safe_load((PROVISIONING / kind / "gpu-cluster-exporter.yml").read_text())


def test_the_data_source_is_a_prometheus_that_is_posted_to() -> None:
    """A query with many chosen values is longer than the address of a GET may be."""
    [source] = read("datasources")["datasources"]
    assert (source["type"], source["access"]) == ("prometheus", "proxy")
    assert source["jsonData"]["httpMethod"] == "POST"


def test_the_scrape_interval_is_that_of_the_example_for_prometheus() -> None:
    """The rate interval follows from it: with a longer one, rates would have gaps."""
    [source] = read("datasources")["datasources"]
    assert source["jsonData"]["timeInterval"] == "15s"


def test_the_dashboards_come_from_files_and_stay_as_they_are() -> None:
    """A change in the browser would be lost with the next release."""
    [provider] = read("dashboards")["providers"]
    assert provider["type"] == "file"
    assert provider["allowUiUpdates"] is False
    assert provider["options"]["path"].startswith("/")
