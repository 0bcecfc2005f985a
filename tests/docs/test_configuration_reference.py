"""The configuration reference is written from the models and the command line."""

import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from exporter import flags
from exporter.config import ENVIRONMENTS, NsmlAccount, Polling, ScpAccount
from exporter.config.models import HttpClient, MetricsOptions, RunRef, Section
from tests.docs.pages import ROOT

SCRIPT = ROOT / "scripts" / "configuration_reference.py"
SECTIONS: Mapping[str, type[Section]] = {
    "polling": Polling,
    "metrics": MetricsOptions,
    "http_client": HttpClient,
    "scp": ScpAccount,
    "nsml": NsmlAccount,
    "nsml: runs": RunRef,
}


@pytest.fixture(scope="module")
def script() -> Mapping[str, Any]:
    """Give what the script defines."""
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def reference(script: Mapping[str, Any]) -> str:
    """Give the reference as the script would write it."""
    page: str = script["render"]()
    return page


def test_reference_is_that_of_the_code(reference: str) -> None:
    """The page is what the script writes: `make docs` was run after the last change."""
    assert (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8") == reference


def test_make_docs_writes_the_reference() -> None:
    """`make docs` calls the script, and puts its page in its place."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert "scripts/configuration_reference.py > docs/configuration.md" in makefile


def test_script_prints_the_reference(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run as a program, the script prints the page and nothing else."""
    runpy.run_path(str(SCRIPT), run_name="__main__")

    assert capsys.readouterr().out == reference


def section(reference: str, title: str) -> dict[str, list[str]]:
    """Return the cells of a section's table by the names in its first column."""
    text = reference.split(f"\n### {title}\n")[1].split("\n#", maxsplit=1)[0]
    rows = [
        re.split(r" (?<!\\)\| ", line[2:-2]) for line in text.splitlines() if line.startswith("| `")
    ]
    return {name.strip("`"): cells for shown, *cells in rows for name in shown.split(", ")}


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_has_every_key_of_its_model(reference: str, title: str) -> None:
    """Each key stands in its section's table once, with kind and meaning, and no other does."""
    rows = section(reference, title)

    assert sorted(rows) == sorted(SECTIONS[title].key_names())
    assert all(cells[0] and cells[-1] for cells in rows.values())


def test_each_meaning_has_a_key(script: Mapping[str, Any]) -> None:
    """No text is left of a key that is gone."""
    for model, meanings in script["_MEANINGS"].items():
        models = [each for each in SECTIONS.values() if issubclass(each, model)]
        fields = [
            {info.alias or name for name, info in each.model_fields.items()} for each in models
        ]
        keys = set.intersection(*fields)
        assert meanings.keys() <= keys, model


@pytest.mark.parametrize(
    ("title", "key", "cells"),
    [
        ("polling", "interval", ["duration, 1s or longer", "`30s`", "`1m`"]),
        ("polling", "timeout", ["duration, longer than 0s, or `null`", "`null`", "`null`"]),
        ("polling", "requests_per_second", ["number, more than 0", "`10`", "`5`"]),
        ("polling", "page_size", ["whole number, 1 or more", "`1000`", "`100`"]),
        ("metrics", "state_series", ["`all` or `current`", "`all`"]),
        ("http_client", "proxy_from_environment", ["`true` or `false`", "`false`"]),
        ("scp", "account", ["text", "required"]),
        ("scp", "secret_key_file", ["secret", "required"]),
        ("scp", "api_version", ["version, in quotes", '`"1.2"`']),
        ("scp", "regions", ["list of: text", "every region of the environment"]),
        ("nsml", "collectors", ["list of: text", "`[projects, runs, run_nodes]`"]),
        ("nsml", "terminal_run_retention", ["duration", "`1h`"]),
        ("nsml", "runs", ["list of: mapping", "`[]`"]),
    ],
)
def test_a_row_tells_kind_and_default(
    reference: str, title: str, key: str, cells: list[str]
) -> None:
    """Kinds, limits and defaults are written as an author of a file would write them."""
    assert section(reference, title)[key][: len(cells)] == cells


def test_regions_are_those_that_are_known(reference: str) -> None:
    """The table of environments is the one that the loader goes by."""
    rows = section(reference, "Environments and regions")

    assert {name: cell.replace("`", "").split(", ") for name, [cell] in rows.items()} == {
        name: list(regions) for name, regions in ENVIRONMENTS.items()
    }


@pytest.mark.parametrize("command", flags.COMMANDS)
def test_a_command_has_every_flag_of_its_help(
    reference: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `--help` lists stands in the command's table, and no more."""
    with pytest.raises(SystemExit):
        flags.parse([command, "--help"])
    helped = set(re.findall(r"^  (--[a-z.-]+)", capsys.readouterr().out, re.MULTILINE))
    listed = {name.split()[0] for name in section(reference, command) if name.startswith("--")}

    assert listed == helped - {"--help"}


@pytest.mark.parametrize(
    ("command", "flag", "default"),
    [
        ("serve", "--web.listen-address ADDRESS", "`:10110`"),
        ("demo", "--web.listen-address ADDRESS", "`127.0.0.1:10110`"),
        ("serve", r"--log.level debug\|info\|warn\|error", "`info`"),
        ("check", r"--log.level debug\|info\|warn\|error", "`error`"),
        ("check", "--probe", ""),
        ("bundle", "DIR", ""),
    ],
)
def test_a_flag_tells_its_default(reference: str, command: str, flag: str, default: str) -> None:
    """Defaults are those of the command itself, and what is no default has none."""
    assert section(reference, command)[flag][0] == default


def test_a_key_without_a_meaning_is_found(script: Mapping[str, Any]) -> None:
    """A key that is new in the models stops the script until somebody says what it means."""

    class Grown(MetricsOptions):
        new_key: bool = False

    with pytest.raises(KeyError, match="new_key"):
        list(script["_keys"](Grown))


def test_an_unknown_kind_of_value_is_found(script: Mapping[str, Any]) -> None:
    """A kind of value that there are no words for stops the script too."""
    with pytest.raises(TypeError, match="no words"):
        script["_kind"](Path)
