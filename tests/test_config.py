"""The configuration file: what it means, and what is said of its faults."""

import datetime as dt
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from exporter import config
from exporter.config import (
    ConfigError,
    HttpClient,
    NsmlAccount,
    Polling,
    RunRef,
    ScpAccount,
    SecretSource,
)

FIXTURES = Path(__file__).parent / "fixtures" / "config"
GOOD = sorted((FIXTURES / "good").glob("*.yml"))
BAD = sorted((FIXTURES / "bad").glob("*.yml"))

SCP = {"account": "prod", "environment": "e", "access_key": "made-up", "secret_key": "made-up"}
NSML = {"account": "lab", "access_key": "made-up", "secret_key": "made-up", "api_key": "made-up"}

CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBhDCCASugAwIBAgIUMKxOrgfHLWSAK6SSmUO0Wo1bsCkwCgYIKoZIzj0EAwIw
FzEVMBMGA1UEAwwMTWFkZS11cCBSb290MCAXDTI2MTEzMDE0MzEyOVoYDzIxMjYx
MTA2MTQzMTI5WjAXMRUwEwYDVQQDDAxNYWRlLXVwIFJvb3QwWTATBgcqhkjOPQIB
BggqhkjOPQMBBwNCAAR5Ppi/FGzD27Z6BP+ccCkeH2TUlzXJz83axhzRSlFx+Mx3
Qp/ukRF63q4yvh6asOirk5/5nGPas2b96ryF2eQBo1MwUTAdBgNVHQ4EFgQU7vzs
cSoykoYKNraijgrSg66I3hUwHwYDVR0jBBgwFoAU7vzscSoykoYKNraijgrSg66I
3hUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAItvQ6FPISHxwe
tFdkfIHduUPO/Le66/nNiDT13hsWKwIgRI67bI95PqktgQ/katFGIAkSZA92BEKg
0XHnZEZSRj8=
-----END CERTIFICATE-----
"""


def _load(
    directory: Path, document: object, environ: Mapping[str, str] | None = None
) -> config.Config:
    path = directory / "exporter.yml"
    path.write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return config.load(path, environ or {})


def _problems(
    directory: Path, document: object, environ: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        _load(directory, document, environ)
    return caught.value.problems


def _good(name: str) -> config.Config:
    return config.load(FIXTURES / "good" / f"{name}.yml", {})


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_each_fault_is_told_in_exactly_these_words(path: Path) -> None:
    """Key path, what is wrong, what is possible; nothing of the secret in the file."""
    with pytest.raises(ConfigError) as caught:
        config.load(path, {})
    assert f"{caught.value}\n" == path.with_suffix(".txt").read_text()
    assert "made-up" not in str(caught.value)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_effective_configuration_is_one_that_can_be_loaded(path: Path, tmp_path: Path) -> None:
    """It means the same, but for the secrets, and shows none of them."""
    loaded = config.load(path, {})
    text = config.effective(loaded)
    (tmp_path / "again.yml").write_text(text)
    again = config.load(tmp_path / "again.yml", {})
    assert config.effective(again) == text
    assert "made-up" not in text
    assert "<secret>" in text


def test_defaults_are_those_of_the_documented_file() -> None:
    """A file with every key at its default means the same as one without them."""
    full = _good("both-clouds")
    (scp,), (nsml,) = full.scp, full.nsml
    assert full.metrics == _good("minimal-scp").metrics
    assert full.http_client == _good("minimal-scp").http_client
    assert scp.credentials_expire == nsml.credentials_expire == dt.date(2027, 1, 31)
    assert nsml.runs == (RunRef(project_id="abcdeygz0iujnfghij01", run_name="2"),)
    added = {"credentials_expire": None}
    assert scp.model_copy(update=added) == _good("minimal-scp").scp[0]
    assert nsml.model_copy(update={**added, "runs": ()}) == _good("minimal-nsml").nsml[0]


def test_regions_left_out_are_all_of_the_environment() -> None:
    """The table of the API's page says which."""
    assert [account.regions for account in _good("anchors").scp] == [
        ("kr-west1", "kr-east1"),
        ("kr-south1", "kr-south2", "kr-south3"),
    ]


def test_an_account_id_is_taken_as_written() -> None:
    """Quoted, its zeros stay."""
    assert _good("account-id").scp[0].account_id == "0123456789abcdef"


def test_a_region_outside_the_table_needs_a_word() -> None:
    """An account may say that it knows better."""
    assert _good("unlisted-region").scp[0].regions == ("kr-north9",)


def test_an_address_is_filled_in_and_has_no_slash_at_its_end() -> None:
    """Environment and region go where their placeholders stand, and paths can be appended."""
    loaded = _good("endpoints")
    assert loaded.scp[0].base_url("kr-west1") == "http://127.0.0.1:10111/scp/e/kr-west1"
    assert loaded.nsml[0].endpoint == "http://[::1]:10111/nsml/v1"
    assert _good("minimal-scp").scp[0].base_url("kr-east1") == (
        "https://multinodegpucluster.kr-east1.e.samsungsdscloud.com"
    )


def test_polling_is_inherited_key_by_key() -> None:
    """The account stands over the top level; three keys of nsml have defaults of their own."""
    loaded = _good("inherited-polling")
    assert loaded.scp[0].polling == Polling(interval=120.0, timeout=90.0, page_size=20)
    assert loaded.nsml[0].polling == Polling(
        interval=300.0, timeout=90.0, page_size=100, requests_per_second=5.0
    )


def test_a_null_timeout_takes_back_an_inherited_one(tmp_path: Path) -> None:
    """Null is a value, and follows the interval."""
    document = {
        "polling": {"timeout": "20s"},
        "scp": [SCP | {"polling": {"timeout": None, "interval": "40s"}}],
    }
    assert _load(tmp_path, document).scp[0].polling.timeout == 40


def test_a_null_timeout_is_the_interval_and_a_minute_at_most() -> None:
    """The interval that counts is the target's own."""
    polling = Polling(interval=30.0)
    assert polling.timeout == 30
    assert polling.poll_timeout(30) == 30
    assert polling.poll_timeout(900) == 60
    assert Polling(timeout=20.0).poll_timeout(900) == 20


def test_staleness_and_back_off_are_raised_to_the_interval() -> None:
    """Values outlive three intervals at least, and nobody waits less than one."""
    polling = Polling(stale_after=300.0, max_backoff=120.0)
    assert [polling.stale_after_for(seconds) for seconds in (30, 100, 900)] == [300, 300, 2700]
    assert [polling.max_backoff_for(seconds) for seconds in (30, 120, 900)] == [120, 120, 900]


def test_only_the_intervals_of_the_accounts_collectors_bound_its_timeout(tmp_path: Path) -> None:
    """An account of catalogs alone is not polled at `interval`."""
    polling = {"timeout": "45s", "interval": "30s"}
    account = SCP | {"polling": polling}
    assert _load(tmp_path, {"scp": [account | {"collectors": ["images"]}]}).scp
    assert _problems(tmp_path, {"scp": [account | {"collectors": ["images", "gpu_nodes"]}]})


def test_a_default_request_timeout_may_be_longer_than_the_timeout(tmp_path: Path) -> None:
    """The deadline of the poll cuts the request short; only a written one is a contradiction."""
    document = {"scp": [SCP | {"polling": {"timeout": "5s"}}]}
    assert _load(tmp_path, document).scp[0].polling.request_timeout == 10


def test_a_relative_secret_file_lies_beside_the_configuration(tmp_path: Path) -> None:
    """The path is absolute afterwards, and its links are not resolved: they turn in a rotation."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "key").write_text("made-up\n")
    (tmp_path / "secrets").symlink_to("data")
    account = {**SCP, "secret_key_file": "secrets/key"}
    del account["secret_key"]
    loaded = _load(tmp_path, {"scp": [account]})
    source = loaded.scp[0].secret_key
    assert source == SecretSource(file=tmp_path / "secrets" / "key")
    assert f"  secret_key_file: {source.file}\n" in config.effective(loaded)
    assert source.read({}) == "made-up"


def test_a_secret_may_come_from_the_environment(tmp_path: Path) -> None:
    """The variable is read at the start, and an empty one is none."""
    account = {**SCP, "secret_key_env": "KEY"}
    del account["secret_key"]
    loaded = _load(tmp_path, {"scp": [account]}, {"KEY": "made-up"})
    assert loaded.scp[0].secret_key.read({"KEY": "made-up"}) == "made-up"
    assert "  secret_key_env: KEY\n" in config.effective(loaded)
    assert _problems(tmp_path, {"scp": [account]}, {"KEY": ""}) == (
        "scp[0].secret_key_env: is empty",
    )


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"a\nb", b"x" * 20_000])
def test_a_secret_file_without_a_secret_is_an_error(tmp_path: Path, content: bytes) -> None:
    """Empty, undecodable, of several lines or far too long."""
    (tmp_path / "key").write_bytes(content)
    account = {**SCP, "access_key_file": "key"}
    del account["access_key"]
    (problem,) = _problems(tmp_path, {"scp": [account]})
    assert problem.startswith("scp[0].access_key_file: ")


def test_a_certificate_file_is_read_at_the_start(tmp_path: Path) -> None:
    """A path beside the configuration, which must hold certificates."""
    (tmp_path / "ca.pem").write_text(CERTIFICATE)
    loaded = _load(tmp_path, {"http_client": {"ca_file": "ca.pem"}, "scp": [SCP]})
    assert loaded.http_client.ca_file == tmp_path / "ca.pem"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, a directory, or no text: one clear line."""
    with pytest.raises(ConfigError, match=r"none\.yml: cannot be read: No such file or directory$"):
        config.load(tmp_path / "none.yml", {})
    with pytest.raises(ConfigError, match=r": cannot be read: Is a directory$"):
        config.load(tmp_path, {})
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yml: is not valid UTF-8$"):
        config.load(tmp_path / "binary.yml", {})


def test_problems_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Whatever the order in which they are found."""
    document = {
        "nsml": [NSML | {"discover": 1}],
        "scp": [SCP | {"collectors": ["x"], "api_version": 2, "secret_key": ""}],
        "metrics": {"x": 1},
    }
    paths = [problem.split(": ")[0] for problem in _problems(tmp_path, document)]
    assert paths == [
        "nsml[0].discover",
        "scp[0].secret_key",
        "scp[0].collectors[0]",
        "scp[0].api_version",
        "metrics.x",
    ]


def test_a_configuration_does_not_change() -> None:
    """What was loaded is frozen, so that a reload can compare it."""
    loaded = _good("minimal-scp")
    assert loaded == _good("minimal-scp")
    with pytest.raises(ValidationError):
        loaded.scp[0].account = "other"  # type: ignore[misc]


def test_accounts_can_be_built_in_code() -> None:
    """Durations are seconds there, and what a file may leave out has the same defaults."""
    key = SecretSource(value=SecretStr("made-up"))
    day = dt.date(2027, 1, 31)
    scp = ScpAccount(
        account="a", environment="g", access_key=key, secret_key=key, credentials_expire=day
    )
    nsml = NsmlAccount(account="a", access_key=key, secret_key=key, api_key=key)
    assert scp.regions == config.ENVIRONMENTS["g"]
    assert scp.polling == Polling()
    assert scp.credentials_expire == day
    assert HttpClient(ca_file=Path("ca.pem")).ca_file == Path("ca.pem")
    assert nsml.polling == _good("minimal-nsml").nsml[0].polling


def test_a_secret_has_exactly_one_source() -> None:
    """None or two is a mistake of the code that builds it."""
    with pytest.raises(ValidationError):
        SecretSource()
    with pytest.raises(ValidationError):
        SecretSource(env="KEY", file=Path("key"))


# Where a secret may be written by mistake: under its own key in any spelling, or without the space.
SECRET = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=3).map(
    "hush{}".format
)
PLACES = st.sampled_from(["access_key", "access_key_file", "access_key_env", "acess_key", "secret"])


@settings(deadline=None)
@given(
    secret=SECRET, place=PLACES, spoilt=st.sampled_from([{}, {"regions": ["x"]}, {"polling": 1}])
)
def test_no_secret_is_ever_shown(
    tmp_path_factory: pytest.TempPathFactory, secret: str, place: str, spoilt: dict[str, object]
) -> None:
    """Neither in errors, nor in the effective configuration, nor in a representation."""
    account = {"account": "prod", "environment": "e", "secret_key": secret, place: secret} | spoilt
    path = tmp_path_factory.getbasetemp() / "secret.yml"
    path.write_text(yaml.safe_dump({"scp": [account]}))
    try:
        loaded = config.load(path, {})
    except ConfigError as error:
        shown = f"{error}{error!r}{error.problems}"
    else:
        shown = f"{loaded}{loaded!r}{config.effective(loaded)}"
    assert "hush" not in shown


@settings(deadline=None)
@given(
    secret=SECRET,
    key=st.sampled_from(["secret_key: ", "secret_key:", "secret_key ", "secret_key: - "]),
)
def test_no_secret_written_without_quotes_is_ever_shown(
    tmp_path_factory: pytest.TempPathFactory, secret: str, key: str
) -> None:
    """YAML makes anchors, tags, comments and keys of it: the errors show none of them."""
    path = tmp_path_factory.getbasetemp() / "unquoted.yml"
    spelled = secret[4:] + secret[:4]
    path.write_text(f"scp:\n  - account: prod\n    environment: e\n    {key}{spelled}\n")
    with pytest.raises(ConfigError) as caught:
        config.load(path, {})
    assert "hush" not in str(caught.value)


def test_a_pipe_is_no_configuration_file(tmp_path: Path) -> None:
    """It is refused at once: to read it would be to wait for somebody who writes."""
    path = tmp_path / "pipe.yml"
    os.mkfifo(path)
    with pytest.raises(ConfigError) as caught:
        config.load(path, {})
    assert caught.value.problems == (f"{path}: is not a regular file",)
