"""Secrets that change while the process runs."""

import itertools
import os
from pathlib import Path

import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from exporter.config import SecretSource
from exporter.credentials import Credentials, Secret, SecretUnavailable

NOW_NS = 1_800_000_000_000_000_000
LONG_AGO = itertools.count(NOW_NS - 10**12, step=1000)  # each writing later than the one before


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Make a secret's file that has been quiet for long."""
    path = tmp_path / "key"
    _write(path, "first-key\n")
    return path


def _write(path: Path, text: str, age_ns: int | None = None) -> None:
    path.write_text(text)
    modified = next(LONG_AGO) if age_ns is None else NOW_NS - age_ns
    os.utime(path, ns=(modified, modified))


def _secret(path: Path) -> Secret:
    return Secret(SecretSource(file=path), {}, clock=lambda: NOW_NS)


def _inline(value: str) -> Secret:
    return Secret(SecretSource(value=SecretStr(value)), {})


def test_each_of_the_three_sources_gives_its_value(file: Path) -> None:
    """A value, a variable and a file are read alike, without the line break at the end."""
    assert _inline("made-up\n").read() == "made-up"
    assert Secret(SecretSource(env="KEY"), {"KEY": "made-up\r\n"}).read() == "made-up"
    assert _secret(file).read() == "first-key"


def test_a_file_is_read_again_when_it_changes(file: Path) -> None:
    """The next reading after a replacement has the new value."""
    secret = _secret(file)
    assert secret.read() == "first-key"
    _write(file, "second-key\n")
    assert secret.read() == "second-key"


def test_a_symbolic_link_that_is_turned_elsewhere_counts_as_a_change(tmp_path: Path) -> None:
    """Orchestrators rotate mounted secrets by turning a link to another directory."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        _write(tmp_path / name / "key", f"{name}-key")
    (tmp_path / "current").symlink_to("old")
    secret = _secret(tmp_path / "current" / "key")
    assert secret.read() == "old-key"
    (tmp_path / "turned").symlink_to("new")
    (tmp_path / "turned").replace(tmp_path / "current")
    assert secret.read() == "new-key"


def test_a_change_within_one_tick_of_the_clock_is_seen(file: Path) -> None:
    """A file written a moment ago is not trusted to be at rest: equal size, time and inode."""
    _write(file, "first-key", age_ns=0)
    secret = _secret(file)
    assert secret.read() == "first-key"
    _write(file, "other-key", age_ns=0)
    assert secret.read() == "other-key"


def test_a_file_at_rest_costs_one_look_at_its_status(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets are read with every request, so an unchanged file is not opened."""
    secret = _secret(file)
    secret.read()
    looks: list[Path] = []
    look = os.stat

    def counted(path: Path) -> os.stat_result:
        looks.append(path)
        return look(path)

    monkeypatch.setattr(os, "stat", counted)
    monkeypatch.setattr(Path, "open", None)
    assert secret.read() == "first-key"
    assert looks == [file]


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"half\x00\x00", b"\xff\xfe", b"a\nb\n", b"x" * 20_000]
)
def test_a_file_that_holds_no_secret_leaves_the_last_good_value(file: Path, content: bytes) -> None:
    """Empty, half written, undecodable or oversized: what was good stays in force until it is."""
    secret = _secret(file)
    secret.read()
    file.write_bytes(content)
    assert secret.read() == "first-key"
    _write(file, "second-key")
    assert secret.read() == "second-key"


def test_a_missing_file_leaves_the_last_good_value(file: Path) -> None:
    """Between the old file's removal and the new one's arrival nothing fails."""
    secret = _secret(file)
    secret.read()
    file.unlink()
    assert secret.read() == "first-key"
    _write(file, "second-key")
    assert secret.read() == "second-key"


def test_a_file_that_changes_while_it_is_read_is_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of the old and half of the new content is no value."""
    secret = _secret(file)
    secret.read()
    _write(file, "half-wri")
    read = SecretSource.read

    def interrupted(source: SecretSource, environ: dict[str, str]) -> str:
        value = read(source, environ)
        _write(file, "half-written-no-more")
        return value

    with monkeypatch.context() as patch:
        patch.setattr(SecretSource, "read", interrupted)
        assert secret.read() == "first-key"
    assert secret.read() == "half-written-no-more"


def test_a_kept_value_is_logged_once_and_without_any_content(file: Path) -> None:
    """A rotation gone wrong is told when it begins, not with every request."""
    secret = _secret(file)
    secret.read()
    _write(file, "hush-hush\nhush-hush\n")
    with capture_logs() as events:
        secret.read()
        secret.read()
    assert [event["event"] for event in events] == ["secret keeps its last good value"]
    assert "hush" not in str(events)
    assert "first" not in str(events)


def test_a_secret_that_never_was_there_is_unavailable_until_it_comes(tmp_path: Path) -> None:
    """Before any good value there is nothing to keep, and the error names the fault alone."""
    file = tmp_path / "key"
    secret = _secret(file)
    with pytest.raises(SecretUnavailable, match=r"^no such file"):
        secret.read()
    _write(file, "hush\nhush")
    with pytest.raises(SecretUnavailable) as caught:
        secret.read()
    assert "hush" not in str(caught.value)
    _write(file, "first-key")
    assert secret.read() == "first-key"


def test_each_new_value_is_told_once(file: Path) -> None:
    """The hook hears of every value in time to keep it out of the logs."""
    told: list[str] = []
    secret = Secret(SecretSource(file=file), {}, on_value=told.append, clock=lambda: NOW_NS)
    for text in ("first-key", "first-key\n", "second-key"):
        _write(file, text)
        secret.read()
    assert told == ["first-key", "second-key"]


def test_the_version_grows_with_a_reading_that_finds_a_change(file: Path) -> None:
    """The first reading counts; one that finds all as it was does not."""
    credentials = Credentials(access_key=_inline("made-up"), secret_key=_secret(file))
    assert credentials.version == 0
    assert credentials.read() == {"access_key": "made-up", "secret_key": "first-key"}
    credentials.read()
    assert credentials.version == 1
    _write(file, "second-key")
    assert credentials.read()["secret_key"] == "second-key"
    assert credentials.version == 2


def test_an_unavailable_secret_is_named(tmp_path: Path) -> None:
    """Of several secrets the error says which one is missing."""
    credentials = Credentials(access_key=_inline("made-up"), api_key=_secret(tmp_path / "none"))
    with pytest.raises(SecretUnavailable, match=r"^api_key: no such file"):
        credentials.read()
    assert credentials.version == 0
