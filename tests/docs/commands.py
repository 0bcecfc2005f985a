"""What is wrong with the command lines of the documentation."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from exporter import flags
from tests.docs.pages import ROOT, Block, Page

SHELL = ("sh", "bash")
EXPORTER = "gpu-cluster-exporter"
# What else a reader may be told to call. A word that is not here is most likely misspelt.
PROGRAMS = frozenset({
    "amtool", "apt-get", "bash", "cat", "chmod", "chown", "chronyc", "cp", "curl", "cut",
    "dmesg", "docker", "export", "git", "grep", "head", "helm", "htpasswd", "ibstat", "install",
    "journalctl", "kubeconform", "kubectl", "mkdir", "mv", "openssl", "pip", "pip-audit",
    "pre-commit", "prometheus", "promtool", "pytest", "read", "scripts/lock.sh", "sort", "ssh",
    "sudo", "systemctl", "systemd-analyze", "tail", "timedatectl", "top", "twine", "uniq",
    "useradd", "wc"
})  # fmt: skip
MODULES = frozenset({"build", "pip", "pytest", "venv"})  # of `python -m`, beside the own ones
_IN_TEXT = ("make ", f"{EXPORTER} ", f".venv/bin/{EXPORTER} ")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")
_SEPARATORS = frozenset({";", ";;", "|", "||", "&", "&&", "(", ")"})


@dataclass(frozen=True)
class Command:
    """One command: where it stands, the program without its directory, and its arguments."""

    place: str
    program: str
    arguments: tuple[str, ...]


def commands(page: Page) -> Iterator[Command]:
    """Yield every command of a page; ValueError where a block can't be read as shell."""
    for block in page.blocks():
        for line in _lines(block):
            yield from _of_line(block.place, line)
    for span in page.code_spans():
        if span.text.startswith(_IN_TEXT):
            yield from _of_line(span.place, span.text)


def _lines(block: Block) -> Iterator[str]:
    """Yield the lines to be typed: those of a shell block, and those behind a prompt."""
    if block.language in SHELL:
        yield from block.text.replace("\\\n", " ").splitlines()
    elif not block.language:
        yield from re.findall(r"^\$ (.*)$", block.text, re.MULTILINE)


def _of_line(place: str, line: str) -> Iterator[Command]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError as error:
        raise ValueError(f"{place}: {error}: {line}") from None
    for command in _split(words):
        while command and _VARIABLE.match(command[0]):
            command.pop(0)
        if command and command[0] == "sudo":
            command.pop(0)
        if command:
            yield Command(place, _program(command[0]), tuple(command[1:]))


def _split(words: Iterable[str]) -> Iterator[list[str]]:
    """Split at pipes and the like, and drop redirections with their files."""
    command: list[str] = []
    redirected = False
    for word in words:
        if word in _SEPARATORS:
            yield command
            command = []
        elif set(word) <= set("<>&"):
            redirected = True
        elif redirected:
            redirected = False
        else:
            command.append(word)
    yield command


def _program(word: str) -> str:
    return word if word.startswith(("scripts/", "./")) else Path(word).name


def faults(page: Page) -> Iterator[str]:
    """Yield a line for each command of a page that can't be meant as it stands."""
    try:
        found = list(commands(page))
    except ValueError as error:
        yield str(error)
        return
    for command in found:
        yield from (f"{command.place}: {fault}" for fault in _faults(command))


def _faults(command: Command) -> Iterator[str]:
    match command.program:
        case program if program == EXPORTER:
            yield from flag_faults(command.arguments)
        case "make":
            yield from _make_faults(command.arguments)
        case "python" | "python3":
            yield from _python_faults(command.arguments)
        case program if program not in PROGRAMS:
            yield f"unknown program: {program}"
    for argument in command.arguments:
        yield from _path_faults(argument)


def flag_faults(arguments: Iterable[str]) -> Iterator[str]:
    """Yield what the command line's own parser says of these arguments, where it refuses them."""
    told, shown = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(shown):
        try:
            flags.parse(list(arguments))
        except SystemExit as end:
            if end.code:
                yield told.getvalue().splitlines()[-1]


def _make_faults(arguments: Iterable[str]) -> Iterator[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        pattern = rf"\$\({name}\)" if equals else rf"^{re.escape(name)}:"
        if not re.search(pattern, makefile, re.MULTILINE):
            yield f"the Makefile has no {'variable' if equals else 'target'} {name}"


def _python_faults(arguments: tuple[str, ...]) -> Iterator[str]:
    match arguments:
        case ("-m", module, *_) if module not in MODULES and not (ROOT / module).is_dir():
            yield f"no such module: {module}"
        case ("-c", code, *_):
            try:
                compile(code, "<page>", "exec")
            except SyntaxError as error:
                yield f"no Python: {error}"


def _path_faults(argument: str) -> Iterator[str]:
    """Yield a fault where an argument starts like a file of the repository and is none."""
    path = argument.rpartition("=")[2]
    folder, slash, _ = path.partition("/")
    if slash and folder in _FOLDERS and not list(ROOT.glob(path.rstrip("/"))):
        yield f"no such file: {path}"


_FOLDERS = frozenset(path.name for path in ROOT.iterdir() if path.is_dir()) - {".venv", "dist"}
