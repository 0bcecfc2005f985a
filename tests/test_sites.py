"""What a configuration makes of an account in a region."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr
from structlog.testing import capture_logs

from exporter import sites
from exporter.clouds.outcomes import AuthFailed
from exporter.clouds.paging import Listing
from exporter.clouds.rows import read_row
from exporter.clouds.scp.models import GpuNode, Product
from exporter.config import Config, NsmlAccount, RunRef, ScpAccount, SecretSource
from exporter.poller import Poller
from exporter.sites import Memory, Site, SiteConfig, Tools, build, site_configs
from exporter.telemetry import Telemetry
from tests.clocks import FakeClock


def secret(value: str) -> SecretSource:
    """Make a secret."""
    return SecretSource(value=SecretStr(value))


SCP = ScpAccount(
    account="prod",
    environment="g",
    regions=("kr-south1", "kr-south3"),
    access_key=secret("access-of-scp"),
    secret_key=secret("secret-of-scp"),
    account_id="f00d",
)
NSML = NsmlAccount(
    account="research",
    access_key=secret("access-of-nsml"),
    secret_key=secret("secret-of-nsml"),
    api_key=secret("api-key-of-nsml"),
    endpoint="https://example.test/nsml/v1/",
    runs=(RunRef(project_id="p1", run_name="7"),),
)
CONFIG = Config(scp=(SCP,), nsml=(NSML,))


@pytest.fixture
async def tools() -> Tools:
    """Give what sites share; the session is never used."""
    async with aiohttp.ClientSession() as session:
        return Tools(
            session=session,
            telemetry=Telemetry(),
            clock=FakeClock(),
            vocabularies=sites.vocabularies(),
            environ={},
            on_secret=SECRETS.append,
            on_update=lambda: None,
            memory=Memory(),
        )


SECRETS: list[str] = []


def built(tools: Tools, index: int, config: Config = CONFIG) -> Site:
    """Build one of the sites of a configuration."""
    return build(list(site_configs(config))[index], tools, {})


def test_each_region_and_each_research_account_is_a_site() -> None:
    """In the order of the configuration; their labels tell them apart."""
    assert [site.identity for site in site_configs(CONFIG)] == [
        ("scp", "prod", "g", "kr-south1"),
        ("scp", "prod", "g", "kr-south3"),
        ("nsml", "research", "", ""),
    ]


def test_a_site_does_not_depend_on_the_accounts_other_regions() -> None:
    """With one region more the sites of the others are equal to what they were."""
    more = SCP.model_copy(update={"regions": ("kr-south2", *SCP.regions)})
    before, after = set(site_configs(CONFIG)), set(site_configs(Config(scp=(more,), nsml=(NSML,))))
    assert before < after
    assert [site.region for site in after - before] == ["kr-south2"]


@pytest.mark.parametrize(
    "change",
    [
        {"account_id": "beef"},
        {"endpoint": "https://example.test"},
        {"secret_key": secret("another-secret")},
        {"collectors": ("gpu_nodes",)},
    ],
)
def test_a_site_depends_on_all_of_its_account(change: dict[str, object]) -> None:
    """Whatever changes makes another site of it."""
    changed = Config(scp=(SCP.model_copy(update=change),))
    assert not set(site_configs(changed)) & set(site_configs(CONFIG))


async def test_a_site_has_a_poller_for_each_collector(tools: Tools) -> None:
    """They share one client, whose address is that of the region."""
    site = built(tools, 1)
    names = [poller.collector.target.collector for poller in site.pollers]
    assert tuple(names) == SCP.collectors
    [client] = {id(poller.client): poller.client for poller in site.pollers}.values()
    assert client.base_url == "https://multinodegpucluster.kr-south3.g.samsungsdscloud.com"
    assert client.request_timeout == 10.0
    assert client.budget.requests_per_second == 10.0


def collectors_of(tools: Tools, account: ScpAccount) -> dict[str, Any]:
    """Return the collectors of an account's first region by name."""
    site = built(tools, 0, CONFIG.model_copy(update={"scp": (account,)}))
    return {each.collector.target.collector: each.collector for each in site.pollers}


async def test_gpu_models_are_known_when_a_site_is_built_again(tools: Tools) -> None:
    """The products last read name the models over a reload, unless another place is asked."""
    raw = b'{"id": "p", "name": "g9c1z8_metal", "product_attrs": {"gpu_model": "Z900"}}'
    product = read_row(Product, raw)
    assert product is not None
    collectors_of(tools, SCP)["products"].on_listing(Listing({product.key: product}))
    polling = SCP.polling.model_copy(update={"interval": 7.0})

    def model(**change: object) -> str:
        nodes = collectors_of(tools, SCP.model_copy(update=change))["gpu_nodes"]
        return str(nodes.derived["gpu_model"](GpuNode(server_type="g9c1z8_metal")))

    assert model(polling=polling) == "Z900"
    assert not model(endpoint="https://other.test")


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"polling": SCP.polling.model_copy(update={"interval": 7.0})}, True),
        ({"secret_key": secret("another-secret-of-scp")}, True),
        ({"endpoint": "https://{region}.other.test"}, False),
        ({"account_id": "another"}, False),
        ({"access_key": secret("another-access-of-scp")}, False),
        ({"access_key": SecretSource(env="THE_SAME_KEY")}, True),
        ({"access_key": SecretSource(env="NO_SUCH_KEY")}, False),
    ],
)
async def test_what_another_tenant_had_is_not_kept(
    tools: Tools, change: dict[str, object], *, holds: bool
) -> None:
    """An account of one name that is another's at the cloud begins with nothing."""
    config = CONFIG.model_copy(update={"scp": (SCP.model_copy(update=change),)})
    environ = {"THE_SAME_KEY": "access-of-scp"}
    kept = sites.still_true([built(tools, 0)], site_configs(config), environ)
    assert bool(kept) == holds


async def test_paces_follow_the_polling_options(tools: Tools) -> None:
    """Catalogs are polled seldom; what must be raised to the interval is."""
    paces = {
        poller.collector.target.collector: poller.collector.pace
        for poller in built(tools, 0).pollers
    }
    nodes, images = paces["gpu_nodes"], paces["images"]
    assert (nodes.interval, nodes.timeout, nodes.stale_after, nodes.max_backoff) == (
        30.0, 30.0, 300.0, 120.0,
    )  # fmt: skip
    assert (images.interval, images.timeout, images.stale_after, images.max_backoff) == (
        900.0, 60.0, 2700.0, 900.0,
    )  # fmt: skip


async def test_a_research_account_signs_with_three_secrets(tools: Tools) -> None:
    """Its address has no slash at its end, for paths are appended to it."""
    site = built(tools, 2)
    client = site.pollers[0].client
    assert client.base_url == "https://example.test/nsml/v1"
    headers = client.dialect.headers("GET", client.base_url + "/projects", 1_800_000_000_000)
    assert headers["x-ncp-apigw-api-key"] == "api-key-of-nsml"
    assert {"access-of-nsml", "secret-of-nsml", "api-key-of-nsml"} <= set(SECRETS)
    assert [poller.collector.target.collector for poller in site.pollers] == list(NSML.collectors)


async def test_an_account_id_is_sent_where_there_is_one(tools: Tools) -> None:
    """It is part of the signature then."""
    client = built(tools, 0).pollers[0].client
    headers = client.dialect.headers("GET", client.base_url + "/v1/gpu-nodes", 1)
    assert headers["Scp-AccountId"] == "f00d"


async def test_a_state_that_is_not_listed_is_told_once() -> None:
    """In a process, not in each target."""
    vocabulary = next(iter(sites.vocabularies().values()))
    with capture_logs() as events:
        for _ in range(3):
            vocabulary.label("MAINTENANCE", ())
    assert [(event["event"], event["state"]) for event in events] == [
        ("a state that is not listed", "MAINTENANCE")
    ]


def failing(site: Site) -> list[Poller]:
    """Let all targets of a site have failed."""
    for poller in site.pollers:
        poller._plan(AuthFailed("refused"), poller.clock.monotonic())
    return site.pollers


async def test_changed_credentials_hurry_what_fails(tools: Tools, tmp_path: Path) -> None:
    """Once for each change, and not for the first reading, which is no change."""
    file = tmp_path / "key"
    file.write_text("first-key")
    account = SCP.model_copy(update={"secret_key": SecretSource(file=file)})
    site = build(SiteConfig(account, "kr-south1", CONFIG.metrics), tools, {})
    pollers = failing(site)
    site.follow_credentials()
    assert not any(poller.wake.is_set() for poller in pollers)
    file.write_text("second-key")
    site.follow_credentials()
    assert all(poller.wake.is_set() for poller in pollers)
    for poller in pollers:
        poller.wake.clear()
    site.follow_credentials()
    assert not any(poller.wake.is_set() for poller in pollers)


async def test_credentials_that_are_gone_are_no_change(tools: Tools, tmp_path: Path) -> None:
    """Not even where they never could be read; the first good ones are one."""
    file = tmp_path / "key"
    account = SCP.model_copy(update={"secret_key": SecretSource(file=file)})
    site = build(SiteConfig(account, "kr-south1", CONFIG.metrics), tools, {})
    pollers = failing(site)
    site.follow_credentials()
    assert not any(poller.wake.is_set() for poller in pollers)
    file.write_text("first-key")
    site.follow_credentials()
    assert all(poller.wake.is_set() for poller in pollers)


async def test_targets_have_phases_of_their_own(tools: Tools) -> None:
    """They are spread, so that an account's requests do not come all at once."""
    phases = {poller.schedule.phase for index in range(3) for poller in built(tools, index).pollers}
    assert len(phases) == 15
