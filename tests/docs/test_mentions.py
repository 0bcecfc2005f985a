"""All that users can name is documented, and nothing else is."""

from pathlib import Path

import pytest

from exporter.clouds.outcomes import REASONS
from tests.docs import mentions
from tests.docs.conftest import Spoil
from tests.docs.pages import ROOT, Page, pages


def page(name: str) -> Page:
    """Return a page of docs/ by its name."""
    return Page(ROOT, f"docs/{name}.md")


def test_every_flag_is_documented() -> None:
    """Each flag of each command stands in the reference."""
    assert mentions.missing(mentions.flag_names(), page("configuration")) == []


def test_every_key_is_documented() -> None:
    """Each key of the configuration file stands in the reference."""
    assert mentions.missing(mentions.config_keys(), page("configuration")) == []


def test_every_key_of_the_web_configuration_is_documented() -> None:
    """Each key of the web configuration file stands on its page."""
    assert mentions.missing(mentions.web_config_keys(), page("web-configuration")) == []


def test_every_metric_is_documented() -> None:
    """Each metric stands in the reference."""
    assert mentions.missing(mentions.metric_names(), page("metrics")) == []


def test_every_alert_is_documented() -> None:
    """Each alert has a runbook, and the index leads to it."""
    names = mentions.alert_names()

    assert {file.stem for file in (ROOT / "docs" / "runbooks").glob("*.md")} >= names
    assert mentions.missing((f"runbooks/{name}.md" for name in names), page("README")) == []


def test_every_endpoint_is_documented() -> None:
    """Each path that is answered stands on the endpoints' page."""
    assert mentions.undocumented_routes(mentions.routes(), page("http-api")) == []


def test_every_reason_is_explained() -> None:
    """Each reason that a poll can fail for has its row where people look for help."""
    assert mentions.missing(REASONS, page("troubleshooting")) == []


def test_every_module_is_in_the_picture() -> None:
    """The architecture names each module of the exporter but those of the simulator."""
    names = {
        path.parent.name if path.stem == "__init__" else path.stem
        for path in (ROOT / "exporter").rglob("*.py")
        if not {"simulator", "config"} & {*path.parts} and path.stem != "__main__"
    }

    assert mentions.missing(names - {"exporter", "scp", "nsml"}, page("architecture")) == []


@pytest.mark.parametrize("each", pages(), ids=lambda page: page.name)
def test_pages_name_nothing_that_is_not_there(each: Page) -> None:
    """Metrics, flags, alerts and addresses that a page names exist."""
    assert list(mentions.unknown(each)) == []


def test_what_is_missing_is_found(spoiled: Spoil) -> None:
    """What is only a part of a name, or no code, is missing all the same."""
    names = ["--web.config.file", "--web.config.file-2", "honor_labels", "onor_labels", "honor_lab"]

    assert mentions.missing(names, spoiled("`--web.config.file`, honor_lab")) == [
        "--web.config.file-2",
        "honor_lab",
        "onor_labels",
    ]


def test_a_missing_endpoint_is_found(tmp_path: Path) -> None:
    """A path that has no code span of its own is missing; a variable may have any name."""
    (tmp_path / "a.md").write_text("`/api/v1/nodes`, `/alerts/NAME.yml`, /config\n")
    paths = {"/api/v1/nodes", "/alerts/{name}", "/config", "/api/v1"}

    assert mentions.undocumented_routes(paths, Page(tmp_path, "a.md")) == ["/api/v1", "/config"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("`scp_gpu_node_sate`", "no such metric: scp_gpu_node_sate"),
        ('`scp_gpu_node_sate{state="ERROR"}`', "no such metric: scp_gpu_node_sate"),
        ("gpu_cluster_exporter_up_total", "no such metric: gpu_cluster_exporter_up_total"),
        ("`--web.listen-adress`", "no such flag: --web.listen-adress"),
        ("`ScpGpuNodeFaled`", "no such alert: ScpGpuNodeFaled"),
        ("<http://127.0.0.1:10110/metric>", "no such endpoint: /metric"),
    ],
)
def test_a_name_that_is_not_there_is_found(spoiled: Spoil, text: str, fault: str) -> None:
    """A slip in a name is named with its page and line."""
    [found] = mentions.unknown(spoiled(f"\n{text}\n"))

    assert found.startswith("README.md:")
    assert found.endswith(fault)
