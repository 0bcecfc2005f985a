"""Reading rows: a bad one spoils no other, and an unchanged one is the same object."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import fields

from exporter.clouds import rows
from exporter.clouds.nsml.models import Run, RunNode
from exporter.clouds.outcomes import BadResponse
from exporter.clouds.rows import Reader, Record, Row, read_object, read_row
from exporter.clouds.scp.models import ClusterFabric, GpuNode
from tests.clouds.hostile import (
    FIT_NOWHERE,
    HOSTILE,
    KINDS,
    Kind,
    breakable,
    fixture,
    nested,
    raw_answer,
    raw_row,
)

FIELDS = [(kind, name) for kind in KINDS for name in breakable(kind)]
NODES = KINDS[0]
NO_TEXT = {"None", "null", "nan", "NaN", "inf", "-inf", "Infinity"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda part: st.lists(part) | st.dictionaries(st.text(st.characters()), part),
    max_leaves=4,
)


def reader_of(kind: Kind) -> Reader[Any]:
    """Return a new reader of a kind of rows."""
    return Reader(kind.model, kind.rows)


def answer_of(kind: Kind, rows: Sequence[Mapping[str, Any]], total: object = None) -> bytes:
    """Write an answer of good rows."""
    return json.dumps({kind.rows: rows, kind.total: total}).encode()


def read(model: type[Row], raw: bytes) -> Record[Any]:
    """Read a row that has to be readable."""
    record = read_row(model, raw)
    assert record is not None
    return record


def values(item: Row) -> dict[str, Any]:
    """Return an object's fields by their names in the API."""
    return {
        each.encode_name: to_builtins(getattr(item, each.name), enc_hook=float)
        for each in fields(item)
    }


def texts(value: object) -> set[str]:
    """Return all texts within a value."""
    match value:
        case str():
            return {value}
        case dict():
            return {text for part in value.values() for text in texts(part)}
        case list():
            return {text for part in value for text in texts(part)}
        case _:
            return set()


def spoilt(kind: Kind, spoiled: bytes) -> Record[Any] | None:
    """Read a row among good ones, which must be exact; return its record, if it has one."""
    good = [json.dumps(kind.other(number)).encode() for number in (1, 2)]
    page = reader_of(kind).page(raw_answer(kind, [good[0], spoiled, good[1]]))
    assert page.rows == 3
    first, *between, last = page.records
    assert [first.item, last.item] == [read(kind.model, raw).item for raw in good]
    assert not first.invalid
    assert not last.invalid
    return between[0] if between else None


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=str)
def test_a_bad_field_spoils_nothing_but_itself(kind: Kind, name: str) -> None:
    """Whatever stands in a field, the other fields and rows are exact, and no text says None."""
    good = values(read(kind.model, json.dumps(kind.good()).encode()).item)
    for hostile, value in HOSTILE.items():
        record = spoilt(kind, raw_row(kind.good(), **{name: value}))
        if record is None:
            assert name in kind.ids, hostile
            continue
        now = values(record.item)
        assert {**now, name: ...} == {**good, name: ...}, hostile
        assert not NO_TEXT & texts(now), hostile
        named = {field.split(".")[0] for field, _ in record.invalid}
        assert named <= {name}, hostile
        assert named or hostile not in FIT_NOWHERE, hostile
        if named and not isinstance(now[name], list | dict):
            assert now[name] == values(kind.model())[name], hostile


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=str)
def test_a_missing_field_is_no_fault(kind: Kind, name: str) -> None:
    """A field that is not there is its default, and is not counted; but an id is needed."""
    row = kind.good()
    row.pop(name, None)
    record = spoilt(kind, json.dumps(row).encode())
    if record is None:
        assert name in kind.ids
    else:
        assert not record.invalid
        assert values(record.item)[name] == values(kind.model())[name]


@settings(max_examples=50)
@given(st.sampled_from(KINDS), st.data())
def test_any_fields_may_be_bad_at_once(kind: Kind, data: st.DataObject) -> None:
    """However many fields are bad, the row's good ones are exact."""
    good = values(read(kind.model, json.dumps(kind.good()).encode()).item)
    names = sorted(set(breakable(kind)) - set(kind.ids))
    bad = data.draw(st.dictionaries(st.sampled_from(names), JSON))
    record = spoilt(kind, json.dumps(kind.good() | bad).encode())
    assert record is not None
    now = values(record.item)
    assert {**now, **dict.fromkeys(bad)} == {**good, **dict.fromkeys(bad)}
    assert {field.split(".")[0] for field, _ in record.invalid} <= bad.keys()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_not_read_can_be_anything(kind: Kind) -> None:
    """A field that the exporter does not know harms nothing and is not counted."""
    good = read(kind.model, json.dumps(kind.good()).encode())
    for hostile, value in HOSTILE.items():
        record = spoilt(kind, raw_row(kind.good(), zone=value))
        assert record is not None, hostile
        assert record.item == good.item, hostile
        assert not record.invalid, hostile


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_row_that_is_no_object_is_counted_as_nameless(kind: Kind) -> None:
    """Null or a number among the rows is a row without an id."""
    for hostile, value in HOSTILE.items():
        assert spoilt(kind, value) is None, hostile


def test_parts_of_a_row_are_left_out_one_by_one() -> None:
    """Of a list within a row only the bad elements go, and each kind of fault has its name."""
    raw = b'{"id": "f", "gpu_node_details": [{"state": 1}, null, {"state": "ERROR"}, 7, "x"]}'
    record = read(ClusterFabric, raw)
    assert record.item.member_states == ("NOT_REPORTED", "ERROR")
    assert [name for name, _ in record.invalid] == ["gpu_node_details", "gpu_node_details.state"]


class Odd(Row, frozen=True):
    """A row with a field of two kinds, which no cloud has yet."""

    name: str = ""
    size: int | list[int] = 0

    @property
    def key(self) -> tuple[str, ...]:
        """The name."""
        return (self.name,)


def test_a_field_of_several_kinds_is_left_out_under_its_own_name() -> None:
    """A fault that is told once for each kind is one fault of one field."""
    record = read(Odd, b'{"name": "a", "size": "large"}')
    assert record.item == Odd(name="a")
    assert [name for name, _ in record.invalid] == ["size"]


def test_a_row_that_is_no_json_is_no_record() -> None:
    """Broken bytes name no object."""
    assert read_row(GpuNode, b'{"id": "a"') is None


def test_a_kind_of_rows_has_a_key_of_its_own_and_need_not_have_states() -> None:
    """What tells objects apart has to be said for each kind."""
    with pytest.raises(NotImplementedError):
        _ = Row().key
    assert Row().state_name == "NOT_REPORTED"


def test_the_reason_of_a_fault_is_told_without_the_value() -> None:
    """What is told of a bad field says what was wrong, and never what stood there."""
    record = read(GpuNode, b'{"id": "n", "lock_enabled": "s3cret", "created_at": "s3cret-time"}')
    assert dict(record.invalid).keys() == {"lock_enabled", "created_at"}
    assert "s3cret" not in dict(record.invalid)["lock_enabled"]


def test_of_equal_keys_the_last_counts_in_every_reading() -> None:
    """A key that stands twice means its last value, whether the row is good or bad."""
    assert read(GpuNode, b'{"id": "a", "id": "b"}').item.gpu_node_id == "b"
    assert read(GpuNode, b'{"id": "a", "id": "b", "state": NaN}').item.gpu_node_id == "b"
    body = b'{"gpu_nodes": null, "gpu_nodes": [], "gpu_nodes": [{"id": "a"}]}'
    assert reader_of(NODES).page(body).rows == 1


@given(st.binary())
def test_bytes_of_any_kind_are_read_or_refused(body: bytes) -> None:
    """No answer brings anything but a page or BadResponse."""
    try:
        page = reader_of(NODES).page(body)
    except BadResponse:
        return
    assert page.rows >= 0


@given(st.data())
def test_an_answer_cut_or_altered_anywhere_is_read_or_refused(data: st.DataObject) -> None:
    """A byte lost or changed on the way brings nothing but a page or BadResponse."""
    kind = data.draw(st.sampled_from(KINDS))
    body = bytearray(fixture(kind.file))
    place = data.draw(st.integers(0, len(body) - 1))
    body[place : place + data.draw(st.integers(1, 3))] = data.draw(st.binary(max_size=3))
    try:
        page = reader_of(kind).page(bytes(body))
    except BadResponse:
        return
    assert page.rows <= 3


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"5",
        b"{}",
        b'{"gpu_nodes": null}',
        b'{"gpu_nodes": {}}',
        b'{"gpu_nodes": "[]"}',
        b'{"gpu_nodes": [{"id": "a"}',
        b'{"gpu_nodes": [{"id": "a"}]} trailing',
        b'{"gpu_nodes": [{"id": "a"},]}',
        b'{"errors": [{"code": "Failed", "status": 500}]}',
        b"<!doctype html><html></html>",
        b"upstream connect error",
        b"\x1f\x8b\x08\x00",
        nested(b"[", b"]", 100_000),
        nested(b'{"gpu_nodes":', b"}", 100_000),
    ],
    ids=lambda body: repr(body[:30]),
)
def test_what_is_not_the_documented_answer_is_refused(body: bytes) -> None:
    """An answer without the list is BadResponse, never an empty list."""
    with pytest.raises(BadResponse):
        reader_of(NODES).page(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"nodes": [{"envs": {"TOKEN": "s3cret"}, "id": "a"}]}',
        b'{"gpu_nodes": [{"init_script": "s3cret", ',
        b'{"gpu_nodes": {"init_script": "s3cret"}}',
        b'["s3cret"]',
        b'"s3cret"',
        b'\xef\xbb\xbf {"envs": "s3cret"',
    ],
)
def test_a_refused_answer_does_not_show_what_it_holds(body: bytes) -> None:
    """Scripts and variables of a renamed or broken answer stay out of the error's text."""
    with pytest.raises(BadResponse) as refused:
        reader_of(NODES).page(body)
    assert "s3cret" not in refused.value.message
    with pytest.raises(BadResponse) as refused:
        read_object(Run, body, {"projectId": "p", "runName": "r"}, "run")
    assert "s3cret" not in refused.value.message


def test_a_refused_answer_says_what_it_looks_like() -> None:
    """The text names an unexpected object's fields, and the start of what is no JSON."""
    with pytest.raises(BadResponse, match="status, error"):
        reader_of(NODES).page(b'{"status": 500, "error": {"message": "s"}}')
    with pytest.raises(BadResponse, match="upstream connect error"):
        reader_of(NODES).page(b"upstream\r\nconnect error" + b" and so on" * 1000)


@pytest.mark.parametrize(
    ("raw", "total"),
    [
        (b"20", 20),
        (b"0", 0),
        (b"null", None),
        (b'"20"', 20),
        (b"-1", None),
        (b"20.0", 20),
        (b"true", None),
        (b"NaN", None),
        (b"1e999", None),
        (b"9" * 300, None),
        (b"9" * 5000, None),
        (b"[20]", None),
        (b'"\\ud800"', None),
        (nested(b"[", b"]", 5000), None),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_total_is_a_count_or_nothing(raw: bytes, total: int | None) -> None:
    """A total that is no number, or that nobody can mean, is no claim and no fault."""
    page = reader_of(NODES).page(raw_answer(NODES, [b'{"id": "a"}'], raw))
    assert page.total == total
    assert page.rows == 1


def test_a_total_that_is_missing_is_none() -> None:
    """An answer need not claim a total."""
    assert reader_of(NODES).page(b'{"gpu_nodes": []}').total is None


def test_an_answer_may_begin_with_a_byte_order_mark() -> None:
    """A byte order mark is no part of the JSON."""
    page = reader_of(NODES).page(b"\xef\xbb\xbf" + fixture(NODES.file))
    assert page.rows == 1


def whole_poll(reader: Reader[Any], *bodies: bytes) -> list[Record[Any]]:
    """Read the pages of one poll that goes well, and return its records."""
    records = [record for body in bodies for record in reader.page(body).records]
    reader.end_poll(whole=True)
    return records


def identities(records: list[Record[Any]]) -> dict[tuple[str, ...], int]:
    """Return which object each record is."""
    return {record.key: id(record) for record in records}


def test_the_same_answer_is_the_same_page() -> None:
    """An answer that did not change is not read again, in the same poll or the next."""
    reader, body = reader_of(NODES), fixture(NODES.file)
    page = reader.page(body)
    assert reader.page(body) is page
    reader.end_poll(whole=True)
    assert reader.page(body) is page


def test_the_same_row_is_the_same_record_wherever_it_stands() -> None:
    """A row keeps its record when others come, go or change, and on another page too."""
    rows = [NODES.other(number) for number in range(6)]
    reader = reader_of(NODES)
    first = whole_poll(reader, answer_of(NODES, rows[:3]), answer_of(NODES, rows[3:]))
    changed = rows[1] | {"state": "ERROR"}
    second = whole_poll(reader, answer_of(NODES, [rows[5], changed, rows[0]], 3))
    before = identities(first)
    assert [record.key for record in second if before[record.key] == id(record)] == [
        first[5].key,
        first[0].key,
    ]
    assert second[1].item.state == "ERROR"


def test_a_bad_row_keeps_its_record_too() -> None:
    """A row with a bad field is not read again either."""
    reader, rows = reader_of(NODES), [NODES.good() | {"state": 5}]
    (first,) = whole_poll(reader, answer_of(NODES, rows, 1))
    (second,) = whole_poll(reader, answer_of(NODES, rows, 2))
    assert first is second
    assert [name for name, _ in second.invalid] == ["state"]


def test_a_failed_poll_forgets_nothing() -> None:
    """After a poll that failed, rows are still the records of the last whole one."""
    reader, body = reader_of(NODES), fixture(NODES.file)
    (first,) = whole_poll(reader, body)
    reader.page(answer_of(NODES, [NODES.other(1)]))
    reader.end_poll(whole=False)
    (second,) = whole_poll(reader, body)
    assert first is second


def remembered(reader: Reader[Any]) -> int:
    """Return how many pages and rows a reader remembers."""
    return sum(
        len(part) for known in (reader._last, reader._now) for part in (known.pages, known.rows)
    )


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_reader_remembers_is_bounded(whole: bool) -> None:  # noqa: FBT001 - a parameter
    """Polls in which every row is new, whole ones or failed ones, leave nothing behind."""
    reader = reader_of(NODES)
    for poll in range(200):
        reader.page(answer_of(NODES, [NODES.other(poll * 10 + row) for row in range(10)]))
        reader.page(answer_of(NODES, [{}, {"id": None, "poll": poll}]))
        reader.end_poll(whole=whole)
        assert remembered(reader) <= 12


@pytest.mark.parametrize(
    "body",
    [
        fixture("nsml/run.json"),
        b'{"run": ' + fixture("nsml/run.json") + b"}",
        b'{"projectId": "abcdeygz0iujnfghij01", "run": 5}',
    ],
)
def test_an_object_is_read_as_it_is_or_wrapped(body: bytes) -> None:
    """A detail may stand in a field of its own, and its ids are those of the path."""
    record = read_object(Run, body, {"projectId": "abcdeygz0iujnfghij01", "runName": "2"}, "run")
    assert record.key == ("abcdeygz0iujnfghij01", "2")


@pytest.mark.parametrize("name", sorted(breakable(KINDS[7])))
def test_an_object_with_a_bad_field_is_read_without_it(name: str) -> None:
    """One bad field of a detail is left out and named; its ids are never in doubt."""
    good = KINDS[7].good()
    asked = {key: str(good[key]) for key in ("projectId", "runName")}
    for hostile, value in HOSTILE.items():
        body = raw_row(good, **{name: value})
        try:
            record = read_object(Run, body, asked, "run")
        except BadResponse:
            assert name in asked, hostile
            continue
        assert record.key == tuple(asked.values()), hostile
        assert {field for field, _ in record.invalid} <= {name}, hostile
        if hostile in FIT_NOWHERE and name not in {"projectId", "runName"}:
            assert [field for field, _ in record.invalid] == [name], hostile


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"run": {}}',
        b'{"run": null}',
        b'{"error": {"errorCode": "500"}}',
        b"<html>",
        nested(b"[", b"]", 100_000),
    ],
    ids=lambda body: repr(body[:30]),
)
def test_what_is_not_about_the_object_is_refused(body: bytes) -> None:
    """An answer that repeats none of the object's ids is BadResponse."""
    with pytest.raises(BadResponse):
        read_object(Run, body, {"projectId": "p", "runName": "r"}, "run")


@pytest.mark.parametrize(
    "beside", [b'"errors": [{"status": 500}]', b'"error": "Oops"', b'"errorCode": "900"']
)
@pytest.mark.parametrize("rows", [b"[]", b'[{"id": "a", "state": "RUNNING"}]'])
def test_an_error_with_a_list_beside_it_is_no_list(beside: bytes, rows: bytes) -> None:
    """What says that it is an error is refused, however good its list looks."""
    with pytest.raises(BadResponse):
        reader_of(NODES).page(b'{"gpu_nodes": ' + rows + b", " + beside + b"}")


def test_no_error_is_no_error() -> None:
    """A service that names its errors, of which there are none, gives a list."""
    body = b'{"gpu_nodes": [], "count": 0, "errors": [], "error": null}'
    assert reader_of(NODES).page(body).total == 0


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_detail_of_another_run_is_refused(wrapped: bool) -> None:  # noqa: FBT001 - a parameter
    """An answer about something else than was asked for is none."""
    body = b'{"projectId": "p", "runName": "77", "status": "RUN_STATE_COMPLETED"}'
    body = b'{"run": ' + body + b"}" if wrapped else body
    with pytest.raises(BadResponse):
        read_object(Run, body, {"projectId": "p", "runName": "2"}, "run")


@pytest.mark.parametrize(
    "beside",
    [
        {"status": "UNAUTHORIZED", "name": "Request was rejected", "message": "no"},
        {"code": "E1", "message": "no"},
        {"success": False},
        {"Error": "no"},
        {"fault": {"faultstring": "no"}},
    ],
)
def test_an_empty_list_beside_an_error_is_no_empty_list(beside: dict[str, object]) -> None:
    """Zero nodes is a thing to be sure of: what a gateway says of an error makes it none."""
    body = json.dumps({"gpu_nodes": [], **beside}).encode()
    with pytest.raises(BadResponse):
        Reader(GpuNode, "gpu_nodes").page(body)


@pytest.mark.parametrize("beside", [{"message": "OK"}, {"code": 0, "message": ""}, {"status": "x"}])
def test_an_empty_list_beside_a_lone_word_is_an_empty_list(beside: dict[str, object]) -> None:
    """One word alone is no error; neither is anything beside a list that has rows."""
    assert (
        Reader(GpuNode, "gpu_nodes").page(json.dumps({"gpu_nodes": [], **beside}).encode()).rows
        == 0
    )


def test_an_answer_of_endless_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before any of them is read."""
    monkeypatch.setattr(rows, "MAX_ROWS", 3)
    with pytest.raises(BadResponse, match="more than 3 rows"):
        Reader(GpuNode, "gpu_nodes").page(b'{"gpu_nodes": [{},{},{},{}]}')


def test_an_answer_that_nobody_waits_for_is_not_read() -> None:
    """The reading ends where the poll has."""
    with pytest.raises(BadResponse, match="longer to read"):
        Reader(GpuNode, "gpu_nodes").page(b'{"gpu_nodes": [{"id": "a"}]}', lambda: True)


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """An exit code of 137.0 is one of 137; a part of a number is none."""
    record = read(RunNode, b'{"nodeId": "a", "exitCode": 137.0, "rank": 2.0}')
    assert (record.item.exit_code, record.item.rank) == (137, "2")
    assert read(RunNode, b'{"nodeId": "a", "exitCode": 1.5}').item.exit_code is None
