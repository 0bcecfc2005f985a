"""Print docs/configuration.md: every key of the configuration file, and every flag."""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt
from pydantic.fields import FieldInfo

from exporter import flags
from exporter.config import ENVIRONMENTS, NSML_POLLING, fields, models
from exporter.config.models import Account, SecretSource, Section, secret_keys

_INTRODUCTION = """\
# Configuration

This page is written by `scripts/configuration_reference.py` from the code; run `make docs` after
a change of it.

## The file

`--config.file` names it; without the flag it is `gpu-cluster-exporter.yml` in the working
directory. It is strict YAML: an unknown key, a key that stands twice or a value of the wrong kind
is an error that names its place, such as `scp[0].regions[1]`. `gpu-cluster-exporter check` shows
all of them at once and starts nothing. SIGHUP has a running daemon read the file again, and so
does POST on `/-/reload` with `--web.enable-lifecycle`; a file with an error changes nothing.

At its top stand `scp` and `nsml`, the accounts, and beside them `polling`, `metrics` and
`http_client`. One account is enough, of either cloud:

```yaml
scp:
  - account: prod
    environment: e
    access_key_file: secrets/scp-access-key
    secret_key_file: secrets/scp-secret-key
```

A fuller one; what is left out has the default that its table names:

```yaml
polling:
  interval: 30s
metrics:
  state_series: current
scp:
  - account: prod
    environment: e
    regions: [kr-west1, kr-east1]
    access_key_file: secrets/scp-access-key
    secret_key_file: secrets/scp-secret-key
    credentials_expire: 2027-01-31
  - account: lab
    environment: g
    access_key_env: LAB_ACCESS_KEY
    secret_key_env: LAB_SECRET_KEY
    collectors: [gpu_nodes, cluster_fabrics, products]
    polling: {interval: 1m}
nsml:
  - account: research
    access_key_file: secrets/ncp-access-key
    secret_key_file: secrets/ncp-secret-key
    api_key_file: secrets/ncp-api-key
    runs:
      - {project_id: abcdeygz0iujnfghij01, run_name: "2"}
```

A duration is written as in Prometheus: `500ms`, `30s`, `5m`, `1h30m`. What YAML would read as
something else than text wants quotes: `"012"`, `"1.2"`, `"no"`.
"""

_POLLING = """\
The defaults of all accounts; an account may have a `polling:` of its own, with the same keys, of
which it needs only those that differ. NSML has defaults of its own for three keys, whatever
stands at the top level. A timeout longer than its interval is an error.
"""

_SECRETS = """\
### Secrets

Each secret is given in exactly one of three ways. A file is the best of them: only its owner
needs to read it, and it is read again when it changes, without a restart. A path starts at the
directory of the configuration file; a line break at the end is no part of the secret. A file that
is empty or gone while the daemon runs leaves the last good value in force.

| key | value |
| --- | --- |
| `access_key_file`, `secret_key_file`, `api_key_file` | path of a file that holds the secret |
| `access_key_env`, `secret_key_env`, `api_key_env` | name of a variable of the environment |
| `access_key`, `secret_key`, `api_key` | the secret itself |
"""

_REGIONS = """\
### Environments and regions

Another region is an error, unless the account says `allow_unlisted_regions: true`.
"""

_COMMANDS = """\
## Commands and flags

```
gpu-cluster-exporter [COMMAND] [FLAG...]
```

Without a command it serves. `gpu-cluster-exporter --version` prints the version; with `--help` a
command prints its flags. Secrets are never given on the command line. The file of
`--web.config.file` has [a page of its own](web-configuration.md).

| exit code | when |
| --- | --- |
| 0 | all well; also after SIGTERM or SIGINT |
| 1 | a configuration or an address that can't be used; `healthcheck`: not well |
| 2 | a target failed (`check --probe`, `once`), or the command line is wrong |
"""

_TITLES: Mapping[type[Section], str] = {
    models.Polling: "### polling",
    models.MetricsOptions: "### metrics",
    models.HttpClient: "### http_client",
    models.ScpAccount: "### scp\n\nA list: accounts of Samsung Cloud Platform, each in one "
    "environment.",
    models.NsmlAccount: "### nsml\n\nA list: accounts of CLOVA NSML.",
    models.RunRef: "### nsml: runs\n\nA list: runs of an account.",
}

_MEANINGS: Mapping[type[Section], Mapping[str, str]] = {
    models.Polling: {
        "interval": "from one poll to the next of `gpu_nodes`, `cluster_fabrics`, `node_pools` and "
        "all that NSML has",
        "catalog_interval": "the same of `products`, `images`, `api_versions`, and of node pools "
        "that have to be asked for fabric by fabric",
        "timeout": "deadline of one whole poll, with all its pages and retries; `null`: the "
        "interval, 1m at most",
        "request_timeout": "deadline of one request",
        "stale_after": "how long values outlive the last whole or partial poll; three intervals at "
        "least, whatever stands here",
        "max_backoff": "the longest wait of a target that keeps failing; the interval at least",
        "requests_per_second": "of each account in each region",
        "max_concurrent_requests": "of each account in each region",
        "page_size": "rows of a page that are asked for; a server that gives less, or refuses so "
        "many, is understood",
    },
    models.MetricsOptions: {
        "state_series": "`all`: a series for each listed state, 0 or 1; `current`: only the state "
        "that is 1, which makes the page about half as large; dashboards and alerts work with both",
    },
    models.HttpClient: {
        "ca_file": "certificates in PEM form, trusted beside the system's; a path starts at the "
        "directory of the configuration file",
        "proxy_from_environment": "whether `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are heeded",
    },
    Account: {
        "account": "value of the label `account`; once in each cloud",
        "credentials_expire": "the last day of the keys, in UTC: an alert tells 14 days before",
        "collectors": "what is polled",
        "polling": "what differs from [polling](#polling) above",
        "access_key": "the access key; one of the [three](#secrets)",
        "secret_key": "the secret key, which signs and is never sent; one of the [three](#secrets)",
    },
    models.ScpAccount: {
        "environment": "see [environments](#environments-and-regions)",
        "allow_unlisted_regions": "take regions that the table does not have",
        "regions": "which are polled",
        "account_id": "sent and signed as `Scp-AccountId`",
        "api_version": "the version that is asked for",
        "endpoint": "address of the API, with a path or without; `{region}` and `{environment}` "
        "are filled in",
    },
    models.NsmlAccount: {
        "api_key": "the key of the API Gateway; one of the [three](#secrets)",
        "endpoint": "address of the API, with its path",
        "discover": "poll every run that the API lists; `false`: only `runs`",
        "projects": "ids of projects: no run of another one is discovered; empty: all",
        "runs": "runs that are polled whether discovered or not",
        "terminal_run_states": "states in which a run is over, without their `RUN_STATE_`",
        "terminal_run_retention": "how long a run that is over is polled and shown, and its nodes",
    },
    models.RunRef: {
        "project_id": "id of the project",
        "run_name": "name of the run, which is a number: in quotes",
    },
}

_KINDS: tuple[tuple[Any, str], ...] = (
    (fields.Interval, f"duration, {fields.format_duration(fields.SHORTEST_INTERVAL)} or longer"),
    (fields.PositiveDuration, "duration, longer than 0s"),
    (fields.Duration, "duration"),
    (fields.HeaderText, "ASCII text"),
    (fields.ApiVersion, "version, in quotes"),
    (fields.State, "state"),
    (fields.Day, "day"),
    (fields.CaFile, "path"),
    (fields.Name, "text"),
    (SecretSource, "secret"),
    (models.Polling, "mapping"),
    (models.RunRef, "mapping"),
    (bool, "`true` or `false`"),
    (str, "text"),
)

_DEFAULTS = {"regions": "every region of the environment"}


def render() -> str:
    """Return the whole page, as Markdown."""
    sections = [_section(section) for section in _TITLES]
    return "\n".join(
        [_INTRODUCTION, *sections, _SECRETS, _REGIONS, _regions(), _COMMANDS, *_commands()]
    )


def _section(section: type[Section]) -> str:
    title = f"{_TITLES[section]}\n"
    if section is not models.Polling:
        return f"{title}\n{_rows(('key', 'kind', 'default', 'meaning'), _keys(section))}"
    head = ("key", "kind", "default", "default for NSML", "meaning")
    return f"{title}\n{_POLLING}\n{_rows(head, _polling_keys())}"


def _keys(section: type[Section]) -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(section, include_extras=True)
    meanings = meanings_of(section)
    for name, info in section.model_fields.items():
        key = info.alias or name
        secret = issubclass(section, Account) and name in section.secrets
        shown = ", ".join(f"`{each}`" for each in secret_keys(key)) if secret else f"`{key}`"
        yield shown, _kind(hints[name]), _default(name, info, hints[name]), meanings[key]


def _polling_keys() -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(models.Polling, include_extras=True)
    for (key, kind, default, meaning), name in zip(
        _keys(models.Polling), models.Polling.model_fields, strict=True
    ):
        own = NSML_POLLING.get(name)
        yield key, kind, default, default if own is None else _written(own, hints[name]), meaning


def meanings_of(section: type[Section]) -> Mapping[str, str]:
    """Return what each key of a section means, with those of what it extends."""
    bases = [base for base in reversed(section.__mro__) if base in _MEANINGS]
    return reduce(or_, (dict(_MEANINGS[base]) for base in bases), {})


def _kind(hint: Any) -> str:  # noqa: ANN401 - any type that a model may have
    for known, text in _KINDS:
        if hint == known:
            return text
    if get_origin(hint) in {Union, UnionType}:
        return _either(get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(hint))
    if get_origin(hint) is Annotated:
        return _annotated(*get_args(hint))
    raise TypeError(f"no words for the kind of value {hint!r}")


def _either(choices: Iterable[Any]) -> str:
    return ", ".join("or `null`" if each is NoneType else _kind(each) for each in choices)


def _annotated(kind: Any, *metadata: Any) -> str:  # noqa: ANN401 - the parts of such a type
    if get_origin(kind) is tuple:
        return f"list of: {_kind(get_args(kind)[0])}"
    if kind not in {int, float}:
        return _kind(kind)
    limits = [each for info in metadata if isinstance(info, FieldInfo) for each in info.metadata]
    words = [f"{each.ge} or more" for each in limits if isinstance(each, Ge)]
    words += [f"more than {each.gt}" for each in limits if isinstance(each, Gt)]
    return ", ".join(["whole number" if kind is int else "number", *words])


def _default(name: str, info: FieldInfo, hint: Any) -> str:  # noqa: ANN401 - as above
    if info.is_required():
        return "required"
    if name in _DEFAULTS:
        return _DEFAULTS[name]
    return _written(info.default, hint)


def _written(value: object, hint: Any) -> str:  # noqa: ANN401 - as above
    """Write a default as it would stand in a file."""
    match value:
        case Section():
            return ""
        case None | bool() | int():
            text = json.dumps(value)
        case tuple():
            text = f"[{', '.join(value)}]"
        case float():
            is_duration = hint in {fields.Interval, fields.PositiveDuration, fields.Duration}
            text = fields.format_duration(value) if is_duration else f"{value:g}"
        case _:
            text = f'"{value}"' if hint == fields.ApiVersion else str(value)
    return f"`{text}`"


def _regions() -> str:
    rows = ((f"`{name}`", _names(regions)) for name, regions in ENVIRONMENTS.items())
    return _rows(("environment", "regions"), rows)


def _commands() -> Iterator[str]:
    """Yield a section for each command, with its flags."""
    for name, parser in _parsers().items():
        yield f"### {name}\n"
        yield f"{flags.COMMANDS[name][0].upper()}{flags.COMMANDS[name][1:]}.\n"
        actions = (each for each in parser._actions if each.dest != "help")  # noqa: SLF001 - as below
        yield _rows(("flag", "default", "meaning"), map(_flag, actions))


def _parsers() -> Mapping[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    parser = flags._parser()  # noqa: SLF001 - only the parser itself knows its flags
    for action in parser._actions:  # noqa: SLF001 - and argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            return action.choices
    raise TypeError("the command line has no commands")


def _flag(action: argparse.Action) -> tuple[str, str, str]:
    choices = "|".join(action.choices) if action.choices else None
    value = "" if action.nargs == 0 else choices or action.metavar or action.dest.upper()
    name = f"{action.option_strings[0]} {value}" if action.option_strings else value
    text, _, default = (action.help or "").removesuffix(")").partition(" (default: ")
    if default.startswith("%"):
        default = str(action.default)
    return f"`{str(name).strip()}`", f"`{default}`" if default else "", text


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown; a bar within a cell is escaped."""
    cells = [head, ("---",) * len(head), *rows]
    lines = (" | ".join(cell.replace("|", "\\|") for cell in row) for row in cells)
    return "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    sys.stdout.write(render())
