"""Metric families: what they write is, byte for byte, what the client library would write."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from exporter.families import (
    Binding,
    Family,
    Info,
    Lines,
    Members,
    State,
    StateCounts,
    Value,
)
from exporter.states import MAX_UNLISTED, Vocabulary

LISTED = ("UP", "DOWN")
ALL_LISTED = (*LISTED, "NOT_REPORTED")
EOF = b"# EOF\n"

Samples = list[tuple[dict[str, str], float]]

odd_texts = st.sampled_from(
    ["", '"', "\\", "\n", "\r", "\r\n", "%", "%s", "%%", "{", "}", "{}", ",", "=", "#", "\0",
     "\\n", '\\"', "\N{GRINNING FACE}", "\ud800", "\udfff", "\ud83d\ude00", "\u2028", "\x85"]
)  # fmt: skip
texts = st.lists(odd_texts | st.text(st.characters(exclude_categories=())), max_size=4).map("".join)
maybe_texts = texts | st.none()
numbers = st.floats() | st.integers(-(2**70), 2**70) | st.booleans()
edges = [
    999_999.5, 1e6, 1_234_567.0, 1e7, -1e6, 1e15, 1e16, 1e21, 1.7e308, 5e-324, -5e-324,
    math.inf, -math.inf, math.nan, 2**53, True, False,
]  # fmt: skip
states = st.sampled_from([*ALL_LISTED, "ODD", "ODDER", "ENDED"])


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a thing."""

    part_id: str | None
    part_name: str | None = ""


@dataclass(frozen=True, eq=False)
class Thing:
    """What the families of these tests describe."""

    object_id: str | None = "t-1"
    a_name: str | None = "one"
    number: float | None = None
    state_name: str = "UP"
    parts: tuple[Part, ...] = ()
    member_states: tuple[str, ...] | None = ()


def things(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[Thing]:
    """Draw things with any ids, and with more where a family reads more."""
    return st.builds(Thing, object_id=maybe_texts, a_name=maybe_texts, **more)


parts = st.lists(st.builds(Part, maybe_texts, maybe_texts), max_size=4).map(tuple)
members = st.none() | st.lists(states, max_size=6).map(tuple)
fixed_labels = st.fixed_dictionaries({"account": texts, "region": texts})

# Named out of alphabetical order: that of the page is the client library's, not the table's.
LABELS = ("object_id", "a_name")
INFO: Info[Thing] = Info(name="thing_info", help="A thing.", source="GET /", labels=LABELS)
VALUE: Value[Thing] = Value(
    name="thing_number", help="Its number.", source="GET /", labels=LABELS,
    value="number",
)  # fmt: skip
STATE: State[Thing] = State(
    name="thing_state", help="Its state.", source="GET /", labels=LABELS, kind="thing"
)
MEMBERS: Members[Thing] = Members(
    name="thing_part_info", help="Its parts.", source="GET /", labels=LABELS,
    part_labels=("part_name", "part_id"), parts="parts",
)  # fmt: skip
COUNTS: StateCounts[Thing] = StateCounts(
    name="thing_members", help="Its members.", source="GET /", labels=LABELS, kind="thing",
    states=attrgetter("member_states"),
)  # fmt: skip


def binding(
    labels: Mapping[str, str] | None = None, *, current: bool = False, expected: Iterable[str] = ()
) -> Binding:
    """Return a binding in which no unlisted state was met yet."""
    return Binding(
        labels={"account": "prod", "region": "west"} if labels is None else labels,
        vocabularies={"thing": Vocabulary("thing", LISTED)},
        expected_states=tuple(expected),
        current_state_only=current,
    )


def clean(value: str | None) -> str:
    """Return a label value as it can stand on a page."""
    return "".join("\ufffd" if 0xD800 <= ord(char) <= 0xDFFF else char for char in value or "")


def labels_of(thing: Thing, fixed: Mapping[str, str], **own: str | None) -> dict[str, str]:
    """Return all labels of one sample."""
    found = {**fixed, "object_id": thing.object_id, "a_name": thing.a_name, **own}
    return {name: clean(value) for name, value in found.items()}


class _Samples(Collector):
    def __init__(self, family: Family[Thing], samples: Samples) -> None:
        self._family, self._samples = family, samples

    def collect(self) -> Iterator[GaugeMetricFamily]:
        documentation = f"{self._family.help} Polled in the background from {self._family.source}."
        names = list(self._samples[0][0]) if self._samples else []
        metric = GaugeMetricFamily(self._family.name, documentation, labels=names)
        for labels, value in self._samples:
            metric.add_metric([labels[name] for name in names], value)
        yield metric


def client_library(family: Family[Thing], samples: Samples) -> tuple[bytes, bytes]:
    """Return the library's page of a family, in the text format and in OpenMetrics."""
    registry = CollectorRegistry()
    registry.register(_Samples(family, samples))
    openmetrics = generate_openmetrics(registry)  # type: ignore[no-untyped-call]  # it is untyped
    return generate_latest(registry), openmetrics.removesuffix(EOF)


def same(family: Family[Thing], lines: Iterable[str], samples: Samples) -> None:
    """Assert that the lines under the family's header are the library's page in both formats."""
    page = family.header.encode() + "".join(lines).encode()
    assert (page, page) == client_library(family, samples)


def written(lines: Lines[Thing], *objects: Thing) -> list[str]:
    """Return the lines of each object."""
    return [lines(thing).decode() for thing in objects]


def counted(to: Binding, objects: Iterable[Thing]) -> bytes:
    """Return the lines of the counts of objects."""
    return COUNTS.bind(to)(Counter(map(COUNTS.alike, objects)))


@given(st.lists(things(), max_size=3), fixed_labels)
@example([Thing('"\\\n', "%s")], {"account": "100%", "region": "%s"})
def test_info_is_written_as_the_client_library_writes_it(
    objects: list[Thing], fixed: dict[str, str]
) -> None:
    """Every label value, the target's too, is escaped as the library escapes it."""
    lines = written(INFO.bind(binding(fixed)), *objects)

    same(INFO, lines, [(labels_of(thing, fixed), 1) for thing in objects])


@given(st.lists(things(number=st.none() | numbers), max_size=3), fixed_labels)
@example([Thing(number=0.0), Thing(number=-0.0), Thing(number=0), Thing(number=False)], {})
@example([Thing(number=-0.0), Thing(number=0.0)], {})
@example([Thing(number=number) for number in edges], {})
def test_value_is_written_as_the_client_library_writes_it(
    objects: list[Thing], fixed: dict[str, str]
) -> None:
    """Every number is written as the library writes it, and None is no sample."""
    lines = written(VALUE.bind(binding(fixed)), *objects)

    expected = [(labels_of(each, fixed), each.number) for each in objects]
    same(VALUE, lines, [(labels, value) for labels, value in expected if value is not None])


@given(st.lists(things(state_name=states), max_size=3), fixed_labels)
def test_state_is_written_as_the_client_library_writes_it(
    objects: list[Thing], fixed: dict[str, str]
) -> None:
    """An object has a series for every listed state, and one for the unlisted it is in."""
    lines = written(STATE.bind(binding(fixed)), *objects)

    samples = [
        (labels_of(thing, fixed, state=name), float(name == thing.state_name))
        for thing in objects
        for name in dict.fromkeys((*ALL_LISTED, thing.state_name))
    ]
    same(STATE, lines, samples)


@given(st.lists(things(state_name=states), max_size=3), fixed_labels)
def test_state_can_be_the_current_one_alone(objects: list[Thing], fixed: dict[str, str]) -> None:
    """With `state_series: current` an object has the series that is 1, and no other."""
    lines = written(STATE.bind(binding(fixed, current=True)), *objects)

    same(STATE, lines, [(labels_of(each, fixed, state=each.state_name), 1) for each in objects])


@given(things(parts=parts), fixed_labels)
@example(Thing(parts=(Part("\ud800", None), Part("\udfff", ""), Part("\ufffd"))), {})
def test_members_are_written_as_the_client_library_writes_them(
    thing: Thing, fixed: dict[str, str]
) -> None:
    """Each part that has label values of its own has one series, and no two are equal."""
    lines = MEMBERS.bind(binding(fixed))(thing).decode()

    parts = {(clean(part.part_id), clean(part.part_name)): part for part in thing.parts}
    samples = [
        (labels_of(thing, fixed, part_id=part.part_id, part_name=part.part_name), 1.0)
        for part in parts.values()
    ]
    same(MEMBERS, [lines], samples)


@pytest.mark.parametrize("current", [False, True])
@given(st.lists(things(member_states=members), max_size=4), fixed_labels)
@example([Thing(None, member_states=("UP",)), Thing("", member_states=("UP",))], {})
def test_counts_are_written_as_the_client_library_writes_them(
    current: bool,  # noqa: FBT001 - a parameter of the test
    objects: list[Thing],
    fixed: dict[str, str],
) -> None:
    """Each group counts every listed state, with its zeros in either mode of the states."""
    lines = counted(binding(fixed, current=current), objects).decode()

    groups: dict[tuple[str, str], tuple[Thing, dict[str, int]]] = {}
    for thing in objects:
        if thing.member_states is not None:
            key = (clean(thing.object_id), clean(thing.a_name))
            _, counts = groups.setdefault(key, (thing, dict.fromkeys(ALL_LISTED, 0)))
            for state in thing.member_states:
                counts[state] = counts.get(state, 0) + 1
    in_order = sorted(
        [
            [
                (labels_of(thing, fixed, state=state), float(counts[state]))
                for state in (*ALL_LISTED, *sorted(counts.keys() - set(ALL_LISTED)))
            ]
            for thing, counts in groups.values()
        ],
        key=lambda group: client_library(COUNTS, group)[0],
    )
    same(COUNTS, [lines], [sample for group in in_order for sample in group])


@given(st.lists(things(member_states=members), max_size=4), st.integers())
def test_counts_do_not_depend_on_the_order_of_the_list(objects: list[Thing], seed: int) -> None:
    """A list in another order gives the same text, which nobody has to compress anew."""
    shuffled = list(objects)
    random.Random(seed).shuffle(shuffled)  # noqa: S311 - a shuffle
    assert counted(binding(), objects) == counted(binding(), shuffled)


def test_absent_member_list_is_no_group() -> None:
    """Members that are not known have no series; a list that is empty has one of zeros."""
    assert counted(binding(), [Thing(member_states=None)]) == b""
    zeros = counted(binding(), [Thing(member_states=())])
    assert [line.rpartition(b" ")[2] for line in zeros.splitlines()] == [b"0.0"] * len(ALL_LISTED)


def test_null_and_empty_label_values_are_one_group() -> None:
    """Objects that differ only in a null for an empty text are counted in one series."""
    things = [Thing(None, "", member_states=("UP",)), Thing("", None, member_states=("UP",))]
    lines = counted(binding(), things)

    assert [line for line in lines.decode().splitlines() if 'state="UP"' in line] == [
        'thing_members{a_name="",account="prod",object_id="",region="west",state="UP"} 2.0'
    ]


def test_state_of_a_group_past_the_limit_is_other() -> None:
    """Unlisted states past the limit are counted together, and stated, as OTHER."""
    to = binding()
    for number in range(MAX_UNLISTED):
        to.state("thing", f"ODD_{number}")
    lines = counted(to, [Thing(member_states=("NEW", "NEWER", "ODD_3"))])

    assert b'state="OTHER"' in lines
    assert b'state="ODD_3"' in lines
    assert b"NEW" not in lines


def test_expected_state_is_written_but_is_no_surprise() -> None:
    """A state that the configuration expects has a series where an object is in it."""
    to = binding(expected=["ENDED"])

    assert b'state="ENDED"' in STATE.bind(to)(Thing(state_name="ENDED"))
    assert b'state="ENDED"' not in STATE.bind(to)(Thing())
    assert not to.surprising("thing", "ENDED")
    assert to.surprising("thing", "ODD")


@pytest.mark.parametrize("family", [STATE, COUNTS])
@pytest.mark.parametrize("label", ["type", "zone"])
def test_label_behind_the_state_is_refused(family: Family[Thing], label: str) -> None:
    """A table whose lines would not be sorted is refused when it is bound, not on the page."""
    assert isinstance(family, State | StateCounts)

    with pytest.raises(ValueError, match="sort last"):
        family.bind(binding({"account": "prod", label: "x"}))


def test_families_of_one_binding_do_not_mix_up_objects() -> None:
    """Families that share a target's labels each write the object that they are given."""
    to = binding()
    info, value = INFO.bind(to), VALUE.bind(to)
    first, second = Thing("t-1", number=1), Thing("t-2", number=2)

    lines = [info(first), value(second), value(first), info(second)]

    ids = [line.split(b'object_id="')[1][:3] for line in lines]
    assert ids == [b"t-1", b"t-2", b"t-1", b"t-2"]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"')))
def test_header_is_the_client_librarys_in_both_formats(text: str) -> None:
    """HELP and TYPE are escaped as the library does, where no quote divides the formats."""
    family: Info[Thing] = Info(name="thing_info", help=text, source="GET /", labels=LABELS)

    same(family, [], [])


@pytest.mark.parametrize(
    ("family", "own"),
    [(INFO, ()), (VALUE, ()), (STATE, ("state",)), (COUNTS, ("state",)),
     (MEMBERS, ("part_name", "part_id"))],
)  # fmt: skip
def test_family_names_the_labels_that_it_adds(family: Family[Thing], own: tuple[str, ...]) -> None:
    """The labels beyond the object's own can be read from a family, for the reference."""
    assert family.own_labels == own


def test_states_of_free_text_do_not_fill_the_memory() -> None:
    """However many texts a service writes for a state, what is kept of them is bounded."""
    family: State[Thing] = State(
        name="x_state", help="X.", source="nowhere", labels=("object_id",), kind="thing",
    )  # fmt: skip
    write = family.bind(Binding({}, {"thing": Vocabulary("thing", LISTED)}))
    kept = next(
        cell.cell_contents
        for cell in write.__closure__ or ()
        if isinstance(cell.cell_contents, dict)
    )
    for number in range(2_000):
        write(Thing(state_name=f"SINCE_{number}"))
    assert len(kept) <= 256
