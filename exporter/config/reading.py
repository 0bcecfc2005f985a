"""Reads a configuration file: strictly, and on after a fault, so that all are found."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from pydantic import (
    SecretStr,
    ValidationError,
)

from exporter.config import fields, strict_yaml
from exporter.config.models import (
    CATALOG_COLLECTORS,
    NSML_POLLING,
    SCP_COLLECTORS,
    Account,
    Config,
    HttpClient,
    MetricsOptions,
    NsmlAccount,
    Polling,
    RunRef,
    ScpAccount,
    SecretSource,
    Section,
    secret_keys,
)
from exporter.config.strict_yaml import KeyPath


class ConfigError(Exception):
    """A configuration that cannot be used; `problems` has one line for each fault."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def load(path: Path, environ: Mapping[str, str]) -> Config:
    """Read a configuration file, and every secret that it names once.

    Raises ConfigError with all faults found, in the order of the file, and no secret in any.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            # A pipe would block until somebody writes, and some devices never end.
            raise ConfigError([f"{path}: is not a regular file"])
        document = strict_yaml.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError([f"{path}: is not valid UTF-8"]) from None
    except strict_yaml.StrictYamlError as error:
        raise ConfigError(error.problems) from None
    return _Reading(document, path.parent.absolute(), environ).config()


SectionT = TypeVar("SectionT", bound=Section)
AccountT = TypeVar("AccountT", bound=Account)
Raw: TypeAlias = Mapping[str, object]
Layers: TypeAlias = Sequence[tuple[KeyPath, Raw]]

_TOP_LEVEL: Final = ("polling", *Config.key_names())
_ONE_ACCOUNT: Final = "at least one is needed under scp or nsml"
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
        if top is None:
            self._note((), f"empty, without an account; {_ONE_ACCOUNT}")
            return {}
        if not isinstance(top, dict):
            expected = f"a mapping with {', '.join(_TOP_LEVEL)}"
            self._note((), f"expected {expected}, found {fields.shape(top)}")
            return {}
        for key in top.keys() - set(_TOP_LEVEL):
            self._note((key,), fields.unknown("key", key, _TOP_LEVEL))
        if not top.get("scp", []) and not top.get("nsml", []):
            self._note((), f"no account; {_ONE_ACCOUNT}")
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
        spelled = {key for name in model.secrets for key in secret_keys(name)}
        prepared = {key: value for key, value in raw.items() if key not in spelled}
        prepared |= {name: self._secret(name, raw, path) for name in model.secrets}
        prepared["polling"] = self._polling(model, raw, path, polling)
        if model is NsmlAccount and "runs" in raw:
            prepared["runs"] = self._runs(raw["runs"], (*path, "runs"))
        if model is NsmlAccount and raw.get("discover") is False and not raw.get("runs"):
            self._note(
                (*path, "discover"), "false without `runs` polls none; name runs, or leave it out"
            )
        return self._section(model, prepared, path)

    def _runs(self, raw: object, path: KeyPath) -> list[RunRef]:
        runs = [self._section(RunRef, item, place) for item, place in self._mappings(raw, path)]
        return [run for run in runs if run is not None]

    def _secret(self, name: str, raw: Raw, path: KeyPath) -> SecretSource:
        keys = secret_keys(name)
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
