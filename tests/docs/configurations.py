"""What is wrong with the configurations that the documentation shows."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import promql_parser
import yaml

from exporter.config import Config, ConfigError, load
from exporter.web import web_config
from tests.docs.pages import Block, Page

HASH = "$2b$04$FsE5eYoBqxP1UVjwvzNXxeB9yYJFFg6xb4NKSYSvZJAmLaBEbz4HC"  # of the word "password"
_ACCOUNT = """
scp:
  - {account: prod, environment: e, access_key: made-up, secret_key: made-up}
"""


class Kind(Enum):
    """Whose configuration a block is, by the keys at its top."""

    EXPORTER = frozenset({"polling", "scp", "nsml", "metrics", "http_client"})
    WEB = frozenset({"tls_server_config", "basic_auth_users", "http_server_config", "rate_limit"})
    PROMETHEUS = frozenset(
        {"global", "rule_files", "alerting", "scrape_configs", "remote_write", "storage"}
    )


@dataclass(frozen=True)
class Example:
    """A configuration that a page shows; `text` is complete, also where the page has a part."""

    place: str
    kind: Kind
    text: str


def examples(page: Page) -> Iterator[Example]:
    """Yield the configurations of a page that somebody's own loader can read."""
    for block in page.blocks():
        if block.language == "yaml":
            data = yaml.safe_load_all(block.text)
            yield from (each for document in data if (each := _example(block, document)))


def _example(block: Block, document: object) -> Example | None:
    if isinstance(document, list) and all("job_name" in item for item in document):
        text = yaml.safe_dump({"scrape_configs": document})
        return Example(block.place, Kind.PROMETHEUS, text)
    if not isinstance(document, dict) or not document:
        return None
    for kind in Kind:
        if document.keys() <= kind.value:
            return Example(block.place, kind, _completed(block.text, document, kind))
    return None


def _completed(text: str, document: dict[str, object], kind: Kind) -> str:
    if kind is Kind.EXPORTER and not {"scp", "nsml"} & document.keys():
        return text + _ACCOUNT
    if kind is Kind.WEB:
        return re.sub(r"\$2[aby]\$\d+\$…", HASH, text)
    return text


def unreadable(page: Page) -> Iterator[str]:
    """Yield a line for each block that is not what it says it is, or says what no test reads."""
    for block in page.blocks():
        try:
            _read(block)
        except (yaml.YAMLError, ValueError) as error:
            yield f"{block.place}: no {block.language}: {error}"


def _read(block: Block) -> None:
    match block.language:
        case "yaml":
            list(yaml.safe_load_all(block.text))
        case "json":
            json.loads(block.text)
        case "promql":
            promql_parser.parse(block.text)
        case "" | "text" | "sh" | "bash":  # output and pictures; commands are read elsewhere
            pass
        case other:
            raise ValueError(f"no test reads blocks of {other}")


def settle(directory: Path, example: Example) -> dict[str, str]:
    """Write the secrets' files that an example names; return the variables that it names."""
    variables = {}
    for key, value in _texts(yaml.safe_load(example.text)):
        if key.endswith("_file") and key not in {"ca_file", "cert_file", "key_file"}:
            path = directory / value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("made-up\n", encoding="utf-8")
        elif key.endswith("_env"):
            variables[value] = "made-up"
    return variables


def _texts(data: object) -> Iterator[tuple[str, str]]:
    """Yield every text with its key, however deep it stands."""
    if isinstance(data, dict):
        for key, value in data.items():
            if isinstance(value, str):
                yield str(key), value
            else:
                yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)


def load_exporter(directory: Path, example: Example) -> Config:
    """Read an example by the strict loader; ConfigError where it can't be used."""
    path = directory / "gpu-cluster-exporter.yml"
    path.write_text(example.text, encoding="utf-8")
    return load(path, settle(directory, example))


def exporter_faults(directory: Path, example: Example) -> Iterator[str]:
    """Yield what the exporter says of a configuration that it can't use."""
    try:
        load_exporter(directory, example)
    except ConfigError as error:
        yield from (f"{example.place}: {problem}" for problem in error.problems)


def web_faults(directory: Path, example: Example) -> Iterator[str]:
    """Yield what the exporter says of a web configuration that it can't use.

    The certificates that it names have to stand in the directory.
    """
    path = directory / "web.yml"
    path.write_text(example.text, encoding="utf-8")
    try:
        web_config.load(path)
    except web_config.WebConfigError as error:
        yield from (f"{example.place}: {problem}" for problem in error.problems)
