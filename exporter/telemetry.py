"""The exporter's own metrics, kept by the client library, in registries by what they tell of.

Each target, and each account in a region, has a registry of its own. Its lines are written
when one of its values has changed since they were written last, at the end of a poll; so
that a scrape has little left to write, however many targets there are.
"""

import contextlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from exporter import __version__
from exporter.clouds.outcomes import REASONS
from exporter.snapshots import TargetId

PREFIX = "gpu_cluster_exporter_"

_TARGET = ("provider", "account", "environment", "region", "collector")
_REGION = ("provider", "account", "environment", "region")
_KIND = ("provider", "collector")
_LATENCY = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_POLL = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LAG = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


@dataclass(frozen=True, slots=True)
class Own:
    """One of the exporter's own families, its name without prefix and counter's suffix."""

    name: str
    kind: type[Counter | Gauge | Histogram]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()

    @property
    def scope(self) -> str:
        """What it tells of: a target, a site, which is an account in a region, or more."""
        if self.labels[: len(_TARGET)] == _TARGET:
            return "target"
        if self.labels[: len(_REGION)] == _REGION:
            return "site"
        return "kind" if self.labels == _KIND else "general"

    @property
    def header(self) -> str:
        """The HELP and TYPE lines of the text format."""
        return self._header(self.full_name)

    @property
    def openmetrics_header(self) -> str:
        """The HELP and TYPE lines of OpenMetrics, where a counter's name has no suffix."""
        return self._header(PREFIX + self.name)

    def _header(self, name: str) -> str:
        kind = self.kind.__name__.lower()
        return f"# HELP {name} {self.help}\n# TYPE {name} {kind}\n"

    @property
    def full_name(self) -> str:
        """The name as it stands on the page's TYPE line in the text format."""
        return PREFIX + self.name + ("_total" if self.kind is Counter else "")


OWN: tuple[Own, ...] = (
    Own(
        "build_info",
        Gauge,
        ("version", "revision", "python_version"),
        "The version of the exporter, as labels of a series that is 1.",
    ),
    Own("target_up", Gauge, _TARGET, "Whether the target's last poll succeeded whole."),
    Own("target_interval_seconds", Gauge, _TARGET, "The time from one poll to the next."),
    Own(
        "target_consecutive_failures",
        Gauge,
        _TARGET,
        "Polls since the last that succeeded whole.",
    ),
    Own(
        "target_last_attempt_timestamp_seconds",
        Gauge,
        _TARGET,
        "When the last poll began.",
    ),
    Own(
        "target_last_success_timestamp_seconds",
        Gauge,
        _TARGET,
        "When the last poll that succeeded whole began.",
    ),
    Own(
        "target_last_update_timestamp_seconds",
        Gauge,
        _TARGET,
        "When the last poll that was whole or partial began: how old the values may be.",
    ),
    Own("target_objects", Gauge, _TARGET, "Distinct objects that the last success found."),
    Own(
        "target_reported_objects",
        Gauge,
        _TARGET,
        "The total that the API claimed in the last success, where it claims one.",
    ),
    Own("polls", Counter, _TARGET, "Polls that ended, well or badly."),
    Own(
        "poll_failures",
        Counter,
        (*_TARGET, "reason"),
        "Polls that did not succeed whole, by reason.",
    ),
    Own(
        "poll_duration_seconds",
        Histogram,
        _KIND,
        "The time that polls took, with all their pages and retries.",
        _POLL,
    ),
    Own(
        "api_requests",
        Counter,
        (*_REGION, "path", "code"),
        "Attempts to call the API, by status, or `error` where no answer came.",
    ),
    Own(
        "api_request_duration_seconds",
        Histogram,
        (*_REGION, "path"),
        "The time that attempts to call the API took.",
        _LATENCY,
    ),
    Own(
        "credentials_expire_timestamp_seconds",
        Gauge,
        ("provider", "account", "environment"),
        "The end of the last day on which the account's credentials are good, as configured.",
    ),
    Own(
        "api_clock_skew_seconds",
        Gauge,
        _REGION,
        "The cloud's Date header minus the local clock, at the last answer.",
    ),
    Own(
        "invalid_records",
        Counter,
        _TARGET,
        "Fields that were left out for a bad value, and records without an id.",
    ),
    Own(
        "duplicate_records",
        Counter,
        _TARGET,
        "Records dropped because the same poll had seen their id.",
    ),
    Own(
        "unrecognized_values",
        Counter,
        _TARGET,
        "Objects that a poll saw in a state that is not listed.",
    ),
    Own(
        "config_last_reload_successful",
        Gauge,
        (),
        "Whether the configuration that was last read is in force.",
    ),
    Own(
        "config_last_reload_success_timestamp_seconds",
        Gauge,
        (),
        "When the configuration was last read with success.",
    ),
    Own(
        "event_loop_lag_seconds",
        Histogram,
        (),
        "How late the event loop wakes a task that sleeps.",
        _LAG,
    ),
    Own("exposition_samples", Gauge, (), "Samples of the last page that was served."),
    Own("exposition_bytes", Gauge, (), "Size of the last page that was served, uncompressed."),
)


class Scope:
    """Own metrics that tell of the same thing, in a registry of their own."""

    def __init__(self, families: Iterable[Own]) -> None:
        self.registry = CollectorRegistry()
        self._families = {own.name: self._make(own) for own in families}
        self._lines: Mapping[str, bytes] = {}
        self._stale = True

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a gauge, counter or histogram
        """Return a family in order to change it."""
        self._stale = True
        return self._families[name]

    @property
    def lines(self) -> Mapping[str, bytes]:
        """The samples' lines by the family's name, written anew where something changed."""
        self.write()
        return self._lines

    def write(self) -> None:
        """Write the lines where something changed."""
        if self._stale:
            self._stale = False
            self._lines = dict(lines_of(self.registry))

    def _make(self, own: Own) -> Counter | Gauge | Histogram:
        options: dict[str, Any] = {"buckets": own.buckets} if own.buckets else {}
        return own.kind(PREFIX + own.name, own.help, own.labels, registry=self.registry, **options)


class _OneMetric:
    """A registry of one metric, which is what the client library can write."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        yield self._metric


def lines_of(registry: CollectorRegistry) -> Iterator[tuple[str, bytes]]:
    """Yield each metric's name and its samples' lines, which are the same in both formats."""
    for metric in registry.collect():
        _help, _type, lines = generate_latest(_OneMetric(metric)).split(b"\n", 2)
        yield metric.name, lines


class Telemetry:
    """All of the exporter's own metrics.

    `registry` is theirs as one; `process` is the client library's own, of the process.
    """

    def __init__(self, revision: str = "") -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it is untyped
        self.process = CollectorRegistry()
        ProcessCollector(registry=self.process)
        PlatformCollector(registry=self.process)
        self.registry = CollectorRegistry()
        self._general = self._register(Scope(own for own in OWN if own.scope == "general"))
        # Of all targets of one kind together: apart from what changes all the time.
        self._kind = self._register(Scope(own for own in OWN if own.scope == "kind"))
        self._targets: dict[TargetId, Scope] = {}
        self._sites: dict[tuple[str, ...], Scope] = {}
        self._kinds: set[tuple[str, str]] = set()
        self["build_info"].labels(__version__, revision, platform.python_version()).set(1)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a gauge, counter or histogram
        """Return a family that tells of no target and no site, in order to change it."""
        return self._general[name]

    @property
    def durations(self) -> Histogram:
        """The poll durations of each kind of target, in order to change them."""
        durations: Histogram = self._kind["poll_duration_seconds"]
        return durations

    @property
    def scopes(self) -> Iterator[Scope]:
        """All scopes, the general one first."""
        return chain((self._general, self._kind), self._sites.values(), self._targets.values())

    def target(self, target: TargetId, interval: float) -> "TargetTelemetry":
        """Return the metrics of one target, all of which exist from here on."""
        if target not in self._targets:
            scope = Scope(own for own in OWN if own.scope == "target")
            self._targets[target] = self._register(scope)
        self._kinds.add((target.provider, target.collector))
        site = self._sites.get(tuple(target.labels.values())[:-1])
        return TargetTelemetry(self, self._targets[target], site, target, interval)

    def requests(
        self, provider: str, account: str, environment: str, region: str
    ) -> "RequestTelemetry":
        """Return the metrics of the requests of one account in one region."""
        site = (provider, account, environment, region)
        if site not in self._sites:
            scope = Scope(own for own in OWN if own.scope == "site")
            self._sites[site] = self._register(scope)
        return RequestTelemetry(self._sites[site], site)

    def keep(self, targets: Iterable[TargetId]) -> None:
        """Remove the series of all targets, and of all sites, but those of these targets."""
        kept = set(targets)
        sites = {tuple(target.labels.values())[:4] for target in kept}
        gone = [self._targets.pop(target) for target in self._targets.keys() - kept]
        gone += [self._sites.pop(site) for site in self._sites.keys() - sites]
        for scope in gone:
            self.registry.unregister(scope.registry)
        self._keep_durations({(target.provider, target.collector) for target in kept})

    def _keep_durations(self, kinds: set[tuple[str, str]]) -> None:
        durations = self.durations
        for kind in self._kinds - kinds:
            durations.remove(*kind)
        self._kinds = kinds

    def write(self) -> None:
        """Write the lines of what changed in all targets of one kind together."""
        self._kind.write()

    def _register(self, scope: Scope) -> Scope:
        self.registry.register(scope.registry)
        return scope


class TargetTelemetry:
    """The metrics of one target."""

    def __init__(
        self,
        telemetry: Telemetry,
        scope: Scope,
        site: Scope | None,
        target: TargetId,
        interval: float,
    ) -> None:
        self._telemetry = telemetry
        self._scope = scope
        self._site = site
        self._target = target
        self._labels = tuple(target.labels.values())
        telemetry.durations.labels(target.provider, target.collector)
        for name in ("up", "consecutive_failures", "objects"):
            self._gauge(name).inc(0)
        for name in ("polls", "invalid_records", "duplicate_records", "unrecognized_values"):
            scope[name].labels(*self._labels)
        for reason in REASONS:
            scope["poll_failures"].labels(*self._labels, reason)
        self.interval(interval)

    def interval(self, seconds: float) -> None:
        """Set the time from one poll to the next."""
        self._gauge("interval_seconds").set(seconds)

    def began(self, at: float) -> None:
        """Note that a poll began at a Unix time."""
        self._gauge("last_attempt_timestamp_seconds").set(at)

    def succeeded(self, began: float, objects: int, reported: int | None) -> None:
        """Note that the poll that began at a Unix time saw everything."""
        self._gauge("up").set(1)
        self._gauge("last_success_timestamp_seconds").set(began)
        self._gauge("objects").set(objects)
        if reported is None:
            with contextlib.suppress(KeyError):
                self._scope["target_reported_objects"].remove(*self._labels)
        else:
            self._gauge("reported_objects").set(reported)

    def failed(self, reason: str) -> None:
        """Note that a poll failed, or was partial."""
        self._gauge("up").set(0)
        self._scope["poll_failures"].labels(*self._labels, reason).inc()

    def updated(self, began: float) -> None:
        """Note that the poll that began at a Unix time was whole or partial."""
        self._gauge("last_update_timestamp_seconds").set(began)

    def write(self) -> None:
        """Write the lines of what changed, so that the next scrape need not."""
        self._scope.write()
        self._telemetry.write()
        if self._site is not None:
            self._site.write()

    def ended(self, seconds: float, consecutive_failures: int) -> None:
        """Note that a poll ended, and how many in a row have now failed."""
        durations = self._telemetry.durations
        durations.labels(self._target.provider, self._target.collector).observe(seconds)
        self._scope["polls"].labels(*self._labels).inc()
        self._gauge("consecutive_failures").set(consecutive_failures)

    def counted(self, *, invalid: int, duplicates: int, unrecognized: int) -> None:
        """Count what was odd about the records of a poll."""
        for name, number in (
            ("invalid_records", invalid),
            ("duplicate_records", duplicates),
            ("unrecognized_values", unrecognized),
        ):
            self._scope[name].labels(*self._labels).inc(number)

    def _gauge(self, name: str) -> Gauge:
        gauge: Gauge = self._scope["target_" + name].labels(*self._labels)
        return gauge


class RequestTelemetry:
    """The metrics of the requests of one account in one region."""

    def __init__(self, scope: Scope, labels: Iterable[str]) -> None:
        self._scope = scope
        self._labels = tuple(labels)

    def request(self, path: str, code: str, seconds: float) -> None:
        """Count an attempt: `code` is the status, or `error` without an answer."""
        self._scope["api_requests"].labels(*self._labels, path, code).inc()
        self._scope["api_request_duration_seconds"].labels(*self._labels, path).observe(seconds)

    def skew(self, seconds: float) -> None:
        """Note the cloud's Date header minus the local clock."""
        self._scope["api_clock_skew_seconds"].labels(*self._labels).set(seconds)
