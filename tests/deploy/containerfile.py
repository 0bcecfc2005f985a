"""A Dockerfile and its .dockerignore, read as far as this project uses them."""

import fnmatch
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Step:
    """One instruction: its word, and the rest of it on one line."""

    word: str
    rest: str

    @property
    def form(self) -> list[str]:
        """The words of an instruction in exec form."""
        words: list[str] = json.loads(self.rest[self.rest.index("[") :])
        return words

    @property
    def paths(self) -> tuple[list[str], str]:
        """What a COPY takes, and where it puts it."""
        *sources, target = [word for word in self.rest.split() if not word.startswith("--")]
        return sources, target


def stages(text: str) -> list[list[Step]]:
    """Return the instructions of each stage, its FROM first."""
    lines = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found: list[list[Step]] = []
    for word, _, rest in (line.partition(" ") for line in joined.splitlines()):
        if word == "FROM":
            found.append([])
        if found:  # before the first stage stand the arguments of FROM
            found[-1].append(Step(word, rest.strip()))
    return found


def only(stage: list[Step], word: str) -> Step:
    """Return the one instruction of a word."""
    [step] = [step for step in stage if step.word == word]
    return step


def context(root: Path = ROOT) -> Iterator[PurePath]:
    """Yield the files that .dockerignore lets into a build, by their paths in the tree."""
    rules = [line for line in (root / ".dockerignore").read_text().splitlines() if line]
    rules = [rule for rule in rules if not rule.startswith("#")]
    for top in sorted(root.iterdir()):
        if any(rule.lstrip("!").split("/")[0] == top.name for rule in rules):
            for path in [top] if top.is_file() else _below(top):
                if _included(path.relative_to(root), rules):
                    yield path.relative_to(root)


def _below(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent) / name for name in sorted(names))


def _included(path: PurePath, rules: list[str]) -> bool:
    """Tell whether the last rule that speaks of a path, or of a folder above it, lets it in."""
    included = True
    for rule in rules:
        pattern = rule.removeprefix("!")
        if any(_matches(part, pattern) for part in (path, *path.parents)):
            included = rule.startswith("!")
    return included


def _matches(path: PurePath, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return fnmatch.fnmatchcase(path.name, pattern.removeprefix("**/"))
    return len(path.parts) == len(PurePath(pattern).parts) and fnmatch.fnmatchcase(
        str(path), pattern
    )


def labels(step: Step) -> dict[str, Any]:
    """Return the labels of a LABEL."""
    return dict(re.findall(r'([\w.]+)="([^"]*)"', step.rest))
