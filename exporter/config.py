"""The configuration: frozen models, read from one strict YAML file."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias, TypeVar

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from exporter import config_fields as fields
from exporter import strict_yaml
from exporter.strict_yaml import KeyPath

ENVIRONMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "s": ("kr-west1", "kr-east1"),
    "g": ("kr-south1", "kr-south2", "kr-south3"),
    "e": ("kr-west1", "kr-east1"),
}
CATALOG_COLLECTORS: Final = ("products", "images", "api_versions")
SCP_COLLECTORS: Final = ("gpu_nodes", "cluster_fabrics", "node_pools", *CATALOG_COLLECTORS)
NSML_COLLECTORS: Final = ("projects", "runs", "run_nodes")
SCP_ENDPOINT: Final = "https://multinodegpucluster.{region}.{environment}.samsungsdscloud.com"
NSML_ENDPOINT: Final = "https://nsml.apigw.ntruss.com/nsml/v1"
TERMINAL_RUN_STATES: Final = (
    "COMPLETED",
    "FAILED",
    "STOPPED",
    "CANCELED",
    "TERMINATED",
    "DELETED",
)
# What stands at the top level is meant for SCP's lists: these three are NSML's own.
NSML_POLLING: Final[Mapping[str, object]] = {
    "interval": 60.0,
    "requests_per_second": 5.0,
    "page_size": 100,
}
LONGEST_DEFAULT_TIMEOUT: Final = 60.0
STALE_INTERVALS: Final = 3


class ConfigError(Exception):
    """A configuration that cannot be used; `problems` has one line for each fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Section(BaseModel):
    """One mapping of the configuration."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
    )

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        """Name the keys as a file has them."""
        return tuple(info.alias or name for name, info in cls.model_fields.items())


class Polling(Section):
    """How a target is polled, with all inheritance resolved; durations in seconds."""

    interval: fields.PositiveDuration = 30.0
    catalog_interval: fields.PositiveDuration = 900.0
    given_timeout: fields.PositiveDuration | None = Field(default=None, alias="timeout")
    request_timeout: fields.PositiveDuration = 10.0
    stale_after: fields.Duration = 300.0
    max_backoff: fields.Duration = 120.0
    requests_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 10.0
    max_concurrent_requests: Annotated[int, Field(ge=1)] = 4
    page_size: Annotated[int, Field(ge=1)] = 1000

    @property
    def timeout(self) -> float:
        """The deadline of a poll at `interval`."""
        return self.poll_timeout(self.interval)

    def poll_timeout(self, interval: float) -> float:
        """Return the deadline of one whole poll of a target with this interval."""
        return self.given_timeout or min(interval, LONGEST_DEFAULT_TIMEOUT)

    def stale_after_for(self, interval: float) -> float:
        """Return how long the values of a target with this interval outlive its last poll."""
        return max(self.stale_after, STALE_INTERVALS * interval)

    def max_backoff_for(self, interval: float) -> float:
        """Return the longest wait of a failing target with this interval."""
        return max(self.max_backoff, interval)


class SecretSource(Section):
    """Where one secret comes from: exactly one of a value, a file and a variable."""

    value: SecretStr | None = None
    file: Path | None = None
    env: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if [self.value, self.file, self.env].count(None) != 2:  # noqa: PLR2004 - of three
            raise ValueError("exactly one of value, file and env is needed")
        return self

    def read(self, environ: Mapping[str, str]) -> str:
        """Read the secret as it is now, without the line break at its end.

        Raises ValueError. Its text shows nothing of what was read and neither path nor variable:
        a secret put under the wrong key stands in their place.
        """
        if self.value is not None:
            return fields.secret(self.value.get_secret_value())
        if self.file is not None:
            return fields.secret(fields.secret_file(self.file))
        if (text := environ.get(self.env or "")) is None:
            raise ValueError("the environment has no variable of this name")
        return fields.secret(text)


def _environment(name: str) -> str:
    if name not in ENVIRONMENTS:
        raise ValueError(fields.unknown(f"environment {fields.quoted(name)}", name, ENVIRONMENTS))
    return name


def _region(name: str, info: ValidationInfo) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", name):
        raise ValueError(f"expected a region such as kr-west1, found {fields.quoted(name)}")
    environment = info.data.get("environment", "")
    known = ENVIRONMENTS.get(environment, ())
    if known and name not in known and not info.data.get("allow_unlisted_regions"):
        has = f"environment {environment} has {', '.join(known)}"
        raise ValueError(f"unknown region {fields.quoted(name)}; {has}")
    return name


def _scp_endpoint(url: str) -> str:
    return fields.endpoint(url, ("region", "environment"))


def _nsml_endpoint(url: str) -> str:
    return fields.endpoint(url, ())


def _collector(known: Sequence[str]) -> AfterValidator:
    def check(name: str) -> str:
        if name not in known:
            raise ValueError(fields.unknown(f"collector {fields.quoted(name)}", name, known))
        return name

    return AfterValidator(check)


class Account(Section):
    """What the accounts of both clouds have; a subclass names its secrets."""

    secrets: ClassVar[tuple[str, ...]]

    account: fields.Name
    credentials_expire: fields.Day | None = None

    @classmethod
    def key_names(cls) -> tuple[str, ...]:
        """Name the keys as a file has them: each secret has three."""
        others = (name for name in super().key_names() if name not in cls.secrets)
        return (*others, *(key for name in cls.secrets for key in _secret_keys(name)))


def _secret_keys(name: str) -> tuple[str, str, str]:
    return name, f"{name}_file", f"{name}_env"


class ScpAccount(Account):
    """An account of the Samsung Cloud Platform in one environment."""

    secrets = ("access_key", "secret_key")

    environment: Annotated[str, AfterValidator(_environment)]
    allow_unlisted_regions: bool = False  # before the regions, whose check reads it
    regions: fields.Some[Annotated[str, AfterValidator(_region)]] = Field(
        default_factory=lambda earlier: ENVIRONMENTS[earlier["environment"]]
    )
    access_key: SecretSource
    secret_key: SecretSource
    account_id: fields.HeaderText | None = None
    api_version: fields.ApiVersion = "1.2"
    endpoint: Annotated[str, AfterValidator(_scp_endpoint)] = SCP_ENDPOINT
    collectors: fields.Some[Annotated[str, _collector(SCP_COLLECTORS)]] = SCP_COLLECTORS
    polling: Polling = Polling()

    def base_url(self, region: str) -> str:
        """Return the address that the API's paths are appended to."""
        filled = self.endpoint.replace("{region}", region)
        return filled.replace("{environment}", self.environment)


class RunRef(Section):
    """One run of NSML: its name is unique only within its project."""

    project_id: fields.Name
    run_name: fields.Name


class NsmlAccount(Account):
    """An account of CLOVA NSML."""

    secrets = ("access_key", "secret_key", "api_key")

    access_key: SecretSource
    secret_key: SecretSource
    api_key: SecretSource
    endpoint: Annotated[str, AfterValidator(_nsml_endpoint)] = NSML_ENDPOINT
    polling: Polling = Polling.model_validate(NSML_POLLING)
    discover: bool = True
    projects: fields.Several[fields.Name] = ()
    runs: fields.Several[RunRef] = ()
    terminal_run_states: fields.Several[fields.State] = TERMINAL_RUN_STATES
    terminal_run_retention: fields.Duration = 3600.0
    collectors: fields.Some[Annotated[str, _collector(NSML_COLLECTORS)]] = NSML_COLLECTORS


class MetricsOptions(Section):
    """How the exposition is written."""

    state_series: Literal["all", "current"] = "all"


class HttpClient(Section):
    """How the clouds are reached."""

    ca_file: fields.CaFile | None = None
    proxy_from_environment: bool = False


class Config(Section):
    """A whole configuration, checked and with every default in its place."""

    metrics: MetricsOptions = MetricsOptions()
    http_client: HttpClient = HttpClient()
    scp: tuple[ScpAccount, ...] = ()
    nsml: tuple[NsmlAccount, ...] = ()


def load(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a configuration file, and every secret that it names once.

    Raises ConfigError with all faults found, in the order of the file, and no secret in any.
    """
    try:
        document = strict_yaml.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{path}: is not valid UTF-8"]) from None
    except strict_yaml.StrictYamlError as error:
        raise ConfigError(error.problems) from None
    return _Reading(document, path.parent.absolute(), environ).config()


def effective(config: Config) -> str:
    """Write a configuration as YAML, complete, with `<secret>` for each secret in it."""
    written = {
        "metrics": _dump(config.metrics),
        "http_client": _dump(config.http_client),
        "scp": [_dump_account(account) for account in config.scp],
        "nsml": [_dump_account(account) for account in config.nsml],
    }
    return yaml.safe_dump(written, sort_keys=False, allow_unicode=True)


def _dump(section: Section) -> dict[str, object]:
    return section.model_dump(mode="json", by_alias=True)


def _dump_account(account: Account) -> dict[str, object]:
    dumped = _dump(account)
    for name in account.secrets:
        del dumped[name]
        dumped |= _dump_secret(name, getattr(account, name))
    return dumped


def _dump_secret(name: str, source: SecretSource) -> dict[str, object]:
    if source.file is not None:
        return {f"{name}_file": str(source.file)}
    return {f"{name}_env": source.env} if source.env is not None else {name: "<secret>"}


SectionT = TypeVar("SectionT", bound=Section)
AccountT = TypeVar("AccountT", bound=Account)
Raw: TypeAlias = Mapping[str, object]
Layers: TypeAlias = Sequence[tuple[KeyPath, Raw]]

_TOP_LEVEL: Final = ("polling", *Config.key_names())
# Stands in for what has a fault, so that the rest is checked all the same; it never gets out.
_FAULTY: Final = SecretSource(env="")


@dataclass
class _Reading:
    """One reading of a document, which goes on after a fault so that all are found."""

    document: strict_yaml.Document
    directory: Path
    environ: Mapping[str, str]
    problems: dict[tuple[KeyPath, str], None] = field(default_factory=dict)

    def config(self) -> Config:
        """Read the whole document."""
        top = self._top_level()
        polling = self._section(Polling, top.get("polling", {}), ("polling",))
        sections = {
            "metrics": self._section(MetricsOptions, top.get("metrics", {}), ("metrics",)),
            "http_client": self._section(HttpClient, top.get("http_client", {}), ("http_client",)),
            "scp": self._accounts(ScpAccount, top.get("scp", []), ("scp",), polling),
            "nsml": self._accounts(NsmlAccount, top.get("nsml", []), ("nsml",), polling),
        }
        if self.problems:
            ordered = sorted(self.problems, key=lambda problem: self.document.place(problem[0]))
            raise ConfigError([self._line(path, problem) for path, problem in ordered])
        return Config.model_validate(sections)

    def _top_level(self) -> Raw:
        """Return the outermost mapping, which needs an account at least."""
        top = self.document.data
        if not isinstance(top, dict):
            expected = f"a mapping with {', '.join(_TOP_LEVEL)}"
            self._note((), f"expected {expected}, found {fields.shape(top)}")
            return {}
        for key in top.keys() - set(_TOP_LEVEL):
            self._note((key,), fields.unknown("key", key, _TOP_LEVEL))
        if not top.get("scp", []) and not top.get("nsml", []):
            self._note((), "no account; at least one is needed under scp or nsml")
        return top

    def _section(self, model: type[SectionT], raw: object, path: KeyPath) -> SectionT | None:
        if not isinstance(raw, dict):
            self._note(path, f"expected a mapping, found {fields.shape(raw)}")
            return None
        try:
            return model.model_validate(raw, context=self.directory)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                if fault["type"] == "default_factory_not_called":
                    continue  # the regions of an environment that has a fault itself
                self._note((*path, *fault["loc"]), fields.wording(fault, model.key_names()))
            return None

    def _mappings(self, raw: object, path: KeyPath) -> Iterator[tuple[dict[str, object], KeyPath]]:
        if not isinstance(raw, list):
            self._note(path, f"expected a list, found {fields.shape(raw)}")
            return
        for index, item in enumerate(raw):
            if isinstance(item, dict):
                yield item, (*path, index)
            else:
                self._note((*path, index), f"expected a mapping, found {fields.shape(item)}")

    def _accounts(
        self, model: type[AccountT], raw: object, path: KeyPath, polling: Polling | None
    ) -> tuple[AccountT | None, ...]:
        items = list(self._mappings(raw, path))
        names: dict[object, KeyPath] = {}
        for item, place in items:
            name = item.get("account")
            if isinstance(name, str) and names.setdefault(name, place) != place:
                other = strict_yaml.written(names[name])
                self._note((*place, "account"), f"{other} has the same name; give another")
        return tuple(self._account(model, item, place, polling) for item, place in items)

    def _account(
        self, model: type[AccountT], raw: Raw, path: KeyPath, polling: Polling | None
    ) -> AccountT | None:
        spelled = {key for name in model.secrets for key in _secret_keys(name)}
        prepared = {key: value for key, value in raw.items() if key not in spelled}
        prepared |= {name: self._secret(name, raw, path) for name in model.secrets}
        prepared["polling"] = self._polling(model, raw, path, polling)
        if model is NsmlAccount and "runs" in raw:
            prepared["runs"] = self._runs(raw["runs"], (*path, "runs"))
        return self._section(model, prepared, path)

    def _runs(self, raw: object, path: KeyPath) -> list[RunRef]:
        runs = [self._section(RunRef, item, place) for item, place in self._mappings(raw, path)]
        return [run for run in runs if run is not None]

    def _secret(self, name: str, raw: Raw, path: KeyPath) -> SecretSource:
        keys = _secret_keys(name)
        given = [key for key in raw if key in keys]
        if len(given) != 1:
            found = f"{given[0]} is given too" if given else "missing"
            self._note((*path, [name, *given][-1]), f"{found}; give one of {', '.join(keys)}")
            return _FAULTY
        try:
            source = self._source(given[0].removeprefix(name), raw[given[0]])
            source.read(self.environ)
        except ValueError as error:
            self._note((*path, given[0]), str(error))
            return _FAULTY
        return source

    def _source(self, suffix: str, text: object) -> SecretSource:
        if not isinstance(text, str):
            hint = "; put it in quotes" if fields.is_number(text) else ""
            found = fields.shape(text)
            raise ValueError(f"expected text, found {found}{hint}")  # noqa: TRY004 - one kind of fault
        text = fields.secret(text)
        if suffix == "_file":
            return SecretSource(file=self.directory / text)
        return SecretSource(env=text) if suffix else SecretSource(value=SecretStr(text))

    def _polling(
        self, model: type[Account], raw: Raw, path: KeyPath, general: Polling | None
    ) -> Polling:
        place = (*path, "polling")
        own = self._section(Polling, raw.get("polling", {}), place)
        if own is None or general is None:
            return Polling()
        fixed = NSML_POLLING if model is NsmlAccount else {}
        inherited = {key: value for key, value in _given(general).items() if key not in fixed}
        polling = Polling.model_validate({**fixed, **inherited, **_given(own)})
        layers = ((place, _given(own)), (("polling",), inherited))
        for interval in _intervals(model, raw):
            self._check_order("timeout", interval, polling, layers)
        if all(any(key in layer for _, layer in layers) for key in ("request_timeout", "timeout")):
            self._check_order("request_timeout", "timeout", polling, layers)
        return polling

    def _check_order(self, short: str, long: str, polling: Polling, layers: Layers) -> None:
        """Note a duration that is longer than it may be at the key nearer to the account."""
        values = {**polling.model_dump(), "timeout": polling.given_timeout}
        if (values[short] or 0) <= (values[long] or math.inf):
            return
        places = ((*path, key) for path, layer in layers for key in (short, long) if key in layer)
        said = [f"{name} {fields.format_duration(values[name])}" for name in (short, long)]
        self._note(next(places), f"{said[0]} is longer than {said[1]}; change one of them")

    def _note(self, path: KeyPath, problem: str) -> None:
        self.problems[path, problem] = None  # a fault at the top level is met once an account

    def _line(self, path: KeyPath, problem: str) -> str:
        if not path:
            return problem
        hidden = not strict_yaml.is_shown(path[-1])
        place = f" ({self.document.place(path)})" if hidden else ""
        return f"{strict_yaml.written(path)}: {problem}{place}"


def _intervals(model: type[Account], raw: Raw) -> set[str]:
    """Name the intervals that an account's targets are polled at."""
    if model is not ScpAccount:
        return {"interval"}
    collectors = raw.get("collectors", SCP_COLLECTORS)
    named = collectors if isinstance(collectors, list | tuple) else ()
    return {"catalog_interval" if name in CATALOG_COLLECTORS else "interval" for name in named}


def _given(polling: Polling) -> dict[str, object]:
    return polling.model_dump(by_alias=True, exclude_unset=True)
