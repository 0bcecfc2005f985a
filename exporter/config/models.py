"""What the configuration consists of: frozen models, with every default in its place."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    model_validator,
)

from exporter.config import fields

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

    interval: fields.Interval = 30.0
    catalog_interval: fields.Interval = 900.0
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
            return fields.key(self.value.get_secret_value())
        if self.file is not None:
            return fields.key(fields.secret_file(self.file))
        if (text := environ.get(self.env or "")) is None:
            raise ValueError("the environment has no variable of this name")
        return fields.key(text)


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


def _scp_endpoint(url: str, info: ValidationInfo) -> str:
    checked = fields.endpoint(url, ("region", "environment"))
    if len(info.data.get("regions", ())) > 1 and "{region}" not in url:
        raise ValueError("needs {region} in it: one address can't be that of several regions")
    return checked


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
        return (*others, *(key for name in cls.secrets for key in secret_keys(name)))


def secret_keys(name: str) -> tuple[str, str, str]:
    """Name the keys under which a secret may be given."""
    return name, f"{name}_file", f"{name}_env"


class ScpAccount(Account):
    """An account of the Samsung Cloud Platform in one environment."""

    secrets = ("access_key", "secret_key")

    environment: Annotated[str, AfterValidator(_environment)]
    allow_unlisted_regions: bool = False  # before the regions, whose check reads it
    regions: fields.Some[Annotated[str, AfterValidator(_region)]] = Field(
        default_factory=lambda earlier: ENVIRONMENTS.get(earlier.get("environment"), ())
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
