"""What both clouds' error answers have in common: a short text on one line."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds.errors import document, one_line, plain
from exporter.clouds.http import Refusal
from exporter.clouds.nsml.errors import refusal as nsml_refusal
from exporter.clouds.scp.errors import refusal as scp_refusal
from tests.clouds.hostile import HOSTILE, nested

Reads = Callable[[int, bytes], Refusal]

REFUSALS = [scp_refusal, nsml_refusal]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", ""),
        (b"upstream connect error\r\n or reset", "upstream connect error or reset"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "(an HTML page)"),
        (b"\n<HTML lang=ko>", "(an HTML page)"),
        (b"<?xml version='1.0'?><e><code>7</code> <m>No</m></e>", "7 No"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\x1b[31mred\x00\xe2\x80\xa8b", "a\ufffd[31mred\ufffd b"),
        (b"x" * 1000, "x" * 300),
    ],
)
def test_a_plain_answer_is_told_on_one_line(body: bytes, text: str) -> None:
    """Text stays text, HTML is named, tags go, and nothing can forge a line of a log."""
    assert plain(body) == text


def test_what_is_said_twice_is_told_once() -> None:
    """Parts that are empty or equal add nothing."""
    assert one_line("Bad Request", None, "", "Bad  Request", "why") == "Bad Request: why"


def test_what_has_no_text_is_said_to_have_none() -> None:
    """Lists in lists without end do no harm."""
    endless: list[object] = []
    for _ in range(200_000):
        endless = [endless]
    assert one_line("Oops", endless) == "Oops: (unreadable)"


@pytest.mark.parametrize("body", [b"", b"{", b"9" * 5000, nested(b"[", b"]", 200_000)])
def test_what_is_no_json_is_no_document(body: bytes) -> None:
    """An error answer need not be JSON."""
    assert document(body) is None


@pytest.mark.parametrize("refusal", REFUSALS)
@given(st.binary(), st.sampled_from([400, 401, 403, 404, 500]))
def test_any_bytes_are_an_error_answer(refusal: Reads, body: bytes, status: int) -> None:
    """Whatever an error is made of, it is told in a short text."""
    said = refusal(status, body)
    assert len(said.message) <= 300
    assert said.message.isprintable()


SHAPES = [
    b'{"errors": [{"code": %s, "title": %s, "detail": %s, "response": %s}]}',
    b'{"errors": [{"detail": [%s, %s], "response": {"action_name": %s}, "x": %s}]}',
    b'{"errors": %s, "name": %s, "error": %s, "message": %s}',
    b'{"errors": [%s], "reason": %s, "code": %s, "status": %s}',
    b'{"error": {"errorCode": %s, "message": %s, "details": %s, "x": %s}}',
    b'{"error": %s, "errorCode": %s, "message": %s, "details": %s}',
]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_may_have_any_values(refusal: Reads, shape: bytes) -> None:
    """No value in any field of an error answer does harm, or is told as None."""
    values = [*HOSTILE.values(), nested(b"[", b"]", 900), nested(b"[", b"]", 960)]
    for value in values:
        said = refusal(401, shape % ((value,) * 4))
        assert "None" not in said.message.split(": ")
        assert len(said.message) <= 300
        assert said.message.isprintable()
