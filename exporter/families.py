"""What a metric family is: a name, a help, labels, and the samples of an object.

Families are data. Each resource has a table of them; a family takes its labels from the
attributes of the same names of the object that it describes. Bound to a target it becomes
a function from an object (or, for counts, from all of them) to finished lines of the
exposition, which are the same in the text format and in OpenMetrics, for all of these
families are gauges.
"""

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Generic, TypeVar

from prometheus_client.utils import floatToGoString

from exporter.states import Vocabulary

T = TypeVar("T")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Lines = Callable[[T], str]
"""An object, or a collection of them, to lines of the exposition, each with its newline."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What the lines of a target have in common: its labels, and how states are written."""

    labels: Mapping[str, str]
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    expected_states: Collection[str] = ()
    current_state_only: bool = False

    def state(self, kind: str, state: str) -> str:
        """Return the value of the label `state`."""
        return self.vocabularies[kind].label(state, self.expected_states)

    def surprising(self, kind: str, state: str) -> bool:
        """Return whether a state is neither listed nor expected."""
        return self.vocabularies[kind].surprising(state, self.expected_states)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(ABC, Generic[T]):
    """A gauge family, whose `labels` are attributes of what it describes.

    `source` is the API call and the fields that the value comes from.
    """

    name: str
    help: str
    source: str
    labels: tuple[str, ...]

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The labels that the family itself adds to those of the object."""
        return ()

    @property
    def header(self) -> str:
        """The HELP and TYPE lines, equal in both formats as long as no quote is in HELP."""
        text = f"{self.help} Polled in the background from {self.source}."
        return f"# HELP {self.name} {escape_help(text)}\n# TYPE {self.name} gauge\n"


class ObjectFamily(Family[T]):
    """A family whose lines depend on one object alone."""

    __slots__ = ()

    @abstractmethod
    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the lines of an object of one target."""


class ListFamily(Family[T]):
    """A family whose lines depend on all objects of a list."""

    __slots__ = ()

    @abstractmethod
    def bind(self, to: Binding) -> Lines[Collection[T]]:
        """Return the function that writes the lines of all objects of one target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Info(ObjectFamily[T]):
    """What is known of an object, as labels of a series that is 1."""

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the one line of an object."""
        series = _Series.of(self.name, self.labels, to.labels)
        return lambda item: series.start(item) + "} 1.0\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(ObjectFamily[T]):
    """A number of an object; no sample where it is None."""

    value: Callable[[T], float | None]

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the line of an object, or none."""
        series = _Series.of(self.name, self.labels, to.labels)

        def lines(item: T) -> str:
            value = self.value(item)
            return "" if value is None else f"{series.start(item)}}} {go_float(value)}\n"

        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class State(ObjectFamily[T]):
    """One series for each listed state, of which the present one is 1."""

    kind: str
    state: Callable[[T], str] = attrgetter("state_name")

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The label `state`."""
        return ("state",)

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes an object's lines, one for each listed state."""
        series = _Series.of(self.name, self.labels, to.labels, last="state")
        tails: dict[str, tuple[str, ...]] = {}

        def lines(item: T) -> str:
            state = to.state(self.kind, self.state(item))
            if state not in tails:
                tails[state] = self._tails(state, to)
            return series.start(item).join(tails[state])

        return lines

    def _tails(self, state: str, to: Binding) -> tuple[str, ...]:
        """Return what stands behind an object's labels; str.join puts those before each."""
        listed = () if to.current_state_only else to.vocabularies[self.kind].listed
        names = listed if state in listed else (*listed, state)
        return ("", *(f',state="{name}"}} {float(name == state)}\n' for name in names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Members(ObjectFamily[T]):
    """Series of an object's parts: `parts` gives their label values by name."""

    part_labels: tuple[str, ...]
    parts: Callable[[T], Iterable[Any]]

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The labels of a part."""
        return self.part_labels

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes an object's lines, one for each distinct part."""
        dynamic = (*self.labels, *self.part_labels)
        series = _Series(self.name, dynamic, to.labels)
        own, inner = _values_of(self.labels), _values_of(self.part_labels)

        def lines(item: T) -> str:
            values = dict.fromkeys((*own(item), *inner(part)) for part in self.parts(item))
            return "".join(series.fill(each) + "} 1.0\n" for each in values)

        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCounts(ListFamily[T]):
    """How many things are in which state, grouped by labels.

    Every listed state of a group that exists has a series. `states` gives the states of
    what an object counts for: its own, or those of its members; None where they are not
    known, which is no group, while an empty list is one of zeros.
    """

    kind: str
    states: Callable[[T], Iterable[str] | None]

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The label `state`."""
        return ("state",)

    def bind(self, to: Binding) -> Lines[Collection[T]]:
        """Return the function that counts all objects of a target."""
        series = _Series(self.name, self.labels, to.labels, last="state")
        group_of = _values_of(self.labels)
        listed = to.vocabularies[self.kind].listed

        def lines(items: Collection[T]) -> str:
            groups: dict[tuple[Hashable, ...], Counter[str]] = {}
            for item in items:
                states = self.states(item)
                if states is not None:
                    counts = groups.setdefault(group_of(item), Counter(dict.fromkeys(listed, 0)))
                    counts.update(to.state(self.kind, state) for state in states)
            return "".join(
                f'{series.fill(group)},state="{state}"}} {go_float(count)}\n'
                for group, counts in groups.items()
                for state, count in counts.items()
            )

        return lines


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
    """The families of one kind of object, in the order of the page."""

    name: str
    families: tuple[Family[T], ...]


class _Series:
    """Writes the start of a line, up to the last label, sorted as the client library does."""

    def __init__(
        self, name: str, dynamic: tuple[str, ...], fixed: Mapping[str, str], last: str = ""
    ) -> None:
        labels = sorted((*dynamic, *fixed))
        if last and labels[-1:] > [last]:
            raise ValueError(f"{name}: the label {last} does not sort last")
        parts = [
            f'{label}="%s"' if label in dynamic else f'{label}="{_literal(fixed[label])}"'
            for label in labels
        ]
        self._template = name + "{" + ",".join(parts)
        self._order = tuple(dynamic.index(label) for label in labels if label in dynamic)
        self._values: Callable[[Any], tuple[Any, ...]] = _values_of(dynamic)

    @classmethod
    def of(
        cls, name: str, dynamic: tuple[str, ...], fixed: Mapping[str, str], last: str = ""
    ) -> "_Series":
        """Return a writer that takes the labels straight from an object, already sorted."""
        return cls(name, tuple(sorted(dynamic)), fixed, last)

    def start(self, item: object) -> str:
        """Return the start of an object's line; for a writer made by `of`."""
        return self._template % tuple([escape(value) for value in self._values(item)])

    def fill(self, values: tuple[Any, ...]) -> str:
        """Return the start of the line for label values in the order they were named."""
        return self._template % tuple([escape(values[place]) for place in self._order])


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads attributes as a tuple, whatever their number."""
    if len(names) > 1:
        return attrgetter(*names)
    getters = [attrgetter(name) for name in names]
    return lambda item: tuple(getter(item) for getter in getters)


def _literal(text: str) -> str:
    return escape(text).replace("%", "%%")


def escape(value: str | None) -> str:
    """Escape a label value; None is the empty value."""
    if value is None:
        return ""
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def escape_help(text: str) -> str:
    """Escape a HELP text."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def go_float(value: float) -> str:
    """Write a number as Go and the client library do."""
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]  # it is untyped


def encode(text: str) -> bytes:
    """Encode lines; what UTF-8 can't hold becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text).encode()
