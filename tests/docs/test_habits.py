"""The repository's habits: the same checks everywhere, and forms that ask for what helps."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter import __version__
from tests.docs.pages import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


def read(path: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """Read a file of YAML."""
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def recipe(makefile: str, target: str) -> list[str]:
    """Return the commands of a target, with the tools' directory filled in."""
    [lines] = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]


def differences(makefile: str, hooks: dict[str, Any]) -> set[str]:
    """Return what is a check of `make test` and no hook, or a hook and no such check."""
    entries = {hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]}
    checks = {line for line in recipe(makefile, "test") if "pytest" not in line}
    return (checks | {"make test"}) ^ entries


def test_hooks_run_the_checks_of_make_test() -> None:
    """Each check stands in both, to the letter; the tests are run by `make test` itself."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert differences(makefile, read(".pre-commit-config.yaml")) == set()


def test_a_check_that_is_no_hook_is_found() -> None:
    """A check that is added to the Makefile alone, or changed there, is named."""
    makefile = "test: tools\n\t$(BIN)/ruff check .\n\t$(BIN)/new\n\t$(BIN)/python -m pytest\n"
    hooks = {"repos": [{"hooks": [{"entry": ".venv/bin/ruff check ."}, {"entry": "make test"}]}]}

    assert differences(makefile, hooks) == {".venv/bin/new"}


def test_the_pipeline_runs_what_people_run() -> None:
    """The workflow's one command is .ci/run, which is there and can be called."""
    [job] = read(".github/workflows/ci.yml")["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]

    assert runs == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_the_version_and_for_once(form: Path) -> None:
    """Whoever reports something is asked for the version, and for what `once` prints."""
    fields = {item.get("id"): item for item in yaml.safe_load(form.read_text())["body"]}

    assert fields["version"]["validations"]["required"]
    assert "gpu-cluster-exporter --version" in fields["version"]["attributes"]["description"]
    assert "gpu-cluster-exporter once" in fields["once"]["attributes"]["label"]


def test_a_report_of_a_fault_needs_what_once_prints() -> None:
    """The form of a fault can't be sent without it, nor without a look at what is secret."""
    [form] = [form for form in FORMS if form.stem == "bug"]
    fields = {item.get("id"): item for item in yaml.safe_load(form.read_text())["body"]}

    assert fields["once"]["validations"]["required"]
    assert all(option["required"] for option in fields["checked"]["attributes"]["options"])


def test_vulnerabilities_are_reported_in_private() -> None:
    """Whoever opens an issue is led to the form that the security policy names, and to no other."""
    chooser = read(".github/ISSUE_TEMPLATE/config.yml")
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")

    assert chooser["blank_issues_enabled"] is False
    [form] = [link["url"] for link in chooser["contact_links"]]
    assert form.endswith("/security/advisories/new")
    assert re.findall(r"\((https:[^)]+)\)", policy) == [form]


def test_changes_are_written_as_keep_a_changelog_has_them() -> None:
    """Unreleased stands first; versions follow with their days; headings are those of the form."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *versions = re.findall(r"^## (.*)$", text, re.MULTILINE)

    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", each) for each in versions)
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {
        "Added", "Changed", "Deprecated", "Removed", "Fixed", "Security",
    }  # fmt: skip


def test_the_version_stands_in_one_place() -> None:
    """The package's version is read from its code, and pyproject.toml has none of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["hatch"]["version"]["path"] == "exporter/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", __version__)
