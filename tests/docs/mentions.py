"""What the code has, what the documentation names, and the difference."""

import re
from argparse import ArgumentParser
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from exporter import flags
from exporter.app import Application
from exporter.config.models import (
    Config,
    HttpClient,
    MetricsOptions,
    NsmlAccount,
    Polling,
    RunRef,
    ScpAccount,
)
from exporter.sites import FAMILIES
from exporter.telemetry import OWN, PREFIX
from exporter.web.server import Options, Server
from exporter.web.tls import TlsServerConfig
from exporter.web.web_config import HEADERS, HttpServerConfig, RateLimit
from tests.docs.pages import ROOT, Page

SECTIONS = (Polling, MetricsOptions, HttpClient, ScpAccount, NsmlAccount, RunRef, Config)
WEB_SECTIONS = (TlsServerConfig, HttpServerConfig, RateLimit)
# No metric is what goes on with a star or dots, or is a part of a file's or a recorded name.
_METRIC = re.compile(rf"\b(?:scp|nsml|{PREFIX.rstrip('_')})_[a-z0-9_]*[a-z0-9]\b(?![*…/]|[.:]\w)")
_OF_HISTOGRAMS = re.compile(r"_(?:bucket|sum|count)$")
_FLAG = re.compile(r"(?<![\w-])--(?:config|web|log|simulator)\.[a-z.-]*[a-z]")
_ALERT = re.compile(r"\b(?:Scp(?:GpuNode|Cluster|Api)|NsmlRun|GpuClusterExporter)[A-Z]\w+")
_LOCAL = re.compile(r"http://(?:127\.0\.0\.1|localhost):10110(/[\w./-]*)")


def flag_names() -> set[str]:
    """Return every flag of every command."""
    return {flag for parser in _parsers() for flag in parser._option_string_actions} - {"-h"}


def _parsers() -> Collection[ArgumentParser]:
    actions = flags._parser()._actions
    [commands] = [each.choices for each in actions if each.dest == "command" and each.choices]
    assert isinstance(commands, dict)
    return commands.values()


def config_keys() -> set[str]:
    """Return every key that the configuration file may have."""
    return {"polling"}.union(*(section.key_names() for section in SECTIONS))


def web_config_keys() -> set[str]:
    """Return every key that the web configuration file may have."""
    top = {"tls_server_config", "http_server_config", "basic_auth_users", "rate_limit"}
    return top.union(HEADERS, *(section.key_names() for section in WEB_SECTIONS))


def metric_names() -> set[str]:
    """Return the name of every metric family."""
    return {family.name for family in FAMILIES} | {own.full_name for own in OWN}


def alert_names(directory: Path = ROOT / "alerts") -> set[str]:
    """Return the name of every alert."""
    files = (yaml.safe_load(file.read_text()) for file in sorted(directory.glob("*.yml")))
    groups = (group for content in files for group in content["groups"])
    return {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}


def example_alert_names(directory: Path = ROOT / "alerts") -> set[str]:
    """Return the name of every alert that stands in a comment, for people to take up."""
    texts = (file.read_text(encoding="utf-8") for file in directory.glob("*.yml"))
    return {name for text in texts for name in re.findall(r"# *- alert: (\w+)", text)}


def routes() -> set[str]:
    """Return the path of every route for people or Prometheus, with its variables."""
    server = Server(Application(), Options(addresses=[])).web_application()
    paths = {route.resource.canonical for route in server.router.routes() if route.resource}
    # Pages load these by an address that holds a digest; nobody else is meant to.
    return {path for path in paths if not path.startswith("/static/")}


def missing(names: Iterable[str], page: Page) -> list[str]:
    """Return those names that stand nowhere on the page as words of its code, or in a link."""
    spans = [span.text for span in (*page.code_spans(), *page.links())]
    text = "\n".join([*spans, *(block.text for block in page.blocks())])
    return sorted(name for name in names if not _word(name).search(text))


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")


def undocumented_routes(paths: Iterable[str], page: Page) -> list[str]:
    """Return the paths that no code span of the page has; a variable stands there in capitals."""
    spans = {re.sub(r"[A-Z]+(?:\.\w+)?$", "{name}", span.text) for span in page.code_spans()}
    # An index is there with and without its slash.
    return sorted(path for path in paths if path not in spans and f"{path}/" not in spans)


@dataclass(frozen=True)
class Known:
    """All names that there are."""

    metrics: set[str]
    flags: set[str]
    alerts: set[str]
    paths: list[re.Pattern[str]]


@cache
def known() -> Known:
    """Return all names that there are, read once."""
    paths = [re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in routes()]
    alerts = alert_names() | example_alert_names()
    return Known(metric_names(), flag_names(), alerts, paths)


def unknown(page: Page) -> Iterator[str]:
    """Yield a line for each metric, flag, alert or address that a page names and is not there."""
    there = known()
    for number, line in enumerate(page.text.splitlines(), 1):
        faults = [
            *(f"metric: {name}" for name in _METRIC.findall(line) if not _among(name, there)),
            *(f"flag: {name}" for name in _FLAG.findall(line) if name not in there.flags),
            *(f"alert: {name}" for name in _ALERT.findall(line) if name not in there.alerts),
            *(f"endpoint: {path}" for path in _LOCAL.findall(line) if not _fits(path, there)),
        ]
        yield from (f"{page.name}:{number}: no such {fault}" for fault in faults)


def _among(metric: str, there: Known) -> bool:
    return metric in there.metrics or _OF_HISTOGRAMS.sub("", metric) in there.metrics


def _fits(path: str, there: Known) -> bool:
    return any(pattern.fullmatch(path) for pattern in there.paths)
