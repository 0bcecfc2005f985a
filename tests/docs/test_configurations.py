"""The configurations that the documentation shows can be used."""

import subprocess
from pathlib import Path

import pytest

from exporter.config import Config
from tests.docs import configurations
from tests.docs.configurations import Example, Kind
from tests.docs.conftest import Spoil
from tests.docs.pages import Page, pages
from tests.web.material import lay_out

EXAMPLES = [example for page in pages() for example in configurations.examples(page)]


def of(kind: Kind) -> pytest.MarkDecorator:
    """Run a test for each example of a kind."""
    found = [example for example in EXAMPLES if example.kind is kind]
    assert found
    return pytest.mark.parametrize("example", found, ids=lambda example: example.place)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_blocks_are_what_they_say(page: Page) -> None:
    """Each block of YAML, JSON or PromQL can be read as such, and there are no others."""
    assert list(configurations.unreadable(page)) == []


@of(Kind.EXPORTER)
def test_the_exporter_takes_its_configurations(example: Example, tmp_path: Path) -> None:
    """The strict loader accepts each configuration of the exporter."""
    assert list(configurations.exporter_faults(tmp_path, example)) == []


@of(Kind.WEB)
@pytest.mark.tool("openssl")
def test_the_exporter_takes_web_configurations(example: Example, tool: str, tmp_path: Path) -> None:
    """Beside the certificates that they name, web configurations are accepted."""
    lay_out(tool, tmp_path)

    assert list(configurations.web_faults(tmp_path, example)) == []


@of(Kind.PROMETHEUS)
@pytest.mark.tool("promtool")
def test_prometheus_takes_its_configurations(example: Example, tool: str, tmp_path: Path) -> None:
    """Prometheus' checker accepts each configuration of Prometheus, and each part of one."""
    assert promtool(tool, tmp_path, example) == 0


def promtool(tool: str, directory: Path, example: Example) -> int:
    """Return the exit code of promtool for an example."""
    file = directory / "prometheus.yml"
    file.write_text(example.text, encoding="utf-8")
    configurations.settle(directory, example)
    (directory / "ca.crt").touch()
    command = [tool, "check", "config", str(file)]
    return subprocess.run(command, check=False, capture_output=True).returncode  # noqa: S603 - ours


def only(page: Page) -> Example:
    """Return the last configuration of a page, which a test has added."""
    return list(configurations.examples(page))[-1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("scp:\n  - {account: a, environment: x, access_key: k, secret_key: k}", "environment"),
        ("polling:\n  intervall: 30s", "polling.intervall: unknown key"),
        ("scp:\n  - {account: a, environment: e, access_key_file: f}", "secret_key: missing"),
    ],
)
def test_a_configuration_that_is_refused_is_found(
    spoiled: Spoil, tmp_path: Path, text: str, fault: str
) -> None:
    """What the loader refuses is named with the page."""
    example = only(spoiled(f"\n```yaml\n{text}\n```\n"))
    [found] = configurations.exporter_faults(tmp_path, example)

    assert found.startswith("README.md:")
    assert fault in found


def test_a_part_is_completed(spoiled: Spoil, tmp_path: Path) -> None:
    """A block that shows only one section is loaded with an account."""
    example = only(spoiled("\n```yaml\npolling:\n  interval: 45s\n```\n"))
    config = configurations.load_exporter(tmp_path, example)

    assert isinstance(config, Config)
    assert config.scp[0].polling.interval == 45.0


def test_a_web_configuration_that_is_refused_is_found(spoiled: Spoil, tmp_path: Path) -> None:
    """What can't be honoured is named with the page."""
    example = only(spoiled("\n```yaml\nrate_limit: {interval: 1s, burts: 3}\n```\n"))

    assert any("unknown key" in fault for fault in configurations.web_faults(tmp_path, example))


@pytest.mark.tool("promtool")
@pytest.mark.parametrize(
    "text",
    [
        "scrape_configs:\n  - job_name: a\n    honour_labels: true",
        "- job_name: a\n  static_config: []",
    ],
)
def test_a_prometheus_configuration_that_is_refused_is_found(
    spoiled: Spoil, tool: str, tmp_path: Path, text: str
) -> None:
    """Prometheus' checker refuses a misspelt key, in a whole configuration and in a part."""
    assert promtool(tool, tmp_path, only(spoiled(f"\n```yaml\n{text}\n```\n"))) != 0


@pytest.mark.parametrize(
    ("language", "text"),
    [("yaml", "a: [b"), ("json", "{'a': 1}"), ("promql", "sum by up"), ("yml", "a: b")],
)
def test_a_block_that_is_not_what_it_says_is_found(
    spoiled: Spoil, language: str, text: str
) -> None:
    """A block that can't be read is named with its language."""
    [found] = configurations.unreadable(spoiled(f"\n```{language}\n{text}\n```\n"))

    assert f"no {language}" in found
