"""YAML without surprises: plain data, and the place in the text that each value comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import yaml

from exporter.config import syntax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

KeyPath: TypeAlias = tuple[str | int, ...]

MAX_DEPTH: Final = 32
MAX_VALUES: Final = (
    100_000  # once aliases are filled in: a few kilobytes of them can stand for 10^9
)

_TAG: Final = "tag:yaml.org,2002:"
_NULL, _BOOL, _INT, _FLOAT, _TEXT = (
    _TAG + kind for kind in ("null", "bool", "int", "float", "str")
)
_MERGE, _AMBIGUOUS = "!merge", "!ambiguous"

# The first pattern that matches a plain scalar decides. Whatever YAML 1.1 and 1.2 read differently
# (012, yes, 1:30, 0x1F, 1_000) is ambiguous: this reader asks for quotes instead of guessing.
_PLAIN_SCALARS: Final = (
    (_NULL, r"~|null|Null|NULL|"),
    (_BOOL, r"true|True|TRUE|false|False|FALSE"),
    (_INT, r"[-+]?(?:0|[1-9][0-9]{0,14})"),
    (_FLOAT, r"[-+]?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15}"),
    (_MERGE, r"<<"),
    (_AMBIGUOUS, r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"),
    (_AMBIGUOUS, r"[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)"),
    (_AMBIGUOUS, r"[-+]?0[box][0-9a-fA-F_]+"),
    (_AMBIGUOUS, r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    (_AMBIGUOUS, r"[-+]?(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"),
)

_VALUES: Final[Mapping[str, Callable[[str], object]]] = {
    _NULL: lambda _: None,
    _BOOL: lambda text: text.lower() == "true",
    _INT: int,
    _FLOAT: float,
}


class StrictYamlError(Exception):
    """A text that is no strict YAML; `problems` has a line for each fault, with its place."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, order=True)
class Place:
    """Where something stands in a text, both counted from 1."""

    line: int
    column: int

    @classmethod
    def of(cls, mark: yaml.Mark) -> Place:
        """Take over PyYAML's mark, which counts from 0."""
        return cls(mark.line + 1, mark.column + 1)

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True)
class Document:
    """Plain data (dict, list, str, int, float, bool, None) and the place of each key path."""

    data: object
    places: Mapping[KeyPath, Place]

    def place(self, path: KeyPath) -> Place:
        """Tell where the value at `path` stands; for one that is missing, where its owner does."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, Place(1, 1))


def parse(text: str) -> Document:
    """Read one YAML document.

    Refused beside what is no YAML at all: equal keys in one mapping, keys that are no text, tags,
    merge keys, ambiguous scalars, and nesting or aliases beyond what a configuration needs.

    Raises StrictYamlError, whose texts name places and keys, never a value.
    """
    reading = _Reading()
    try:
        node = yaml.compose(text, Loader=_Composer)
        data = None if node is None else reading.read(node, ())
    except yaml.MarkedYAMLError as error:
        raise StrictYamlError(_syntax_problem(error)) from None
    except yaml.reader.ReaderError as error:
        raise StrictYamlError(_character_problem(text, error)) from None
    if reading.problems:
        raise StrictYamlError(*reading.problems)
    return Document(data, reading.places)


def written(path: KeyPath) -> str:
    """Write a key path the way people do: `scp[0].regions[1]`.

    A key that is no plain word becomes `?`: where a space or a line break was forgotten, a key
    holds the value too, and that may be a secret.
    """
    parts = (f"[{key}]" if isinstance(key, int) else f".{_shown(key)}" for key in path)
    return "".join(parts).removeprefix(".")


def is_shown(key: str | int) -> bool:
    """Tell whether `written` shows this key."""
    return isinstance(key, int) or re.fullmatch(r"[A-Za-z_-]{1,40}", key) is not None


def _shown(key: str) -> str:
    return key if is_shown(key) else "?"


class _Composer(yaml.SafeLoader):
    """PyYAML's composer with fewer readings of plain scalars, no tags and bounded nesting."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own class attribute
        None: [(tag, re.compile(rf"(?:{pattern})\Z")) for tag, pattern in _PLAIN_SCALARS]
    }

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        mark = cast("yaml.Mark", event.start_mark)
        if getattr(event, "tag", None):
            problem = "tags are not supported; quote a value that begins with !"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)
        self._depth += 1
        _bound_depth(self._depth, mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _bound_depth(depth: int, mark: yaml.Mark) -> None:
    if depth > MAX_DEPTH:
        raise yaml.MarkedYAMLError(problem="nested too deeply", problem_mark=mark)


@dataclass
class _Reading:
    """Turns nodes into plain data, and goes on after a fault so that all are found at once."""

    places: dict[KeyPath, Place] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    values: int = 0

    def read(self, node: yaml.Node, path: KeyPath) -> object:
        self._bound(node, path)
        self.places.setdefault(path, Place.of(node.start_mark))
        if isinstance(node, yaml.MappingNode):
            return {key: self.read(value, (*path, key)) for key, value in self._items(node, path)}
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _bound(self, node: yaml.Node, path: KeyPath) -> None:
        _bound_depth(len(path), node.start_mark)
        self.values += 1
        if self.values > MAX_VALUES:
            problem = f"more than {MAX_VALUES} values, with the aliases filled in"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)

    def _items(self, node: yaml.MappingNode, path: KeyPath) -> Iterator[tuple[str, yaml.Node]]:
        first: dict[str, Place] = {}
        for key_node, value in node.value:
            place = Place.of(key_node.start_mark)
            key = self._key(key_node, path)
            if key in first:
                self._note(
                    (*path, key), place, f"duplicate key, first on line {first[key].line}; keep one"
                )
            elif key is not None:
                first[key] = self.places[(*path, key)] = place
                yield key, value

    def _key(self, node: yaml.Node, path: KeyPath) -> str | None:
        if node.tag == _TEXT:
            return str(node.value)
        problem = "a key must be text; put it in quotes"
        if node.tag == _MERGE:
            problem = "merge keys (<<) are not supported; write the keys out"
        self._note(path, Place.of(node.start_mark), problem)
        return None

    def _scalar(self, node: yaml.Node, path: KeyPath) -> object:
        if node.tag == _AMBIGUOUS:
            problem = (
                "YAML readers differ on what this is; quote it where text is meant, else write"
            )
            problem += " true, false or a plain decimal number"
            self._note(path, Place.of(node.start_mark), problem)
        return _VALUES.get(node.tag, str)(node.value)

    def _note(self, path: KeyPath, place: Place, problem: str) -> None:
        where = f"{written(path)}: " if path else ""
        self.problems.append(f"{where}{place}: {problem}")


def _syntax_problem(error: yaml.MarkedYAMLError) -> str:
    mark, words = syntax.explain(error)
    return f"{Place.of(mark)}: {words}" if mark else words


def _character_problem(text: str, error: yaml.reader.ReaderError) -> str:
    before = text[: error.position]
    place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
    return f"{place}: character U+{ord(text[error.position]):04X} is not allowed"
