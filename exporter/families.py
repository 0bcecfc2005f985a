"""What a metric family is: a name, a help, labels, and the samples of an object.

Families are data. Each resource has a table of them; a family takes its labels from the
attributes of the same names of the object that it describes. Bound to a target it becomes
a function from an object (or, for counts, from all of them) to finished lines of the
exposition, which are the same in the text format and in OpenMetrics, for all of these
families are gauges.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

from prometheus_client.utils import floatToGoString

from exporter.states import Vocabulary

T = TypeVar("T")

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_GO_EXPONENT = 1e6
"""The number from which on Go writes an exponent."""

_MAX_TAILS = 256
"""A service that writes free text for a state does not fill the memory."""

Lines = Callable[[T], bytes]
"""An object, or counts of them, to lines of the exposition, each with its newline."""

Labels = Callable[[T], str]
"""An object to its labels, with the brace before them."""


@dataclass(frozen=True, slots=True)
class Binding:
    """What the lines of a target have in common: its labels, and how states are written.

    `derived` are labels of its objects that are no attributes of them.
    """

    labels: Mapping[str, str]
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    expected_states: Collection[str] = ()
    current_state_only: bool = False
    derived: Mapping[str, Callable[[Any], str]] = field(default_factory=dict, compare=False)
    _writers: dict[tuple[str, ...], Labels[Any]] = field(default_factory=dict, compare=False)

    def writer(self, names: tuple[str, ...]) -> Labels[Any]:
        """Return what writes these labels of an object; families with the same share it."""
        if names not in self._writers:
            self._writers[names] = _Labels(names, self.labels, self.derived).writer()
        return self._writers[names]

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

    @property
    def shows(self) -> str:
        """The attribute that an object's lines show beside its labels; empty if there is none."""
        return ""

    @abstractmethod
    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the lines of an object of one target."""


class ListFamily(Family[T]):
    """A family whose lines depend on how many objects of a list are alike in something."""

    __slots__ = ()

    @property
    @abstractmethod
    def alike(self) -> Callable[[T], Hashable]:
        """What gives what an object is counted as."""

    @abstractmethod
    def bind(self, to: Binding) -> Lines[Mapping[Any, int]]:
        """Return the function that writes how many objects of one target are alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Info(ObjectFamily[T]):
    """What is known of an object, as labels of a series that is 1."""

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the one line of an object."""
        name, labels = self.name, to.writer(self.labels)
        return lambda item: f"{name}{labels(item)}}} 1.0\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Value(ObjectFamily[T]):
    """A number of an object, the attribute `value`; no sample where it is None."""

    value: str

    @property
    def shows(self) -> str:
        """The number."""
        return self.value

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes the line of an object, or none."""
        name, value_of, labels = self.name, attrgetter(self.value), to.writer(self.labels)

        def lines(item: T) -> bytes:
            value = value_of(item)
            if value is None:
                return b""
            number = _known_float(value) if value else go_float(value)
            return f"{name}{labels(item)}}} {number}\n".encode()

        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class State(ObjectFamily[T]):
    """One series for each listed state, of which the present one, `state_name`, is 1."""

    kind: str

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The label `state`."""
        return ("state",)

    @property
    def shows(self) -> str:
        """The state."""
        return "state_name"

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes an object's lines, one for each listed state."""
        name, state_of, labels = self.name, attrgetter(self.shows), to.writer(self.labels)
        _check_last("state", (*self.labels, *to.labels))
        tails: dict[str, tuple[bytes, ...]] = {}

        def lines(item: T) -> bytes:
            state = state_of(item)
            tail = tails.get(state)
            if tail is None:
                tail = self._tails(to.state(self.kind, state), to)
                if len(tails) < _MAX_TAILS:
                    tails[state] = tail
            return (name + labels(item)).encode().join(tail)

        return lines

    def _tails(self, state: str, to: Binding) -> tuple[bytes, ...]:
        """Return what stands behind an object's labels; bytes.join puts those before each."""
        listed = () if to.current_state_only else to.vocabularies[self.kind].listed
        names = listed if state in listed else (*listed, state)
        tails = (f',state="{name}"}} {float(name == state)}\n' for name in names)
        return (b"", *(tail.encode() for tail in tails))


@dataclass(frozen=True, slots=True, kw_only=True)
class Members(ObjectFamily[T]):
    """Series of an object's parts, the attribute `parts`: their labels are attributes of them."""

    part_labels: tuple[str, ...]
    parts: str

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The labels of a part."""
        return self.part_labels

    @property
    def shows(self) -> str:
        """The parts."""
        return self.parts

    def bind(self, to: Binding) -> Lines[T]:
        """Return the function that writes an object's lines, one for each distinct part."""
        labels = _Labels((*self.labels, *self.part_labels), to.labels)
        own, inner = _values_of(self.labels), _values_of(self.part_labels)
        parts_of = attrgetter(self.parts)

        def lines(item: T) -> bytes:
            each = (labels.fill((*own(item), *inner(part))) for part in parts_of(item))
            found = (f"{self.name}{text}}} 1.0\n" for text in dict.fromkeys(each))
            return "".join(found).encode()

        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCounts(ListFamily[T]):
    """How many things are in which state, grouped by labels.

    Every listed state of a group that exists has a series. `states` gives the states of
    what an object counts for: its own, or those of its members; None where they are not
    known, which is no group, while an empty list is one of zeros.
    """

    kind: str
    states: Callable[[T], tuple[str, ...] | None]

    @property
    def own_labels(self) -> tuple[str, ...]:
        """The label `state`."""
        return ("state",)

    @property
    def alike(self) -> Callable[[T], Hashable]:
        """The group and the states of an object."""
        group_of, states_of = _values_of(self.labels), self.states
        return lambda item: (group_of(item), states_of(item))

    def bind(self, to: Binding) -> Lines[Mapping[Any, int]]:
        """Return the function that writes the counts of all objects of a target."""
        labels = _Labels(self.labels, to.labels)
        _check_last("state", (*self.labels, *to.labels))
        return lambda counts: "".join(self._lines(counts, labels, to)).encode()

    def _lines(
        self,
        counts: Mapping[tuple[tuple[Any, ...], tuple[str, ...] | None], int],
        labels: "_Labels",
        to: Binding,
    ) -> Iterator[str]:
        listed = dict.fromkeys(to.vocabularies[self.kind].listed, 0)
        totals: dict[str, dict[str, int]] = {}
        for (group, states), count in counts.items():
            if states is not None:
                # By their text, for groups that differ only in a null for an empty label are one.
                total = totals.setdefault(labels.fill(group), listed.copy())
                for state in states:
                    label = to.state(self.kind, state)
                    total[label] = total.get(label, 0) + count
        # Sorted, so that a list in another order is the same text.
        for text, total in sorted(totals.items()):
            if len(total) > len(listed):
                unlisted = sorted(total.keys() - listed.keys())
                total = {state: total[state] for state in (*listed, *unlisted)}  # noqa: PLW2901
            yield (self.name + text).join(_count_tails(tuple(total.items())))


@lru_cache(maxsize=1024)
def _count_tails(counts: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Return what stands behind the labels of a group; str.join puts those before each."""
    return ("", *(f',state="{state}"}} {go_float(count)}\n' for state, count in counts))


@dataclass(frozen=True, slots=True)
class Table(Generic[T]):
    """The families of one kind of object, in the order of the page."""

    name: str
    families: tuple[Family[T], ...]


class _Labels:
    """Writes an object's labels up to the last, sorted as the client library sorts them."""

    def __init__(
        self,
        names: tuple[str, ...],
        fixed: Mapping[str, str],
        derived: Mapping[str, Callable[[Any], str]] | None = None,
    ) -> None:
        dynamic = tuple(sorted(names))
        parts = [
            f'{label}="%s"' if label in dynamic else f'{label}="{_literal(fixed[label])}"'
            for label in sorted((*dynamic, *fixed))
        ]
        self._template = "{" + ",".join(parts)
        self._order = tuple(names.index(label) for label in dynamic)
        self._values = _values_of(dynamic, derived or {})
        # What is derived of the same object may be another text the next time.
        self._lasting = not derived or derived.keys().isdisjoint(names)

    def writer(self) -> Labels[Any]:
        """Return the function that writes an object's labels, read from its attributes.

        It remembers the text of the last object, for which the next family asks as well.
        """
        template, values_of, lasting = self._template, self._values, self._lasting
        last: object = None
        text = ""

        def labels(item: object) -> str:
            nonlocal last, text
            if last is not item or not lasting:
                text = template % _escaped(values_of(item))
                last = item
            return text

        return labels

    def fill(self, values: tuple[Any, ...]) -> str:
        """Return the labels for values in the order in which their names were given."""
        return self._template % _escaped(tuple([values[place] for place in self._order]))


def _check_last(label: str, others: Iterable[str]) -> None:
    if max(others, default="") > label:
        raise ValueError(f"the label {label} has to sort last")


def _values_of(
    names: tuple[str, ...], derived: Mapping[str, Callable[[Any], str]] | None = None
) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads attributes as a tuple, whatever their number."""
    computed = {name: get for name, get in (derived or {}).items() if name in names}
    read = tuple(name for name in names if name not in computed)
    if computed:
        attributes, order = _values_of(read), [(*read, *computed).index(name) for name in names]
        in_order = itemgetter(*order, 0)  # one more, for of a single one it makes no tuple
        return lambda item: in_order(
            (*attributes(item), *[get(item) for get in computed.values()])
        )[:-1]
    if len(read) > 1:
        return attrgetter(*read)
    getters = [attrgetter(name) for name in read]
    return lambda item: tuple([get(item) for get in getters])


def _escaped(values: tuple[Any, ...]) -> tuple[str, ...]:
    """Escape label values; most need nothing, which one look at all of them tells."""
    texts = values
    if None in values:
        texts = tuple(["" if value is None else value for value in values])
    together = "".join(texts)
    plain = together.isascii() and not ("\\" in together or '"' in together or "\n" in together)
    return texts if plain else tuple([escape(text) for text in texts])


def _literal(text: str) -> str:
    return escape(text).replace("%", "%%")


def escape(value: str) -> str:
    """Escape a label value; what UTF-8 can't hold becomes U+FFFD."""
    if not value.isascii():
        value = _LONE_SURROGATE.sub("\ufffd", value)
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def escape_help(text: str) -> str:
    """Escape a HELP text."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def go_float(value: float) -> str:
    """Write a number as Go and the client library do."""
    number = float(value)
    return repr(number) if -_GO_EXPONENT < number < _GO_EXPONENT else _large_go_float(number)


_known_float = lru_cache(maxsize=1 << 14)(go_float)
"""Not for zero, of which there are two that are one key."""


@lru_cache(maxsize=1 << 16)
def _large_go_float(number: float) -> str:
    """Write a number that Go may write otherwise; no zero, for 0.0 and -0.0 are one key."""
    return str(floatToGoString(number))  # type: ignore[no-untyped-call]  # it is untyped
