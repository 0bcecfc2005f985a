"""Log lines: their shape, and what never stands in them."""

import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter import logs
from exporter.logs import Redactor

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = st.text(st.characters() | st.sampled_from(LINE_ENDS + "\ud800"))
# A secret of the characters of its own replacement could arise anew where two of those meet.
SECRETS = st.text(st.characters(exclude_characters="<secrt>", codec="utf-8"), min_size=4)


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    level = root.level
    yield
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs._Handler)]
    root.setLevel(level)
    structlog.reset_defaults()


def _configured(fmt: str = "json", level: str = "debug", *secrets: str) -> io.StringIO:
    logging.getLogger().handlers = []  # pytest's own raises what a handler has to bear
    stream, redactor = io.StringIO(), Redactor()
    for secret in secrets:
        redactor.add(secret)
    logs.configure(level, fmt, redactor, stream)
    return stream


def _event(stream: io.StringIO) -> dict[str, object]:
    (line,) = stream.getvalue().splitlines()
    event = json.loads(line)
    assert isinstance(event, dict)
    return event


def test_a_json_line_begins_with_time_level_logger_and_message() -> None:
    """The time is UTC with milliseconds, as RFC 3339 has it."""
    stream = _configured()
    logs.get("exporter.poller").info("poll failed", reason="auth", attempt=2, path=Path("/a b"))
    event = _event(stream)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", str(event.pop("ts")))
    assert list(event.items()) == [
        ("level", "info"),
        ("logger", "exporter.poller"),
        ("msg", "poll failed"),
        ("reason", "auth"),
        ("attempt", 2),
        ("path", "/a b"),
    ]


def test_a_logfmt_line_quotes_only_what_needs_it() -> None:
    """Bare words stay bare; spaces, quotes, equal signs and nothing at all get quotes."""
    stream = _configured("logfmt")
    logs.get("x").warning(
        "to go", a="b", b='c"d', c="e=f", d="", e=None, f=True, g=1.5, h=["i"], i=Path("/j")
    )
    fields = stream.getvalue().rstrip("\n").split(" ", 1)[1]
    assert fields == (
        r'level=warn logger=x msg="to go" a=b b="c\"d" c="e=f" d="" e=null f=true g=1.5'
        r' h="[\"i\"]" i=/j'
    )


def test_logfmt_keys_have_no_spaces() -> None:
    """What would end a key is replaced in it."""
    stream = _configured("logfmt")
    logs.get("x").info("m", **{"a b=c": 1})
    assert stream.getvalue().endswith(" a_b_c=1\n")


def test_the_standard_library_goes_the_same_way() -> None:
    """The events of aiohttp and asyncio have the same keys as one's own."""
    stream = _configured()
    logging.getLogger("aiohttp.server").error("no %s", "luck")
    event = _event(stream)
    del event["ts"]
    assert event == {"level": "error", "logger": "aiohttp.server", "msg": "no luck"}


@pytest.mark.parametrize("name", ["structlog", "logging"])
def test_an_exception_has_a_key_of_its_own(name: str) -> None:
    """The traceback follows the message on the same line."""
    stream = _configured()
    log = logs.get("x") if name == "structlog" else logging.getLogger("x")
    try:
        raise ValueError("broken")  # noqa: TRY301 - the exception is the test's input
    except ValueError:
        log.exception("failed")
    event = _event(stream)
    assert event["msg"] == "failed"
    assert str(event["exception"]).startswith("Traceback (most recent call last):\n")
    assert str(event["exception"]).endswith("\nValueError: broken")


@pytest.mark.parametrize("level", ["debug", "info", "warn", "error"])
def test_the_level_is_the_least_that_is_written(level: str) -> None:
    """An event below the level leaves no trace, from whichever library it comes."""
    stream = _configured(level=level)
    for log in (logs.get("x"), logging.getLogger("y")):
        for method in ("debug", "info", "warning", "error"):
            getattr(log, method)("m")
    written = [json.loads(line)["level"] for line in stream.getvalue().splitlines()]
    names = ["debug", "info", "warn", "error"]
    assert written == 2 * names[names.index(level) :]


def test_configuring_again_replaces_the_first_settings() -> None:
    """No event is written twice, and none to the stream of before."""
    first = _configured()
    second = _configured()
    logs.get("x").info("m")
    assert first.getvalue() == ""
    assert _event(second)["msg"] == "m"


@pytest.mark.parametrize(("level", "fmt"), [("loud", "json"), ("info", "xml")])
def test_unknown_settings_are_refused(level: str, fmt: str) -> None:
    """A level or format that does not exist is an error of the caller."""
    with pytest.raises(KeyError):
        logs.configure(level, fmt, Redactor(), io.StringIO())


@pytest.mark.parametrize("fmt", ["json", "logfmt"])
@settings(deadline=None)
@given(text=TEXTS)
def test_every_event_is_one_line_of_valid_utf_8(fmt: str, text: str) -> None:
    """Whatever a message or value holds, no reader of lines sees more than one."""
    stream = _configured(fmt)
    logs.get("x").info("m", value=text, nested=[text])
    stream.getvalue().encode()
    assert len(stream.getvalue().splitlines()) == 1


@settings(deadline=None)
@given(text=TEXTS)
def test_a_json_line_gives_back_what_was_logged(text: str) -> None:
    """Escaping loses nothing."""
    stream = _configured()
    logs.get("x").info("m", value=text)
    assert _event(stream)["value"] == text


def test_values_that_json_cannot_hold_are_written_as_texts() -> None:
    """Not a number, keys that are no texts, and circles."""
    stream = _configured()
    circle: list[object] = []
    circle.append(circle)
    logs.get("x").info("m", a=float("nan"), b={(1, 2): 3}, c=circle)
    event = _event(stream)
    assert (event["a"], event["b"], event["c"]) == ("nan", "{(1, 2): 3}", "[[...]]")


def test_an_event_that_cannot_be_written_shows_nothing_of_its_contents(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A wrong format string costs the event, but neither the process nor a secret."""
    stream = _configured()
    logging.getLogger("x").error("%d", "hush-hush")
    event = _event(stream)
    assert (event["logger"], event["msg"]) == ("x", "an event could not be written")
    assert capsys.readouterr() == ("", "")


def test_a_stream_that_is_gone_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody reads the log: the exporter goes on, and nothing spills elsewhere."""
    stream = _configured()
    stream.close()
    logs.get("x").info("hush-hush")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("fmt", ["json", "logfmt"])
@pytest.mark.parametrize(
    "secret", ["abcd/+== ef", "q\"uo'te\\s", "비밀번호", "a b%c&d", "tab\tbed"]
)
def test_a_secret_is_redacted_however_it_is_spelled(fmt: str, secret: str) -> None:
    """In messages, values, URLs, nested data and tracebacks."""
    stream = _configured(fmt, "debug", secret)
    try:
        raise ValueError(f"refused {secret} and {secret!r}")  # noqa: TRY301 - the test's input
    except ValueError:
        logs.get("x").exception(
            f"m {secret}", value=secret, url=f"/?k={quote(secret)}", nested={"k": [secret]}
        )
    text = stream.getvalue()
    assert text.count("<secret>") >= 6
    core = secret[:3]
    assert core not in text
    assert json.dumps(core)[1:-1] not in text


@settings(deadline=None)
@given(SECRETS, st.text(), st.text())
def test_no_known_secret_is_left_in_a_text(secret: str, before: str, after: str) -> None:
    """A finished text has it neither plain nor escaped."""
    redactor = Redactor()
    redactor.add(secret)
    for form in (secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]):
        assert form not in redactor(before + form + after)


def test_the_longest_secret_is_replaced_first() -> None:
    """One secret within another leaves no rest of the longer one."""
    redactor = Redactor()
    redactor.add("abcd")
    redactor.add("abcdefgh")
    assert redactor("abcdefgh abcd") == "<secret> <secret>"


def test_short_secrets_are_not_searched_for() -> None:
    """Three letters would be found in every line."""
    redactor = Redactor()
    redactor.add("inf")
    redactor.add("")
    assert redactor("level=info") == "level=info"
