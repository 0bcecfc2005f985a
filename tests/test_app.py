"""The daemon without its web server, on simulated clouds."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from exporter.app import Application
from exporter.clouds.proxies import environment_proxy
from exporter.config import Config, HttpClient
from exporter.negotiation import TEXT
from exporter.poller import Poller
from exporter.simulator.faults import Hang, RateLimit, Refuse, Status
from exporter.simulator.server import Simulator
from tests.clocks import FakeClock, settle
from tests.simulated import config_text, first_polls, read_config, samples, until, value, values

REGIONS = ("kr-west1", "kr-east1")
Configure = Callable[..., Config]

pytestmark = pytest.mark.usefixtures("log")


@pytest.fixture
def configure(simulator: Simulator, tmp_path: Path) -> Configure:
    """Give what makes a configuration that points at the simulator."""

    def make(**options: object) -> Config:
        text = config_text(simulator.url, **options)  # type: ignore[arg-type]  # passed on
        return read_config(tmp_path, text, simulator.credentials)

    return make


def of_region(page: bytes, region: str) -> list[str]:
    """Return the samples of a region."""
    return [line for line in samples(page) if f'region="{region}"' in line]


def running(page: bytes, **labels: str) -> float | None:
    """Return how many GPU nodes run, or None where the page does not say."""
    found = values(page, "scp_gpu_nodes", state="RUNNING", **labels)
    return sum(found) if found else None


def requests_to(simulator: Simulator, region: str) -> int:
    """Count the requests that came for a region."""
    return sum(request.region == region for request in simulator.requests)


def loops(app: Application) -> dict[str, asyncio.Task[None]]:
    """Return the running poll loops by their targets."""
    names = {str(poller.collector.target) for poller in app.pollers}
    return {task.get_name(): task for task in asyncio.all_tasks() if task.get_name() in names}


def find(app: Application, collector: str, region: str) -> Poller:
    """Return the poller of a target."""
    return next(
        poller
        for poller in app.pollers
        if (poller.collector.target.collector, poller.collector.target.region)
        == (collector, region)
    )


async def test_a_page_before_any_configuration_is_not_empty(app: Application) -> None:
    """The exporter's own metrics are there from the first moment."""
    assert value(app.page(TEXT).body, "gpu_cluster_exporter_build_info") == 1.0
    assert not app.ready
    assert app.late() == []


async def test_every_target_is_polled_at_once(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """Without time passing, all targets of both clouds have been polled, and succeeded."""
    await app.apply(configure())
    assert not app.ready
    await first_polls(app)
    assert app.ready
    page = app.page(TEXT).body
    ups = [line for line in samples(page) if line.startswith("gpu_cluster_exporter_target_up{")]
    assert len(ups) == 2 * 6 + 3
    assert all(line.endswith(" 1.0") for line in ups)
    nodes = [line for line in samples(page) if line.startswith("scp_gpu_node_info{")]
    places = [place for place in simulator.truth().scp if place.environment == "e"]
    assert len(nodes) == sum(len(place.gpu_nodes) for place in places)


async def test_a_region_that_hangs_delays_no_other(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """The others' values are there while it still waits; nothing is ready until it gave up."""
    simulator.faults.add(Hang(region="kr-east1"))
    await app.apply(configure())
    async with asyncio.timeout(5):
        for poller in app.pollers:
            if poller.collector.target.region != "kr-east1":
                await poller.attempted.wait()
    page = app.page(TEXT).body
    assert not app.ready
    assert value(page, "gpu_cluster_exporter_target_objects", region="kr-west1", **NODES)
    assert value(page, "gpu_cluster_exporter_target_up", region="kr-east1", **NODES) == 0.0
    assert value(page, "gpu_cluster_exporter_polls_total", region="kr-east1", **NODES) == 0.0


NODES = {"collector": "gpu_nodes"}


async def test_all_targets_share_one_session(app: Application, configure: Configure) -> None:
    """One pool of connections serves all clouds, and an account's region has one budget."""
    await app.apply(configure())
    assert len({id(poller.client.session) for poller in app.pollers}) == 1
    assert len({id(poller.client.budget) for poller in app.pollers}) == 3


async def test_an_equal_configuration_changes_nothing(
    app: Application, configure: Configure
) -> None:
    """The same loops run on, with the same snapshots and counters, and nothing is polled."""
    await app.apply(configure())
    await first_polls(app)
    pollers, tasks = list(app.pollers), loops(app)
    await app.apply(configure())
    await settle()
    assert all(new is old for new, old in zip(app.pollers, pollers, strict=True))
    assert loops(app) == tasks
    assert len(tasks) == 15
    page = app.page(TEXT).body
    assert value(page, "gpu_cluster_exporter_polls_total", region="kr-west1", **NODES) == 1.0


async def test_a_region_that_is_gone_takes_all_its_series_along(
    app: Application, configure: Configure
) -> None:
    """No family keeps any, and its loops end; the other region's loops are the same."""
    await app.apply(configure())
    await first_polls(app)
    kept, tasks = find(app, "gpu_nodes", "kr-west1"), loops(app)
    assert of_region(app.page(TEXT).body, "kr-east1")
    await app.apply(configure(regions=["kr-west1"]))
    assert of_region(app.page(TEXT).body, "kr-east1") == []
    assert of_region(app.page(TEXT).body, "kr-west1")
    assert find(app, "gpu_nodes", "kr-west1") is kept
    assert sorted(loops(app)) == sorted(name for name in tasks if "kr-east1" not in name)
    assert all(task.done() == ("kr-east1" in name) for name, task in tasks.items())


async def test_a_cloud_that_is_gone_takes_all_its_series_along(
    app: Application, configure: Configure
) -> None:
    """The duration of its polls too, which has no label of an account."""
    await app.apply(configure())
    await first_polls(app)
    await app.apply(configure(nsml=False))
    page = app.page(TEXT).body
    assert [line for line in samples(page) if "nsml" in line] == []
    assert [line for line in samples(page) if 'provider="scp",' in line or "scp_gpu" in line]


async def test_a_collector_that_is_gone_takes_its_series_along(
    app: Application, configure: Configure, tmp_path: Path, simulator: Simulator
) -> None:
    """Those of the account's other collectors stay, with their values."""
    await app.apply(configure())
    await first_polls(app)
    fewer = config_text(simulator.url) + "    collectors: [projects, runs]\n"
    await app.apply(read_config(tmp_path, fewer, simulator.credentials))
    page = app.page(TEXT).body
    assert [line for line in samples(page) if 'collector="run_nodes"' in line] == []
    assert [line for line in samples(page) if line.startswith("nsml_run_node_state{")] == []
    assert value(page, "gpu_cluster_exporter_polls_total", collector="runs") == 1.0


async def test_what_is_new_is_polled_at_once(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """A region that is added does not wait for its phase."""
    await app.apply(configure(regions=["kr-west1"]))
    await first_polls(app)
    before = requests_to(simulator, "kr-west1")
    await app.apply(configure())
    await first_polls(app)
    assert running(app.page(TEXT).body, region="kr-east1")
    assert requests_to(simulator, "kr-west1") == before


async def test_a_changed_account_keeps_what_it_saw(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """Other loops with other intervals show the old values until they have new ones."""
    await app.apply(configure())
    await first_polls(app)
    old = find(app, "gpu_nodes", "kr-west1")
    simulator.faults.add(Hang(cloud="scp"))
    await app.apply(configure(polling="interval: 2m, stale_after: 7m"))
    new = find(app, "gpu_nodes", "kr-west1")
    assert new is not old
    assert new.snapshot.health.up
    assert new.snapshot.stale_after == 420.0
    page = app.page(TEXT).body
    assert running(page, region="kr-west1")
    assert value(page, "gpu_cluster_exporter_polls_total", region="kr-west1", **NODES) == 1.0
    assert value(page, "gpu_cluster_exporter_target_interval_seconds", region="kr-west1", **NODES)


async def test_what_another_endpoint_said_is_not_shown(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """An account that points elsewhere shows nothing until that place was asked."""
    await app.apply(configure(nsml=False))
    await first_polls(app)
    simulator.faults.add(Hang(cloud="scp"))
    config = configure(nsml=False)
    elsewhere = config.scp[0].endpoint.replace("127.0.0.1", "localhost")
    moved = config.scp[0].model_copy(update={"endpoint": elsewhere})
    await app.apply(config.model_copy(update={"scp": (moved,)}))
    page = app.page(TEXT).body
    assert running(page) is None
    assert value(page, "gpu_cluster_exporter_target_up", region="kr-west1", **NODES) == 0.0
    assert app.ready


async def test_another_way_to_write_states_starts_afresh(
    app: Application, configure: Configure
) -> None:
    """Lines that are written otherwise are not mixed with those of before."""
    await app.apply(configure())
    await first_polls(app)
    config = configure()
    metrics = config.metrics.model_copy(update={"state_series": "current"})
    await app.apply(config.model_copy(update={"metrics": metrics}))
    await first_polls(app)
    lines = [line for line in samples(app.page(TEXT).body) if "scp_gpu_node_state{" in line]
    assert lines
    assert all(line.endswith(" 1.0") for line in lines)


async def test_a_ca_file_that_is_bad_changes_nothing(
    app: Application, configure: Configure, tmp_path: Path
) -> None:
    """The old configuration runs on, with its session and its loops."""
    await app.apply(configure())
    await first_polls(app)
    tasks, session = loops(app), next(app.pollers).client.session
    (tmp_path / "ca.pem").write_text("no certificate")
    bad = HttpClient.model_construct(ca_file=tmp_path / "ca.pem")
    with pytest.raises(OSError, match=r"PEM|certificate|crl"):
        await app.apply(configure(regions=["kr-west1"]).model_copy(update={"http_client": bad}))
    assert loops(app) == tasks
    assert next(app.pollers).client.session is session
    assert not session.closed
    assert of_region(app.page(TEXT).body, "kr-east1")
    assert app.config == configure()


async def test_another_way_to_the_clouds_is_taken_by_all(
    app: Application, configure: Configure
) -> None:
    """Every loop starts anew on a new session, and the old one is closed."""
    await app.apply(configure())
    await first_polls(app)
    old = next(app.pollers).client.session
    config = configure()
    options = HttpClient(proxy_from_environment=True)
    await app.apply(config.model_copy(update={"http_client": options}))
    assert old.closed
    assert {poller.client.proxy for poller in app.pollers} == {environment_proxy}
    assert running(app.page(TEXT).body, region="kr-east1")


async def test_fifty_reloads_leave_nothing_behind(app: Application, configure: Configure) -> None:
    """Neither tasks nor series; counters of what stays keep their values."""
    await app.apply(configure())
    await first_polls(app)
    names = sorted(task.get_name() for task in asyncio.all_tasks())
    lines = len(samples(app.page(TEXT, process=False).body))
    for number in range(50):
        await app.apply(configure(regions=REGIONS[: 1 + number % 2]))
    await first_polls(app)
    await settle()
    assert len(asyncio.all_tasks()) == len(names)
    assert len(samples(app.page(TEXT, process=False).body)) == lines
    page = app.page(TEXT).body
    assert value(page, "gpu_cluster_exporter_polls_total", region="kr-west1", **NODES) == 1.0


async def test_a_reload_does_not_undo_readiness(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """Once ready, ready for good, whether or not anybody asked in between."""
    await app.apply(configure(regions=["kr-west1"]))
    await first_polls(app)
    simulator.faults.add(Hang(region="kr-east1"))
    await app.apply(configure())
    assert app.ready


async def test_a_wait_that_the_server_asked_for_outlasts_a_reload(
    app: Application, configure: Configure, simulator: Simulator, clock: FakeClock
) -> None:
    """An account whose configuration changed is still not to be polled before."""
    simulator.faults.add(RateLimit(region="kr-west1", path="/v1/gpu-nodes", seconds=300))
    await app.apply(configure(nsml=False))
    await first_polls(app)
    asked = [request for request in simulator.requests if request.path == "/v1/gpu-nodes"]
    assert sum(request.region == "kr-west1" for request in asked) == 1
    simulator.faults.clear()
    await app.apply(configure(nsml=False, polling="interval: 20s"))
    limited = find(app, "gpu_nodes", "kr-west1")
    await clock.advance(299)
    await settle()
    assert not limited.attempted.is_set()
    await clock.advance(2)
    async with asyncio.timeout(5):
        await limited.attempted.wait()
    assert limited.snapshot.health.up


async def test_refused_credentials_are_tried_once_an_interval(
    app: Application, configure: Configure, simulator: Simulator, clock: FakeClock
) -> None:
    """Nothing else makes for another attempt as long as they are the same."""
    simulator.faults.add(Refuse(region="kr-west1"))
    config = configure(regions=["kr-west1"], nsml=False)
    await app.apply(config)
    await first_polls(app)
    first = requests_to(simulator, "kr-west1")
    nodes = find(app, "gpu_nodes", "kr-west1")
    for _ in range(100):
        await clock.advance(0.1)
    assert requests_to(simulator, "kr-west1") - first <= 5  # a phase may fall into it
    await clock.advance(20)
    async with asyncio.timeout(5):
        while nodes.snapshot.health.consecutive_failures < 2:
            nodes.attempted.clear()
            await nodes.attempted.wait()
    assert nodes.snapshot.health.consecutive_failures == 2


async def test_credentials_are_followed_on_disk(
    app: Application, simulator: Simulator, clock: FakeClock, tmp_path: Path
) -> None:
    """A key that is replaced ends the back-off of what it was refused for, within seconds."""
    keys = {name: tmp_path / name.lower() for name in ("SCP_ACCESS_KEY", "SCP_SECRET_KEY")}
    for file in keys.values():
        file.write_text("an-old-key-of-long-ago\n")
    text = config_text(simulator.url, regions=["kr-west1"], nsml=False)
    for name, file in keys.items():
        key = name.removeprefix("SCP_").lower()
        text = text.replace(f"{key}_env: {name}", f"{key}_file: {file}")
    await app.apply(read_config(tmp_path, text, {}))
    await first_polls(app)
    nodes = find(app, "gpu_nodes", "kr-west1")
    assert nodes.snapshot.health.error_reason == "auth"
    for name, file in keys.items():
        other = tmp_path / "new"
        other.write_text(simulator.credentials[name] + "\n")
        other.replace(file)
    nodes.attempted.clear()
    await clock.advance(2)
    async with asyncio.timeout(5):
        await nodes.attempted.wait()
    assert nodes.snapshot.health.up
    assert simulator.credentials["SCP_SECRET_KEY"] not in app.redactor(
        f"key={simulator.credentials['SCP_SECRET_KEY']}"
    )


async def test_a_secret_that_is_gone_from_disk_ends_nothing(
    app: Application, simulator: Simulator, clock: FakeClock, tmp_path: Path
) -> None:
    """The last good value stays in force, and the others are still followed."""
    file = tmp_path / "key"
    file.write_text(simulator.credentials["SCP_SECRET_KEY"])
    text = config_text(simulator.url, nsml=False)
    text = text.replace("secret_key_env: SCP_SECRET_KEY", f"secret_key_file: {file}")
    config = read_config(tmp_path, text, simulator.credentials)
    file.unlink()
    await app.apply(config)
    await first_polls(app)
    await clock.advance(10)
    file.write_text(simulator.credentials["SCP_SECRET_KEY"])
    await clock.advance(30)
    await polled_up(app, "gpu_nodes")


async def polled_up(app: Application, collector: str) -> None:
    """Wait until the targets of a collector are up."""
    for region in REGIONS:
        one = find(app, collector, region)
        async with asyncio.timeout(5):
            while not one.snapshot.health.up:
                one.attempted.clear()
                await one.attempted.wait()


async def test_values_outlive_an_outage_and_come_back(
    app: Application, configure: Configure, simulator: Simulator, clock: FakeClock
) -> None:
    """Kept as long as stale_after says, then gone but for the health; back without a restart."""
    await app.apply(configure(regions=["kr-west1"], nsml=False, polling="stale_after: 5m"))
    await first_polls(app)
    before = running(app.page(TEXT).body)
    assert before
    simulator.faults.add(Status(status=404))
    await clock.advance(290)
    assert running(app.page(TEXT).body) == before
    await clock.advance(20)
    await settle()
    page = app.page(TEXT).body
    assert running(page) is None
    assert value(page, "gpu_cluster_exporter_target_up", **NODES) == 0.0
    simulator.faults.clear()
    await clock.advance(200)
    async with asyncio.timeout(5):
        nodes = find(app, "gpu_nodes", "kr-west1")
        while not nodes.snapshot.health.up:
            nodes.attempted.clear()
            await nodes.attempted.wait()
    assert running(app.page(TEXT).body) == before


async def test_leaving_ends_everything_during_a_hanging_poll(
    simulator: Simulator, configure: Configure, clock: FakeClock
) -> None:
    """Within two seconds there is neither a task nor an open session left."""
    simulator.faults.add(Hang())
    before = asyncio.all_tasks()
    async with Application(environ=simulator.credentials, clock=clock) as app:
        await app.apply(configure())
        await until(lambda: len(simulator.requests) >= 10)
        session = next(app.pollers).client.session
        mine = asyncio.all_tasks() - before
        began = time.monotonic()
    assert time.monotonic() - began < 2
    assert session.closed
    ours = {task for task in mine if task.get_name() in {*loops(app), *KEEPERS}}
    assert len(ours) >= 2
    assert all(task.done() for task in ours)


KEEPERS = {"_watch_credentials", "_measure_lag"}


async def test_one_round_without_loops(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """Every target is polled once, and whether all succeeded is the answer."""
    await app.apply(configure(), loops=False)
    assert await app.poll_once()
    assert loops(app) == {}
    simulator.faults.add(Status(status=404, path="/v1/gpu-nodes/products"))
    assert not await app.poll_once()
    page = app.page(TEXT, process=False).body
    assert value(page, "gpu_cluster_exporter_polls_total", region="kr-west1", **NODES) == 2.0
    assert b"process_" not in page
    assert b"python_info" not in page


async def test_the_day_on_which_credentials_expire_is_shown(
    app: Application, configure: Configure, tmp_path: Path, simulator: Simulator
) -> None:
    """It is the end of the last day, in UTC; without one there is no series."""
    name = "gpu_cluster_exporter_credentials_expire_timestamp_seconds"
    text = config_text(simulator.url) + "    credentials_expire: 2027-01-31\n"
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    end_of_january = 1_801_440_000.0
    assert value(app.page(TEXT).body, name, account="research") == end_of_january
    assert value(app.page(TEXT).body, name, account="prod") is None
    await app.apply(configure())
    assert value(app.page(TEXT).body, name) is None


async def test_a_configuration_in_force_is_told(
    app: Application, configure: Configure, clock: FakeClock
) -> None:
    """The time is that of the last one that was put in force."""
    await app.apply(configure())
    await clock.advance(50)
    await app.apply(configure())
    page = app.page(TEXT).body
    name = "gpu_cluster_exporter_config_last_reload_success"
    assert value(page, f"{name}ful") == 1.0
    assert value(page, f"{name}_timestamp_seconds") == clock.wall()


async def test_a_loop_that_was_held_up_shows_in_the_lag(app: Application, clock: FakeClock) -> None:
    """The lag is how much later than asked for a sleeping task is woken."""
    await settle()
    clock.jump(3)
    await clock.advance(1)
    page = app.page(TEXT).body
    assert value(page, "gpu_cluster_exporter_event_loop_lag_seconds_sum") == pytest.approx(2.5)


async def test_a_page_that_was_served_tells_its_size_on_the_next(app: Application) -> None:
    """The size is that before compression."""
    page = app.page(TEXT)
    app.note_served(page)
    following = app.page(TEXT).body
    assert value(following, "gpu_cluster_exporter_exposition_samples") == page.samples
    assert value(following, "gpu_cluster_exporter_exposition_bytes") == len(page.body)


async def test_secrets_are_known_to_the_log_before_the_first_request(
    app: Application, configure: Configure, simulator: Simulator
) -> None:
    """Whatever goes wrong first, its line can't show any."""
    await app.apply(configure(), loops=False)
    for secret in simulator.credentials.values():
        assert app.redactor(f"error: {secret}") == "error: <secret>"


async def test_the_environment_is_that_of_the_process(clock: FakeClock) -> None:
    """Where no other is handed in."""
    async with Application(clock=clock) as app:
        assert app.environ is os.environ
        with contextlib.suppress(KeyError):
            assert app.environ["HOME"] == os.environ["HOME"]
