"""A site is one account in one region: one budget, one client, several collectors."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import aiohttp

from exporter import logs
from exporter.clock import Clock
from exporter.clouds.budget import Budget
from exporter.clouds.http import Client, Dialect
from exporter.clouds.nsml import collectors as nsml
from exporter.clouds.nsml import families as nsml_families
from exporter.clouds.nsml.runs import RunsSeen
from exporter.clouds.nsml.signing import NsmlDialect
from exporter.clouds.proxies import Proxy, no_proxy
from exporter.clouds.scp import collectors as scp
from exporter.clouds.scp import families as scp_families
from exporter.clouds.scp.signing import ScpDialect
from exporter.collectors import Collector, Pace
from exporter.config import Config, MetricsOptions, NsmlAccount, Polling, ScpAccount
from exporter.credentials import Credentials, Secret, SecretUnavailable
from exporter.families import Binding
from exporter.poller import Poller
from exporter.schedule import Schedule, phase_of
from exporter.sheet import Sheet
from exporter.snapshots import Snapshot, TargetId
from exporter.states import Vocabulary
from exporter.telemetry import Telemetry

FAMILIES = tuple(
    family for table in (*scp_families.TABLES, *nsml_families.TABLES) for family in table.families
)
"""Every family of the clouds' objects, in the order of the page."""


def vocabularies() -> dict[str, Vocabulary]:
    """Return the states of every kind of object; one set serves a whole process."""
    known = scp_families.vocabularies() | nsml_families.vocabularies()
    for vocabulary in known.values():
        vocabulary.on_unlisted = _tell_unlisted
    return known


def _tell_unlisted(kind: str, state: str) -> None:
    logs.get("states").warning("a state that is not listed", kind=kind, state=state)


@dataclass(frozen=True, slots=True)
class Memory:
    """What outlives a reload beside the snapshots, by site and source."""

    runs: dict[tuple[object, ...], RunsSeen] = field(default_factory=dict)
    gpu_models: dict[tuple[object, ...], scp.GpuModels] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tools:
    """What all sites share."""

    session: aiohttp.ClientSession
    telemetry: Telemetry
    clock: Clock
    vocabularies: Mapping[str, Vocabulary]
    environ: Mapping[str, str] = field(repr=False)
    on_secret: Callable[[str], None]
    on_update: Callable[[], object]
    memory: Memory
    proxy: Proxy = no_proxy


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """All of the configuration that a site depends on: where it is equal, nothing changed."""

    account: ScpAccount | NsmlAccount
    region: str
    metrics: MetricsOptions

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The labels provider, account, environment and region."""
        if isinstance(self.account, ScpAccount):
            return ("scp", self.account.account, self.account.environment, self.region)
        return ("nsml", self.account.account, "", "")

    @property
    def source(self) -> tuple[object, ...]:
        """Where objects come from: what decides, beside the access key, whose they are."""
        account = self.account
        tenant = account.account_id if isinstance(account, ScpAccount) else None
        return (self.base_url, tenant)

    @property
    def base_url(self) -> str:
        """The URL before all paths."""
        account = self.account
        if isinstance(account, ScpAccount):
            return account.base_url(self.region).rstrip("/")
        return account.endpoint.rstrip("/")


@dataclass(slots=True)
class Site:
    """The pollers of one account in one region."""

    config: SiteConfig
    credentials: Credentials
    pollers: list[Poller] = field(default_factory=list)
    _credentials_version: int = 0

    def follow_credentials(self) -> None:
        """Read the credentials, and let failing pollers hurry where they have changed."""
        with contextlib.suppress(SecretUnavailable):
            self.credentials.read()
        if self.credentials.version != self._credentials_version:
            self._credentials_version = self.credentials.version
            for poller in self.pollers:
                poller.hurry()


def site_configs(config: Config) -> Iterator[SiteConfig]:
    """Yield what there is to poll, in the order of the configuration."""
    for account in config.scp:
        for region in account.regions:
            # Of the regions its own alone: what becomes of the others does not concern it.
            alone = account.model_copy(update={"regions": (region,)})
            yield SiteConfig(alone, region, config.metrics)
    for research in config.nsml:
        yield SiteConfig(research, "", config.metrics)


def still_true(
    sites: Iterable[Site], wanted: Iterable[SiteConfig], environ: Mapping[str, str]
) -> dict[TargetId, Poller]:
    """Return the pollers whose findings still hold: what another source said does not."""
    configs = {config.identity: config for config in wanted}
    return {
        poller.collector.target: poller
        for site in sites
        if _goes_on(site, configs.get(site.config.identity), environ)
        for poller in site.pollers
    }


def _goes_on(site: Site, wanted: SiteConfig | None, environ: Mapping[str, str]) -> bool:
    """Return whether a site is asked on as it was, with the same access key, wherever that is."""
    if wanted is None or wanted.source != site.config.source:
        return False
    before, now = site.config.account.access_key, wanted.account.access_key
    if before == now:
        return True
    with contextlib.suppress(SecretUnavailable, ValueError):
        return site.credentials.read()["access_key"] == now.read(environ)
    return False


def build(config: SiteConfig, tools: Tools, known: Mapping[TargetId, Poller]) -> Site:
    """Build a site; targets that were polled before go on from there."""
    account = config.account
    credentials = _credentials(account, tools)
    site = Site(config, credentials)
    budget = Budget(account.polling.requests_per_second, account.polling.max_concurrent_requests)
    client = Client(
        session=tools.session,
        base_url=config.base_url,
        dialect=_dialect(account, credentials),
        budget=budget,
        observer=tools.telemetry.requests(*config.identity),
        clock=tools.clock,
        request_timeout=account.polling.request_timeout,
        proxy=tools.proxy,
    )
    for collector in _collectors(config, tools):
        before = known.get(collector.target)
        site.pollers.append(_poller(collector, client, config, tools, before))
    site.follow_credentials()
    return site


def _credentials(account: ScpAccount | NsmlAccount, tools: Tools) -> Credentials:
    sources = {"access_key": account.access_key, "secret_key": account.secret_key}
    if isinstance(account, NsmlAccount):
        sources["api_key"] = account.api_key
    secrets = {
        name: Secret(source, tools.environ, on_value=tools.on_secret)
        for name, source in sources.items()
    }
    return Credentials(**secrets)


def _dialect(account: ScpAccount | NsmlAccount, credentials: Credentials) -> Dialect:
    if isinstance(account, ScpAccount):
        return ScpDialect(credentials.read, account.api_version, account.account_id or "")
    return NsmlDialect(credentials.read)


def _collectors(config: SiteConfig, tools: Tools) -> list[Collector]:
    account = config.account
    pace = _pace(account.polling, account.polling.interval)
    place = (*config.identity, *config.source)
    if isinstance(account, ScpAccount):
        return scp.collectors(
            account.collectors,
            account=account.account,
            environment=account.environment,
            region=config.region,
            api_version=account.api_version,
            page_size=account.polling.page_size,
            paces=scp.Paces(pace, _pace(account.polling, account.polling.catalog_interval)),
            models=tools.memory.gpu_models.setdefault(place, scp.GpuModels()),
        )
    return nsml.collectors(
        account.collectors,
        account=account.account,
        pace=pace,
        page_size=account.polling.page_size,
        discover=account.discover,
        projects=account.projects,
        configured=[(run.project_id, run.run_name) for run in account.runs],
        terminal_states=account.terminal_run_states,
        retention=account.terminal_run_retention,
        clock=tools.clock,
        seen=tools.memory.runs.setdefault(place, RunsSeen()),
    )


def _pace(polling: Polling, interval: float) -> Pace:
    return Pace(
        interval=interval,
        timeout=polling.poll_timeout(interval),
        stale_after=polling.stale_after_for(interval),
        max_backoff=polling.max_backoff_for(interval),
    )


def _poller(
    collector: Collector,
    client: Client,
    config: SiteConfig,
    tools: Tools,
    before: Poller | None,
) -> Poller:
    target = collector.target
    snapshot = _snapshot(collector, config, tools)
    poller = Poller(
        collector=collector,
        client=client,
        snapshot=snapshot,
        telemetry=tools.telemetry.target(target, collector.pace.interval),
        schedule=Schedule(phase_of(str(target))),
        clock=tools.clock,
        on_update=tools.on_update,
        log=logs.get("poller").bind(**{k: v for k, v in target.labels.items() if v}),
    )
    if before is not None:
        snapshot.adopt(before.snapshot, tools.clock.monotonic())
        poller.not_before = before.not_before
    return poller


def _snapshot(collector: Collector, config: SiteConfig, tools: Tools) -> Snapshot:
    target, account = collector.target, config.account
    regional = {"environment": target.environment, "region": target.region}
    binding = Binding(
        labels={"account": target.account, **(regional if target.provider == "scp" else {})},
        vocabularies=tools.vocabularies,
        expected_states=account.terminal_run_states if isinstance(account, NsmlAccount) else (),
        current_state_only=config.metrics.state_series == "current",
        derived=collector.derived,
    )
    sheets = tuple(Sheet(table, binding) for table in collector.tables)
    return Snapshot(target, collector.pace.stale_after, sheets)
