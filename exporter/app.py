"""The daemon: builds everything once, keeps it running, changes it on a reload."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any, Self

import aiohttp

from exporter import logs, revision, sites
from exporter.clock import Clock, SystemClock
from exporter.clouds.http import open_session, tls_context
from exporter.clouds.proxies import environment_proxy, no_proxy
from exporter.config import Config, HttpClient
from exporter.exposition import Exposition, Page
from exporter.poller import Poller, late
from exporter.sites import Memory, Site, SiteConfig, Tools
from exporter.snapshots import Snapshots, TargetId
from exporter.telemetry import Telemetry

_CREDENTIALS_SECONDS = 2.0
_LAG_SECONDS = 0.5


@dataclass(slots=True)
class Application:
    """All targets of a configuration, and what is known of them.

    Use it as a context manager: on leaving, every task and connection is closed.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    clock: Clock = field(default_factory=SystemClock)
    telemetry: Telemetry = field(default_factory=lambda: Telemetry(revision.current()))
    redactor: logs.Redactor = field(default_factory=logs.Redactor)
    snapshots: Snapshots = field(default_factory=Snapshots)
    config: Config | None = None
    _sites: dict[SiteConfig, Site] = field(default_factory=dict)
    _tasks: dict[SiteConfig, list[asyncio.Task[None]]] = field(default_factory=dict)
    _keepers: list[asyncio.Task[None]] = field(default_factory=list)
    _session: aiohttp.ClientSession | None = None
    _http_client: HttpClient | None = None
    _vocabularies: Mapping[str, Any] = field(default_factory=sites.vocabularies)
    _memory: Memory = field(default_factory=Memory)
    _ready: bool = False
    _exposition: Exposition = field(init=False)

    def __post_init__(self) -> None:
        self._exposition = Exposition(sites.FAMILIES, self.snapshots, self.telemetry)

    async def __aenter__(self) -> Self:
        for keeper in (self._watch_credentials, self._measure_lag):
            self._keepers.append(asyncio.create_task(keeper(), name=keeper.__name__))
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = [task for site in tuple(self._tasks) for task in self._tasks.pop(site)]
        await _cancel([*tasks, *self._keepers])
        if self._session is not None:
            await self._session.close()

    @property
    def pollers(self) -> Iterator[Poller]:
        """All pollers, in the order of the configuration."""
        return (poller for site in self._sites.values() for poller in site.pollers)

    @property
    def ready(self) -> bool:
        """Whether every target's first poll has ended; once true, true for good."""
        self._note_readiness()
        return self._ready

    def late(self) -> list[str]:
        """Return the targets whose loops no longer attempt."""
        return late(self.pollers)

    def page(self, content_type: str, *, process: bool = True) -> Page:
        """Return the exposition as of now."""
        return self._exposition.page(self.clock.monotonic(), content_type, process=process)

    def _prepare(self) -> None:
        self._exposition.prepare(self.clock.monotonic())

    def note_served(self, page: Page) -> None:
        """Note the size of a page that was served; the next page tells it."""
        self.telemetry["exposition_samples"].set(page.samples)
        self.telemetry["exposition_bytes"].set(page.size)

    async def apply(self, config: Config, *, loops: bool = True) -> None:
        """Put a configuration in force: start what is new, end what is gone, keep the rest."""
        self._note_readiness()
        tls = config.http_client != self._http_client
        wanted = list(sites.site_configs(config))
        old_session = self._session if tls else None
        if tls:
            self._session = _open_session(config.http_client)
            self._http_client = config.http_client
        changed = [site for site in self._sites if tls or site not in wanted]
        await _cancel([task for site in changed for task in self._tasks.pop(site, ())])
        known = sites.still_true(self._sites.values(), wanted, self.environ)
        self.telemetry.keep(known)
        kept = {site: built for site, built in self._sites.items() if site not in changed}
        self._sites = {each: kept.get(each) or self._build(each, known) for each in wanted}
        self.telemetry.keep(poller.collector.target for poller in self.pollers)
        self.snapshots.replace(poller.snapshot for poller in self.pollers)
        self.config = config
        self._note_expiry(config)
        for site in wanted:
            if loops and site not in self._tasks:
                self._start(site)
        if old_session is not None:
            await old_session.close()

    async def poll_once(self) -> bool:
        """Poll every target once, without loops; return whether all succeeded whole."""
        await asyncio.gather(*(poller.poll() for poller in self.pollers))
        return all(poller.snapshot.health.up for poller in self.pollers)

    def _note_readiness(self) -> None:
        if self.config is not None and not self._ready:
            self._ready = all(poller.attempted.is_set() for poller in self.pollers)

    def _build(self, config: SiteConfig, known: Mapping[TargetId, Poller]) -> Site:
        assert self._session is not None  # noqa: S101 - apply has opened it
        assert self._http_client is not None  # noqa: S101 - the same
        tools = Tools(
            session=self._session,
            telemetry=self.telemetry,
            clock=self.clock,
            vocabularies=self._vocabularies,
            environ=self.environ,
            on_secret=self.redactor.add,
            on_update=self._prepare,
            memory=self._memory,
            proxy=environment_proxy if self._http_client.proxy_from_environment else no_proxy,
        )
        return sites.build(config, tools, known)

    def _start(self, config: SiteConfig) -> None:
        self._tasks[config] = [
            asyncio.create_task(poller.run(), name=str(poller.collector.target))
            for poller in self._sites[config].pollers
        ]

    def _note_expiry(self, config: Config) -> None:
        gauge = self.telemetry["credentials_expire_timestamp_seconds"]
        gauge.clear()
        for site in sites.site_configs(config):
            last_day = site.account.credentials_expire
            if last_day is not None:
                end = datetime.combine(last_day, time(), UTC) + timedelta(days=1)
                gauge.labels(*site.identity[:3]).set(end.timestamp())
        self.telemetry["config_last_reload_successful"].set(1)
        self.telemetry["config_last_reload_success_timestamp_seconds"].set(self.clock.wall())

    async def _watch_credentials(self) -> None:
        while True:
            await self.clock.sleep(_CREDENTIALS_SECONDS)
            for site in tuple(self._sites.values()):
                site.follow_credentials()

    async def _measure_lag(self) -> None:
        while True:
            began = self.clock.monotonic()
            await self.clock.sleep(_LAG_SECONDS)
            lag = max(self.clock.monotonic() - began - _LAG_SECONDS, 0.0)
            self.telemetry["event_loop_lag_seconds"].observe(lag)


def _open_session(options: HttpClient) -> aiohttp.ClientSession:
    return open_session(tls=None if options.ca_file is None else tls_context(str(options.ca_file)))


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
