"""The command lines of the documentation can be typed as they stand."""

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from exporter import cli
from tests.docs import commands, configurations
from tests.docs.configurations import Kind
from tests.docs.conftest import Spoil
from tests.docs.pages import ROOT, Page, pages

WITH_COMMANDS = [page for page in pages() if any(commands.commands(page))]


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """Undo what commands that run in this process do to logging."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def test_pages_have_commands() -> None:
    """The tests below have something to read."""
    assert {"README.md", "docs/getting-started.md"} <= {page.name for page in WITH_COMMANDS}


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.name)
def test_commands_can_be_typed(page: Page) -> None:
    """Flags, targets, modules, files and programs that a page calls are there."""
    assert list(commands.faults(page)) == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("gpu-cluster-exporter check --prob", "unrecognized arguments: --prob"),
        (".venv/bin/gpu-cluster-exporter chek", "invalid choice: 'chek'"),
        ("KEY=x gpu-cluster-exporter --log.level=loud | tail", "invalid choice: 'loud'"),
        ("make tset", "the Makefile has no target tset"),
        ("make run CONFG=my.yml", "the Makefile has no variable CONFG"),
        ("kubectl apply -k deploy/kubernets", "no such file: deploy/kubernets"),
        ("helm install x --values=deploy/gone.yaml", "no such file: deploy/gone.yaml"),
        ("curl -s localhost | gerp x", "unknown program: gerp"),
        ("sudo python -m benchmark", "no such module: benchmark"),
        ("python -c 'import )'", "no Python"),
        ("echo 'open", "No closing quotation"),
    ],
)
@pytest.mark.parametrize("form", ["\n```sh\n{}\n```\n", "\n```\n$ {}\noutput\n```\n"])
def test_a_command_that_cannot_be_meant_is_found(
    spoiled: Spoil, form: str, line: str, fault: str
) -> None:
    """A slip in a command is named, in a block of shell and behind a prompt."""
    [found] = commands.faults(spoiled(form.format(line)))

    assert fault in found


def test_a_slip_within_the_text_is_found(spoiled: Spoil) -> None:
    """A command that stands in a sentence is read as well."""
    [found] = commands.faults(
        spoiled("\nCall `gpu-cluster-exporter bundel DIR`, then `make docs`.\n")
    )

    assert "invalid choice: 'bundel'" in found


def harmless(page: Page) -> Iterator[tuple[str, ...]]:
    """Yield the exporter's commands of a page that ask no cloud and end by themselves."""
    for command in commands.commands(page):
        if command.program == commands.EXPORTER and "--probe" not in command.arguments:
            match command.arguments:
                case ("--version",) | ("check", *_) | ("bundle", *_):
                    yield command.arguments


HARMLESS = [(page, line) for page in WITH_COMMANDS for line in dict.fromkeys(harmless(page))]


@pytest.mark.parametrize(("page", "line"), HARMLESS, ids=lambda value: getattr(value, "name", None))
def test_harmless_commands_end_well(
    page: Page,
    line: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Run beside the configuration that its page shows, a command exits with 0."""
    prepare(page, tmp_path, monkeypatch)

    assert run(line) == 0, capsys.readouterr().err


def prepare(page: Page, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a directory with the page's first configuration, or else that of the reference."""
    shown = [*configurations.examples(page)]
    shown += configurations.examples(Page(ROOT, "docs/configuration.md"))
    example = next(each for each in shown if each.kind is Kind.EXPORTER)
    (directory / "gpu-cluster-exporter.yml").write_text(example.text, encoding="utf-8")
    for name, value in configurations.settle(directory, example).items():
        monkeypatch.setenv(name, value)
    (directory / "FILE").touch()  # a web configuration that asks for nothing
    monkeypatch.chdir(directory)


def run(line: tuple[str, ...]) -> int:
    """Run a command in this process and return its exit code."""
    try:
        return cli.main(line)
    except SystemExit as end:
        return int(end.code or 0)


def test_a_command_that_fails_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration file of another name than the page's is an exit code of 1."""
    prepare(Page(ROOT, "README.md"), tmp_path, monkeypatch)

    assert run(("check", "--config.file=other.yml")) == 1


@pytest.mark.tool("promtool")
@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_prometheus_loads_what_the_page_makes(
    name: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prometheus' checker accepts the file that it is called on, after `bundle` has written it."""
    monkeypatch.chdir(tmp_path)
    lines = list(commands.commands(Page(ROOT, name)))
    for line in lines:
        if line.program == commands.EXPORTER and line.arguments[0] == "bundle":
            assert run(line.arguments) == 0
    called = [line.arguments for line in lines if line.program == "promtool"]
    checks = [arguments for arguments in called if arguments[0] == "check"]  # asks no server

    assert checks
    for arguments in checks:
        subprocess.run([tool, *arguments], check=True, capture_output=True)  # noqa: S603 - our page's own
