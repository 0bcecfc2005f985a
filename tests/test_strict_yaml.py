"""What strict YAML reads, and what it refuses."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.config import strict_yaml
from exporter.config.strict_yaml import Place, StrictYamlError, parse, written

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15) + 1, 10**15 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _problems(text: str) -> tuple[str, ...]:
    with pytest.raises(StrictYamlError) as caught:
        parse(text)
    return caught.value.problems


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("1.50", 1.5),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("2027-01-31", "2027-01-31"),
        ("kr-west1", "kr-west1"),
        ("10.0.0.1", "10.0.0.1"),
        ("30s", "30s"),
        ('"012"', "012"),
        ("'yes'", "yes"),
        ("<<", "<<"),
        ("=", "="),
    ],
)
def test_a_scalar_has_the_one_meaning_that_every_reader_gives_it(
    scalar: str, value: object
) -> None:
    """Numbers are plain decimals, true and false the only truth values, a day is a text."""
    read = parse(f"key: {scalar}").data
    assert read == {"key": value}
    assert isinstance(read, dict)
    assert type(read["key"]) is type(value)


@pytest.mark.parametrize(
    "scalar",
    [
        "012",
        "0o12",
        "0x1F",
        "0b1",
        "1_000",
        "1:30",
        "yes",
        "No",
        "on",
        "OFF",
        ".inf",
        "-.NaN",
        "1e5",
        "1.",
        ".5",
        "007.5",
        "9" * 16,
        "9" * 5000,
    ],
)
def test_a_scalar_that_yaml_versions_read_differently_is_refused_unseen(scalar: str) -> None:
    """012 is ten or twelve, `no` false or a text: quotes are asked for, the value not shown."""
    (problem,) = _problems(f"top:\n  - key: {scalar}\n")
    assert problem == (
        "top[0].key: line 2, column 10: YAML readers differ on what this is; quote it where text"
        " is meant, else write true, false or a plain decimal number"
    )


def test_equal_keys_are_refused_with_both_places() -> None:
    """The first of two equal keys does not lose silently, however deep they stand."""
    assert _problems("a:\n  - b: 1\n    c: 2\n    b: 3\n") == (
        "a[0].b: line 4, column 5: duplicate key, first on line 2; keep one",
    )


def test_every_fault_is_found_at_once_and_in_order() -> None:
    """One reading reports all that a person has to mend."""
    problems = _problems("a: 012\n1: x\na: 2\n<<: {b: 1}\n[c]: d\n")
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["a", "line 1, column 4"],
        ["line 2, column 1", "a key must be text; put it in quotes"],
        ["a", "line 3, column 1"],
        ["line 4, column 1", "merge keys (<<) are not supported; write the keys out"],
        ["line 5, column 1", "a key must be text; put it in quotes"],
    ]


def test_an_anchor_may_be_used_again() -> None:
    """Aliases stand for what they point at."""
    assert parse("a: &x {b: [1]}\nc: *x\n").data == {"a": {"b": [1]}, "c": {"b": [1]}}


def test_a_billion_laughs_are_cut_off() -> None:
    """A few lines of aliases can stand for more values than memory holds: they never come to be."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (problem,) = _problems("\n".join(lines))
    assert problem.endswith("more than 100000 values, with the aliases filled in")


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a [*a, *a]", "[" * 5000, "{a: " * 99])
def test_what_has_no_end_is_refused(text: str) -> None:
    """An alias within itself, or brackets without number, end in an error and not the process."""
    (problem,) = _problems(text)
    assert problem.endswith("nested too deeply")


@pytest.mark.parametrize(
    "text",
    [
        "key: *hush-hush",
        "key: !hush-hush x",
        "key: !!python/object:hush-hush x",
        "%TAG !hush-hush! x\n---\nkey: !hush-hush!b c",
        "key: !hush-hush!b c",
        "a: &hush-hush x\nb: &hush-hush y",
        "key: &hush-hush! x",
        'key: "hush-hush',
        "key: hush-hush: x",
        "key:hush-hush\nother: x",
        "key: @hush-hush",
        "key: hush-hush\x07",
        "hush-hush 1: a\nhush-hush 1: b",
    ],
)
def test_a_problem_never_shows_the_text(text: str) -> None:
    """A secret that was written without quotes may be an anchor, alias, tag or key by mistake."""
    assert "hush" not in "\n".join(_problems(text))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: [", "line 1, column 5"),
        ("a: 1\n\tb: 2", "line 2, column 1"),
        ("a: \x00", "line 1, column 4"),
    ],
)
def test_what_is_no_yaml_is_refused_with_its_place(text: str, place: str) -> None:
    """Line and column count from 1, as editors do."""
    (problem,) = _problems(text)
    assert problem.startswith(f"{place}: ")


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("[broken", "line 1, column 1", "a [ that no ] ends; quote a value that begins with ["),
        ("a: {b: 1", "line 1, column 4", "a { that no } ends"),
        ("a: [1, 2\nb: 3", "line 2, column 2", "before this a comma is missing, or the ]"),
        ("a: {b c: d e: f}", "line 1, column 13", "before this a comma is missing, or the }"),
        ("a:\n  b: 'x\nc: d\n", "line 2, column 6", "a quotation mark that no other one ends"),
        ("a: 'b' c", "line 1, column 8", "text behind the end of a value"),
        ("a: b: c", "line 1, column 5", "a colon where none can stand"),
        ("a: 1\nb\n", "line 2, column 1", "a key without its colon"),
        ("a:\n- b: 1\n c: 2", "line 3, column 2", "this does not continue what stands before it"),
        ("a: 1\n\tb: 2", "line 2, column 1", "a tab; indent with spaces"),
        ("a: @x", "line 1, column 4", "quote a value that begins with one of @ ` %"),
        ("a: ,x", "line 1, column 4", "quote a value that begins with one of ] } , : ? -"),
        ("a: - x", "line 1, column 4", "put a list on lines of its own"),
        ("a: >x", "line 1, column 5", "text behind | or >"),
        ('a: "\\z"', "line 1, column 6", "an unknown escape"),
        ("a: *x", "line 1, column 4", "an alias without its anchor"),
        ("a: &", "line 1, column 5", "an anchor that is none"),
        ("a: !<x", "line 1, column 7", "tags are not supported"),
        ("%YAML x\n--- a", "line 1, column 7", "directives are not supported"),
        ("{a: 1}}", "line 1, column 7", "more text behind the end of the document"),
        ("a: 1\n--- b", "line 2, column 1", "a second document (---)"),
        ("%YAML 3.0\n--- a", "line 1, column 1", "found incompatible YAML document"),
    ],
)
def test_what_is_no_yaml_is_told_in_plain_words(text: str, place: str, words: str) -> None:
    """Where to look, what is wrong, and how a value is written that was meant as text."""
    (problem,) = _problems(text)
    assert problem.startswith(f"{place}: ")
    assert words in problem
    assert "while parsing" not in problem
    assert "stream" not in problem


def test_places_are_known_for_every_path() -> None:
    """A value is found by its key, an item by itself, and what is missing by its owner."""
    document = parse("a: 1\nb:\n  - c: [x, y]\n")
    assert document.place(("b", 0, "c", 1)) == Place(3, 12)
    assert document.place(("b", 0, "c")) == Place(3, 5)
    assert document.place(("b", 0, "missing")) == Place(3, 5)
    assert document.place(()) == Place(1, 1)


def test_an_empty_text_is_null() -> None:
    """A text of comments alone holds nothing."""
    assert parse("# nothing\n") == strict_yaml.Document(None, {})


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (("scp", 0, "regions", 1), "scp[0].regions[1]"),
        ((0, "a"), "[0].a"),
        (("a", "key:value", "b"), "a.?.b"),
        (("a", "x" * 41), "a.?"),
        ((), ""),
    ],
)
def test_key_paths_are_written_as_people_do(path: strict_yaml.KeyPath, text: str) -> None:
    """Only plain words are shown: anything else may hold a value."""
    assert written(path) == text


@settings(deadline=None)
@given(PLAIN)
def test_data_come_back_as_they_were_written_or_are_refused(value: object) -> None:
    """What a YAML library writes is never read as anything else."""
    text = yaml.safe_dump(value, allow_unicode=True)
    try:
        read = parse(text).data
    except StrictYamlError as error:
        assert all("YAML readers differ" in problem for problem in error.problems)  # noqa: PT017
    else:
        assert read == value
