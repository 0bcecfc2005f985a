"""Durations as Prometheus writes them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.config.fields import format_duration, parse_duration

LONGEST_MS = 292 * 365 * 24 * 3_600_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("30s", 30),
        ("5m", 300),
        ("1h30m", 5400),
        ("90m", 5400),
        ("1d", 86_400),
        ("2w", 1_209_600),
        ("1y", 31_536_000),
        ("1y2w3d4h5m6s7ms", 31_536_000 + 1_209_600 + 259_200 + 14_400 + 300 + 6 + 0.007),
        ("0s", 0),
        ("007s", 7),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float) -> None:
    """Every unit counts, from years to milliseconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "30",
        "0",
        "s",
        "-5s",
        "+5s",
        "1.5h",
        "5 m",
        " 5m",
        "5m ",
        "5M",
        "30m1h",
        "1m1m",
        "5m\n",
        "1e3s",
        "٣s",
        "293y",
        "9" * 16 + "s",
        "9" * 17 + "ms",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """Fractions, signs, spaces, a wrong order, other digits and more than 292 years."""
    with pytest.raises(ValueError, match=r"found '"):
        parse_duration(text)


def test_a_forgotten_unit_is_guessed_in_the_error() -> None:
    """Who writes a bare number mostly means seconds."""
    with pytest.raises(ValueError, match=r"found '30'; did you mean 30s\?$"):
        parse_duration("30")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (61, "1m1s"),
        (90_000, "25h"),
        (172_800, "2d"),
        (1_209_600, "2w"),
        (31_536_000, "1y"),
    ],
)
def test_a_duration_is_written_in_the_largest_units_that_fit(seconds: float, text: str) -> None:
    """Days and longer units appear only where nothing is left over, as in Prometheus."""
    assert format_duration(seconds) == text


@settings(deadline=None)
@given(st.integers(0, LONGEST_MS))
def test_what_is_written_reads_the_same(milliseconds: int) -> None:
    """To the millisecond, writing and reading are each other's inverse."""
    assert parse_duration(format_duration(milliseconds / 1000)) == milliseconds / 1000


@settings(deadline=None)
@given(st.text(alphabet="0123456789ywdhms", max_size=12))
def test_a_text_is_a_duration_or_an_error(text: str) -> None:
    """What is read can be written and read again, and nothing but ValueError is raised."""
    try:
        seconds = parse_duration(text)
    except ValueError:
        return
    assert parse_duration(format_duration(seconds)) == seconds
