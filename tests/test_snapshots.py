"""Snapshots: what is shown of what was seen, and for how long."""

import itertools
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds.rows import Record, Row
from exporter.families import Binding, Info, StateCounts, Table, Value
from exporter.sheet import Key, Sheet
from exporter.snapshots import Sighting, Snapshot, Snapshots, TargetId
from exporter.states import Vocabulary

STALE_AFTER = 300.0
TARGET = TargetId("scp", "prod", "e", "kr-west1", "things")
NSML_TARGET = TargetId("nsml", "research", "", "", "runs")
LINE = re.compile(r'(\w+)\{.*thing_id="(\w+)".*\} (\S+)\n')

written: Counter[str] = Counter()


class Thing(Row, frozen=True):
    """An object; `group` is the start of the key of a part of something."""

    thing_id: str
    number: float = 0.0
    group: str = ""

    @property
    def key(self) -> Key:
        """The group, where there is one, and the id."""
        return tuple(part for part in (self.group, self.thing_id) if part)

    @property
    def counted_number(self) -> float:
        """The number; reading it is counted."""
        written[self.thing_id] += 1
        return self.number


THINGS: Table[Thing] = Table(
    "things",
    (
        Info(name="thing_info", help="A thing.", source="GET /", labels=("thing_id",)),
        Value(
            name="thing_number",
            help="Its number.",
            source="GET /",
            labels=("thing_id",),
            value="counted_number",
        ),
        StateCounts(
            name="things",
            help="Things.",
            source="GET /",
            labels=("group",),
            kind="thing",
            states=lambda thing: (thing.state_name,),
        ),
    ),
)
PARTS: Table[Thing] = Table(
    "parts", (Info(name="part_info", help="A part.", source="GET /", labels=("thing_id",)),)
)

Seen = dict[str, dict[str, float]]


@pytest.fixture(autouse=True)
def _nothing_written() -> None:
    written.clear()


def record(thing_id: str, number: float = 0.0, group: str = "") -> Record[Any]:
    """Return a new record, as of a row that was never read before."""
    item = Thing(thing_id=thing_id, number=number, group=group)
    return Record(item.key, item)


def binding() -> Binding:
    """Return what the lines of a target have in common."""
    return Binding({"account": "prod"}, {"thing": Vocabulary("thing", ())})


def snapshot(*tables: Table[Any], to: Binding | None = None) -> Snapshot:
    """Return a snapshot that saw nothing yet."""
    to = to or binding()
    sheets = tuple(Sheet(table, to) for table in tables or (THINGS,))
    return Snapshot(TARGET, STALE_AFTER, sheets)


def sighting(*things: Record[Any], **how: Any) -> Sighting:  # noqa: ANN401 - its other fields
    """Return what a poll of one table saw."""
    return Sighting({"things": {thing.key: thing for thing in things}}, **how)


def partial(*things: Record[Any], settled: Iterable[Key] = ()) -> Sighting:
    """Return what a poll saw that did not see everything."""
    return sighting(*things, complete=False, settled=frozenset(settled))


def shown(of: Snapshot, now: float, name: str = "thing_number") -> dict[str, float]:
    """Return the values that a family shows at a time, by id."""
    found: dict[str, float] = {}
    for pieces in of.pieces(now):
        for family, thing_id, value in LINE.findall(pieces[name].text.decode()):
            assert family == name
            assert thing_id not in found
            found[thing_id] = float(value)
    return found


def counted(of: Snapshot, now: float) -> float:
    """Return how many objects the counts add up to at a time."""
    lines = b"".join(pieces["things"].text for pieces in of.pieces(now)).decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_nothing_is_shown_before_the_first_poll() -> None:
    """A target that saw nothing yet has no lines at all."""
    assert snapshot().pieces(0.0) == ()


def test_whole_poll_replaces_what_was_seen() -> None:
    """What a whole poll did not see is gone at once, in every family."""
    kept = snapshot()
    kept.update(sighting(record("a", 1), record("b", 2)), 0.0)
    kept.update(sighting(record("b", 3), record("c", 4)), 1.0)

    assert shown(kept, 1.0) == {"b": 3.0, "c": 4.0}
    assert shown(kept, 1.0, "thing_info").keys() == {"b", "c"}
    assert counted(kept, 1.0) == 2.0


def test_empty_list_empties_the_page() -> None:
    """A whole poll that saw no object leaves none."""
    kept = snapshot()
    kept.update(sighting(record("a")), 0.0)
    kept.update(sighting(), 1.0)

    assert {piece.text for pieces in kept.pieces(1.0) for piece in pieces.values()} == {b""}


def test_partial_poll_deletes_nothing() -> None:
    """What a partial poll saw is updated or added, and all else stays."""
    kept = snapshot()
    kept.update(sighting(record("a", 1), record("b", 2)), 0.0)
    kept.update(partial(record("b", 3), record("c", 4)), 1.0)

    assert shown(kept, 1.0) == {"a": 1.0, "b": 3.0, "c": 4.0}
    assert counted(kept, 1.0) == 3.0


def test_partial_poll_deletes_what_is_settled() -> None:
    """Parts of an object whose parts were all seen, and an object that is gone, do go."""
    kept = snapshot()
    first = [record(f"{group}{n}", group=group) for group in "xyz" for n in (1, 2)]
    kept.update(sighting(*first), 0.0)
    kept.update(partial(record("x2", 5, group="x"), settled=[("x",), ("y", "y1")]), 1.0)

    assert shown(kept, 1.0) == {"x2": 5.0, "y2": 0.0, "z1": 0.0, "z2": 0.0}


def test_settled_ids_are_whole_ids() -> None:
    """A settled object is not one whose id only begins alike."""
    kept = snapshot()
    kept.update(sighting(record("p1", group="run1"), record("p2", group="run11")), 0.0)
    kept.update(partial(settled=[("run1",)]), 1.0)

    assert shown(kept, 1.0).keys() == {"p2"}


def test_partial_polls_let_go_what_was_not_seen_for_too_long() -> None:
    """Over partial polls each object lasts `stale_after` from its own last sight."""
    kept = snapshot()
    kept.update(sighting(record("a"), record("b")), 0.0)
    kept.update(partial(record("b")), 200.0)
    kept.update(partial(), 300.0)
    assert shown(kept, 300.0).keys() == {"a", "b"}

    kept.update(partial(), 301.0)
    assert shown(kept, 301.0).keys() == {"b"}
    assert counted(kept, 301.0) == 1.0


def test_objects_go_between_polls_too() -> None:
    """An object is too old from its moment on, though no poll wakes to say so."""
    kept = snapshot()
    kept.update(sighting(record("a"), record("b")), 0.0)
    kept.update(partial(record("b")), 200.0)

    assert shown(kept, 300.0).keys() == {"a", "b"}
    assert shown(kept, 300.5).keys() == {"b"}
    assert counted(kept, 300.5) == 1.0
    assert shown(kept, 500.0).keys() == {"b"}
    assert kept.pieces(500.5) == ()


def test_object_lasts_to_the_very_end() -> None:
    """An object is shown at `stale_after` to the second, also where others went before it."""
    kept = snapshot()
    for now, name in ((0.0, "a"), (100.0, "b"), (200.0, "c")):
        kept.update(partial(record(name)), now)

    assert shown(kept, 400.0).keys() == {"b", "c"}
    assert shown(kept, 400.5).keys() == {"c"}


def test_object_that_went_comes_back() -> None:
    """An object that was too old is shown again when a poll sees it, changed or not."""
    kept = snapshot()
    old = record("a", 1)
    kept.update(sighting(old, record("b")), 0.0)
    kept.update(partial(record("b")), 200.0)
    assert shown(kept, 350.0).keys() == {"b"}

    kept.update(partial(old), 360.0)
    assert shown(kept, 360.0) == {"a": 1.0, "b": 0.0}


def test_partial_polls_keep_no_more_than_is_fresh() -> None:
    """Over hundreds of partial polls with ever new ids the memory stays flat."""
    kept = snapshot()
    for number in range(500):
        kept.update(partial(record(f"n{number}")), number * 30.0)

    assert len(kept.seen[0].records) == len(kept.seen[0].times) == STALE_AFTER / 30 + 1
    assert len(shown(kept, 499 * 30.0)) == STALE_AFTER / 30 + 1


def test_partial_polls_take_nothing_of_the_last_whole_list_from_people() -> None:
    """What is too old for the page is told on, with its age, until a whole poll lacks it."""
    kept = snapshot()
    kept.update(sighting(record("a", 1), record("b", 2)), 0.0)
    for now in (200.0, 400.0, 600.0):
        kept.update(partial(record("b", 3)), now)

    assert shown(kept, 600.0) == {"b": 3.0}
    [last] = kept.last
    assert last.times == {("a",): 0.0, ("b",): 600.0}
    kept.update(sighting(record("b", 3)), 630.0)
    [last] = kept.last
    assert last.times == {("b",): 630.0}


def test_stale_target_shows_nothing_until_the_next_poll() -> None:
    """Without a poll for longer than `stale_after` all goes, and returns with the next one."""
    kept = snapshot()
    things = [record("a", 1), record("b", 2)]
    kept.update(sighting(*things), 0.0)
    assert shown(kept, STALE_AFTER) == {"a": 1.0, "b": 2.0}
    assert kept.pieces(STALE_AFTER + 0.001) == ()
    assert kept.pieces(86_400.0) == ()

    kept.update(sighting(*things), 86_401.0)
    assert shown(kept, 86_401.0) == {"a": 1.0, "b": 2.0}


def test_partial_poll_after_a_long_silence_brings_back_only_what_it_saw() -> None:
    """What was hidden as too old is not shown again by a poll that did not see it."""
    kept = snapshot()
    kept.update(sighting(record("a"), record("b")), 0.0)
    kept.update(partial(record("b")), 1_000.0)

    assert shown(kept, 1_000.0).keys() == {"b"}


def test_shorter_patience_holds_at_once() -> None:
    """A `stale_after` that is lowered between two polls counts from the next reading on."""
    kept = snapshot()
    kept.update(sighting(record("a"), record("b")), 0.0)
    kept.update(partial(record("b")), 100.0)
    kept.stale_after = 60.0

    assert shown(kept, 120.0).keys() == {"b"}
    assert kept.pieces(161.0) == ()


def test_unchanged_records_are_not_written_again() -> None:
    """An object is looked at when its record is another one, and only then."""
    kept = snapshot()
    same, other = record("same"), record("other")
    kept.update(sighting(same, other), 0.0)
    for now in range(1, 5):
        kept.update(sighting(same, record("other", now)), float(now))
        shown(kept, now + 0.5)

    assert written["same"] == 1
    assert written["other"] > 4


def test_unchanged_list_is_not_joined_again() -> None:
    """A poll that saw the very same records leaves the pieces as they are."""
    kept = snapshot()
    things = [record(f"n{number}") for number in range(100)]
    kept.update(sighting(*things), 0.0)
    before = kept.pieces(0.0)
    kept.update(sighting(*reversed(things)), 1.0)

    assert all(
        pieces[name] is piece
        for pieces, earlier in zip(kept.pieces(1.0), before, strict=True)
        for name, piece in earlier.items()
    )


def test_change_of_one_object_leaves_other_families_alone() -> None:
    """A family of which no line changed keeps its piece, which is compressed already."""
    kept = snapshot()
    kept.update(sighting(record("a", 1), record("b", 2)), 0.0)
    (before,) = kept.pieces(0.0)
    kept.update(sighting(record("a", 1), record("b", 3)), 1.0)
    (after,) = kept.pieces(1.0)

    assert after["thing_info"] is before["thing_info"]
    assert after["thing_number"] is not before["thing_number"]


@pytest.mark.parametrize("names", ["a", "ab"])
def test_new_generation_writes_derived_labels_again(names: str) -> None:
    """Labels that don't come from the records follow their generation, on every object."""
    models = dict.fromkeys(names, "H100")
    table: Table[Thing] = Table(
        "things",
        (Info(name="thing_info", help="A.", source="GET /", labels=("thing_id", "model")),),
    )
    to = Binding({}, derived={"model": lambda thing: models[thing.thing_id]})
    kept = snapshot(table, to=to)
    things = [record(name) for name in names]

    def lines() -> set[str]:
        assert kept.updated is not None
        (pieces,) = kept.pieces(kept.updated)
        return set(pieces["thing_info"].text.decode().splitlines())

    kept.update(sighting(*things, generation=1), 0.0)
    models.update(dict.fromkeys(names, "B300"))
    kept.update(sighting(*things, generation=1), 1.0)
    assert {"H100" in line for line in lines()} == {True}

    kept.update(sighting(*things, generation=2), 2.0)
    assert lines() == {f'thing_info{{model="B300",thing_id="{name}"}} 1.0' for name in names}


@given(st.permutations([f"n{number}" for number in range(6)]), st.booleans())
def test_order_of_rows_does_not_matter(order: list[str], same_records: bool) -> None:  # noqa: FBT001 - drawn
    """The same objects in another order are the same lines, whole or merged."""
    straight, shuffled = snapshot(), snapshot()
    things = {f"n{number}": record(f"n{number}", number) for number in range(6)}
    straight.update(sighting(*things.values()), 0.0)
    shuffled.update(sighting(*(things[name] for name in order)), 0.0)
    again = things if same_records else {key: record(key, 7) for key in things}
    straight.update(partial(*again.values()), 1.0)
    shuffled.update(partial(*(again[name] for name in order)), 1.0)

    for one, two in zip(straight.pieces(1.0), shuffled.pieces(1.0), strict=True):
        assert one.keys() == two.keys()
        for name, piece in one.items():
            assert sorted(piece.text.splitlines()) == sorted(two[name].text.splitlines())


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.integers(0, 9), st.integers(0, 3), max_size=8),
            st.booleans(),
            st.sampled_from([10.0, 100.0, 290.0, 310.0]),
        ),
        max_size=8,
    )
)
def test_page_is_what_the_rules_say(steps: list[tuple[dict[int, int], bool, float]]) -> None:
    """After any polls at any times the page shows what the contract's words add up to."""
    kept, now = snapshot(), 0.0
    expected: dict[str, tuple[float, float]] = {}
    for objects, complete, wait in steps:
        seen = {f"n{number}": (float(value), now) for number, value in objects.items()}
        things = [record(key, value) for key, (value, _) in seen.items()]
        kept.update(sighting(*things, complete=complete), now)
        expected = seen if complete else expected | seen
        for moment in (now, now + wait):
            fresh = {
                key: value
                for key, (value, at) in expected.items()
                if moment - at <= STALE_AFTER and moment - now <= STALE_AFTER
            }
            assert shown(kept, moment) == fresh
            assert counted(kept, moment) == len(fresh)
        now += wait


@pytest.mark.parametrize("objects", [1, 31, 32, 63, 64, 65, 300, 1_000, 20, 0])
def test_any_number_of_objects_is_shown(objects: int) -> None:
    """A list that grows or shrinks by far, and back, shows each object once."""
    kept = snapshot()
    for now, number in enumerate((500, objects, 500)):
        kept.update(sighting(*(record(f"n{each}", each) for each in range(number))), float(now))
        assert shown(kept, float(now)) == {f"n{each}": float(each) for each in range(number)}


def test_prepared_poll_is_not_shown_yet() -> None:
    """What a thread has written is shown from the moment at which it is published, all at once."""
    kept = snapshot()
    kept.prepare(sighting(record("a", 1)), 0.0)
    assert kept.pieces(0.0) == ()

    kept.publish()
    kept.prepare(sighting(record("b", 2)), 10.0)
    assert shown(kept, 10.0) == {"a": 1.0}
    assert kept.updated == 0.0

    kept.publish()
    assert shown(kept, 10.0) == {"b": 2.0}
    assert kept.updated == 10.0


def test_what_is_no_longer_shown_is_let_go() -> None:
    """A poll's records go when the next one has replaced them, and not before that is asked."""
    target, old = snapshot(THINGS), record("a")
    alone = sys.getrefcount(old)
    target.update(sighting(old), 0.0)
    target.prepare(sighting(record("a", 1.0)), 1.0)
    target.publish()
    outdated = sys.getrefcount(old)
    target.let_go()
    gone = sys.getrefcount(old)
    assert (outdated, gone) == (alone + 1, alone)


def test_last_is_what_was_seen_however_long_ago() -> None:
    """Beyond the page, the last poll's objects and their times are there, of one poll each."""
    kept = snapshot()
    assert not kept.last

    kept.update(sighting(record("a", 1), record("b", 2)), 0.0)
    kept.update(partial(record("b", 3)), 10.0)
    kept.prepare(sighting(record("c", 4)), 20.0)

    assert shown(kept, 10.0 + 2 * STALE_AFTER) == {}
    (last,) = kept.last
    assert last.table is THINGS
    assert {key: each.item.number for key, each in last.records.items()} == {("a",): 1, ("b",): 3}
    assert last.times == {("a",): 0.0, ("b",): 10.0}


def test_publishing_twice_changes_nothing() -> None:
    """Where nothing was prepared since the last time, what is shown stays and grows no younger."""
    kept = snapshot()
    kept.publish()
    assert kept.updated is None

    kept.update(sighting(record("a", 1)), 0.0)
    kept.publish()
    assert shown(kept, STALE_AFTER) == {"a": 1.0}
    assert kept.pieces(STALE_AFTER + 1) == ()


def test_pages_are_of_one_poll_while_another_is_written() -> None:
    """A page that is read while a thread takes in polls never mixes two of them."""
    kept = snapshot(THINGS, PARTS)
    polls, readings = 40, 0
    done = threading.Event()

    def poll() -> None:
        try:
            for number in range(polls):
                things = {each.key: each for each in (record(f"g{number}n{n}") for n in range(40))}
                kept.update(Sighting({"things": things, "parts": things}), float(number))
        finally:
            done.set()

    thread = threading.Thread(target=poll)
    thread.start()
    while not done.is_set() or not readings:
        was_done, read = done.is_set(), kept.pieces(float(polls))
        assert read or not was_done
        texts = [
            piece.text.decode()
            for pieces in read
            for name, piece in pieces.items()
            if name != "things"
        ]
        if texts:
            readings += 1
            generations = [re.findall(r'thing_id="g(\d+)n', text) for text in texts]
            assert len(set(itertools.chain(*generations))) == 1
            assert {len(generation) for generation in generations} == {40}
    thread.join()

    assert len(kept.pieces(float(polls))) == 2


def test_reader_hides_what_is_old_while_another_poll_is_written() -> None:
    """Hiding at the time of reading and taking in a poll in a thread do not disturb each other."""
    kept = snapshot()
    kept.update(sighting(*(record(f"old{n}") for n in range(20))), 0.0)
    kept.update(partial(record("young")), 290.0)
    start = threading.Barrier(2, timeout=10)

    def poll() -> None:
        start.wait()
        for number in range(50):
            kept.update(partial(record("young", number)), 290.0 + number / 10)

    thread = threading.Thread(target=poll)
    thread.start()
    start.wait()
    for _ in range(200):
        assert set(shown(kept, 301.0)) == {"young"}
    thread.join()

    assert shown(kept, 301.0) == {"young": 49.0}


def test_reload_keeps_what_was_seen() -> None:
    """A target that is built anew writes what the old one saw, with its own labels."""
    old, new = snapshot(), snapshot(to=Binding({"account": "x"}, binding().vocabularies))
    old.update(sighting(record("a", 1), record("b", 2)), 0.0)
    old.health.up = True
    new.adopt(old, 10.0)

    assert shown(new, 10.0) == {"a": 1.0, "b": 2.0}
    assert b'account="x"' in new.pieces(10.0)[0]["thing_info"].text
    assert new.health.up
    assert new.pieces(STALE_AFTER + 1) == ()
    new.update(sighting(record("c")), 20.0)
    assert shown(new, 20.0).keys() == {"c"}


def test_reload_waits_for_a_poll_that_is_being_taken_in() -> None:
    """A thread that a cancelled poll left behind has ended before its snapshot is taken over."""
    old, new = snapshot(), snapshot()
    old.update(sighting(record("a")), 0.0)
    half_done = record("b")
    old.seen[0].records = {half_done.key: half_done}

    class Writing(AbstractContextManager[bool]):
        def __enter__(self) -> bool:
            old.seen[0].times = {half_done.key: 1.0}
            return True

        def __exit__(self, *_: object) -> None:
            return None

    old._writing = cast("threading.Lock", Writing())
    new.adopt(old, 1.0)

    assert shown(new, 1.0).keys() == {"b"}
    assert new.seen[0].times == {half_done.key: 1.0}


def test_reload_before_the_first_poll_shows_nothing() -> None:
    """A target that is built anew before it ever saw anything has no lines."""
    new = snapshot()
    new.adopt(snapshot(), 10.0)

    assert new.pieces(10.0) == ()


def test_freshness_is_that_of_the_page() -> None:
    """What the page still shows is fresh, for the status page too."""
    kept = snapshot()

    assert kept.fresh(seen=0.0, now=STALE_AFTER)
    assert not kept.fresh(seen=0.0, now=STALE_AFTER + 0.001)


def test_health_starts_as_unknown() -> None:
    """Before its first poll a target is not up, and knows no time."""
    health = snapshot().health

    assert not health.up
    assert (health.last_attempt, health.last_success, health.last_update) == (None, None, None)


def test_objects_of_a_sighting_are_those_of_its_main_table() -> None:
    """The number of objects is that of the first table, whatever stands beside it."""
    things = {each.key: each for each in (record("a"), record("b"))}

    assert Sighting({"things": things, "parts": {}}).objects == 2
    assert Sighting({}).objects == 0


@pytest.mark.parametrize(
    ("target", "text"),
    [(TARGET, "scp/prod/e/kr-west1/things"), (NSML_TARGET, "nsml/research/runs")],
)
def test_targets_are_named_by_what_applies(target: TargetId, text: str) -> None:
    """A target's name for people leaves out what does not apply; its labels don't."""
    assert str(target) == text
    assert list(target.labels) == ["provider", "account", "environment", "region", "collector"]


def test_snapshots_are_those_of_the_configuration() -> None:
    """Targets stand in their order, and one that is configured no more is gone."""
    first, second = Snapshot(TARGET, 1.0, ()), Snapshot(NSML_TARGET, 1.0, ())
    snapshots = Snapshots()
    snapshots.replace([second, first])
    assert list(snapshots) == [second, first]
    assert snapshots.get(TARGET) is first

    snapshots.replace([second])
    assert list(snapshots) == [second]
    assert snapshots.get(TARGET) is None
