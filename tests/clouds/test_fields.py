"""The kinds of fields: what is a value, and what is none."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct, defstruct

from exporter.clouds.answers import loads
from exporter.clouds.fields import (
    KOREA,
    NOT_REPORTED,
    Count,
    Id,
    KoreanTime,
    Text,
    UtcTime,
    normal_state,
    stripped_state,
    unix_time,
)
from exporter.clouds.salvage import UnfitError, salvage

MAY_17 = 1_715_905_397.0  # 2024-05-17T00:23:17Z


def read(kind: Any, raw: str) -> Any:  # noqa: ANN401 - of whatever kind
    """Read JSON as a field of this kind."""
    model: type[Struct] = defstruct("Row", [("value", kind, None)])
    item, faults = salvage(model, {"value": loads(raw.encode())})
    assert list(faults) in ([], ["value"])
    if faults:
        raise UnfitError(faults["value"])
    return item.value  # type: ignore[attr-defined]  # it was just defined


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("RUNNING", "RUNNING"),
        ("Running ", "RUNNING"),
        ("RUNNING*", "RUNNING_"),
        ("in progress", "IN_PROGRESS"),
        ("가동", "__"),
        ("", NOT_REPORTED),
        (" \t\n", NOT_REPORTED),
        ("x" * 100, "X" * 64),
    ],
)
def test_a_state_becomes_a_label_value(text: str, state: str) -> None:
    """A state is trimmed, in upper case, of plain characters, and 64 of them at most."""
    assert normal_state(text) == state


@given(st.text(st.characters()))
def test_every_state_is_a_safe_label_value(text: str) -> None:
    """Whatever text a state is, its name needs no escaping and is never empty."""
    state = normal_state(text)
    assert 0 < len(state) <= 64
    assert state.isascii()
    assert state.replace("_", "A").isalnum()


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("RUN_STATE_IN_PROGRESS", "IN_PROGRESS"),
        ("run_state_completed", "COMPLETED"),
        ("COMPLETED", "COMPLETED"),
        ("RUN_STATE_", NOT_REPORTED),
    ],
)
def test_the_prefix_of_a_state_goes(text: str, state: str) -> None:
    """What all states of a kind begin with is no part of the state, and may be missing."""
    assert stripped_state("RUN_STATE_", text) == state


@pytest.mark.parametrize(
    "text",
    [
        "2024-05-17T00:23:17Z",
        "2024-05-17T00:23:17",
        "2024-05-17 00:23:17",
        " 2024-05-17T00:23:17+00:00 ",
        "2024-05-17T09:23:17+09:00",
        "2024-05-17T00:23:17.000000Z",
        "2024-05-17T00:23:17.000000000Z",
    ],
)
def test_a_time_is_read_in_every_spelling(text: str) -> None:
    """With or without a zone, fractions and the T, it is the same moment."""
    assert unix_time(text, UTC) == MAY_17


def test_a_fraction_of_a_second_is_kept() -> None:
    """Fractions count."""
    assert unix_time("2024-05-17T00:23:17.25Z", UTC) == MAY_17 + 0.25


def test_a_time_without_a_zone_is_of_the_zone_of_its_kind() -> None:
    """NSML's run times are Korean, its node times UTC; a named zone has its way."""
    assert read(KoreanTime, '"2024-05-17 09:23:17"') == MAY_17
    assert read(UtcTime, '"2024-05-17 00:23:17"') == MAY_17
    assert read(KoreanTime, '"2024-05-17T00:23:17Z"') == MAY_17


def test_a_blank_time_is_none() -> None:
    """A blank text is no time, and no fault."""
    assert unix_time(" ", KOREA) is None


@pytest.mark.parametrize(
    "raw",
    [
        '"0001-01-01T00:00:00Z"',
        '"1970-01-01T00:00:00Z"',
        '"9999-12-31T23:59:59Z"',
        '"None"',
        '"null"',
        '"yesterday"',
        '"2024-02-30T00:00:00Z"',
        "1715905397",
        "null",
        "true",
        "[]",
        "NaN",
    ],
)
def test_what_nobody_can_mean_is_no_time(raw: str) -> None:
    """A time of year 1, one in no calendar, or no text at all is a fault."""
    with pytest.raises(UnfitError):
        read(UtcTime, raw)


@given(st.text(st.characters()))
def test_any_text_is_a_time_or_a_fault(text: str) -> None:
    """No text brings anything but a number, None or a ValueError."""
    try:
        moment = unix_time(text, UTC)
    except ValueError:
        return
    assert moment is None or 0 < moment < 8e9


@pytest.mark.parametrize(
    ("raw", "text"), [('"a"', "a"), ("20", "20"), ("8.8", "8.8"), ('""', ""), ("9" * 40, "9" * 40)]
)
def test_a_text_may_be_given_as_a_number(raw: str, text: str) -> None:
    """A service that gives a number where a text should be means its digits."""
    assert read(Text, raw) == text


@pytest.mark.parametrize("kind", [Text, Id])
@pytest.mark.parametrize("raw", ["NaN", "Infinity", "-Infinity", "1e999", "null", "true", "[]"])
def test_what_is_neither_text_nor_number_is_no_text(kind: object, raw: str) -> None:
    """Null, a truth value or no finite number never becomes a text such as `nan` or `None`."""
    with pytest.raises(UnfitError):
        read(kind, raw)


@pytest.mark.parametrize("raw", ['""', '"  "'])
def test_a_blank_text_is_no_id(raw: str) -> None:
    """An id names something."""
    with pytest.raises(UnfitError):
        read(Id, raw)


def test_an_id_is_trimmed() -> None:
    """Blanks around an id are no part of it."""
    assert read(Id, '" a "') == "a"


@pytest.mark.parametrize("raw", ["0", "20", str(2**53)])
def test_a_count_is_a_whole_number(raw: str) -> None:
    """It is exact up to what a float holds exactly."""
    assert read(Count, raw) == int(raw)


@pytest.mark.parametrize("raw", ["-1", str(2**53 + 1), "1.5", '"1"', "true", "null", "NaN", "1e99"])
def test_a_negative_or_inexact_count_is_none(raw: str) -> None:
    """A count that cannot be meant is a fault."""
    with pytest.raises(UnfitError):
        read(Count, raw)
