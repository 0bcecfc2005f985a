"""Reading the configuration again."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from exporter.app import Application
from exporter.config import Config, ConfigError, load
from exporter.negotiation import TEXT
from exporter.poller import Poller
from exporter.reload import Reloader
from exporter.simulator.server import Simulator
from tests.clocks import FakeClock, run_threads_inline, settle
from tests.simulated import config_text, first_polls, samples, value, write
from tests.tasks import lasting_tasks

SUCCESSFUL = "gpu_cluster_exporter_config_last_reload_successful"


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    """Give an application with nothing to poll."""
    run_threads_inline()
    async with Application(clock=FakeClock()) as application:
        await application.apply(Config())
        yield application


@pytest.fixture
def told() -> Iterator[list[EventDict]]:
    """Give what is logged."""
    with capture_logs() as events:
        yield events


def successful(app: Application) -> float | None:
    """Return what the metric says."""
    return app.telemetry.registry.get_sample_value(SUCCESSFUL)


async def test_a_good_configuration_is_put_in_force(
    app: Application, told: list[EventDict]
) -> None:
    """What was read is what is in force, and the log says so."""
    new = Config()
    assert await Reloader(app, lambda: new).reload() == ""
    assert app.config is new
    assert successful(app) == 1.0
    assert [event["event"] for event in told] == ["configuration reloaded"]


async def test_a_bad_configuration_changes_nothing(app: Application, told: list[EventDict]) -> None:
    """The reason is given back with every fault, and logged without a traceback."""

    def read() -> Config:
        raise ConfigError(["scp[0].regions: unknown", "nsml: missing"])

    before = app.config
    assert await Reloader(app, read).reload() == "scp[0].regions: unknown\nnsml: missing"
    assert app.config is before
    assert successful(app) == 0.0
    [event] = told
    assert event["error"] == "scp[0].regions: unknown\nnsml: missing"
    assert not event["exc_info"]


async def test_the_next_good_one_mends_it(app: Application) -> None:
    """The metric follows the last reload."""
    outcomes = iter([ConfigError(["broken"]), None])

    def read() -> Config:
        error = next(outcomes)
        if error is not None:
            raise error
        return Config()

    reloader = Reloader(app, read)
    await reloader.reload()
    assert successful(app) == 0.0
    await reloader.reload()
    assert successful(app) == 1.0


async def test_a_defect_is_a_failure_even_without_a_text(
    app: Application, told: list[EventDict]
) -> None:
    """It has a name at least, and a traceback in the log."""

    def read() -> Config:
        raise AssertionError

    assert await Reloader(app, read).reload() == "AssertionError"
    assert successful(app) == 0.0
    assert told[0]["exc_info"]


async def test_one_reload_follows_the_other(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once would start the same loops twice."""
    at_once = 0

    async def apply(_: Application, __: Config) -> None:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await settle()
        at_once -= 1

    monkeypatch.setattr(Application, "apply", apply)
    reloader = Reloader(app, Config)
    assert await asyncio.gather(*(reloader.reload() for _ in range(3))) == ["", "", ""]


async def test_a_reload_reads_the_file_when_its_turn_has_come(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that had to wait puts in force what stands there by then, not when it was asked for."""
    standing = [Config(), Config()]
    applied: list[Config] = []

    async def apply(_: Application, config: Config) -> None:
        await settle()
        applied.append(config)

    def read() -> Config:
        return standing[len(applied)]

    monkeypatch.setattr(Application, "apply", apply)
    reloader = Reloader(app, read)
    await asyncio.gather(reloader.reload(), reloader.reload())
    assert [id(config) for config in applied] == [id(config) for config in standing]


async def test_a_request_is_carried_out_in_the_background(app: Application) -> None:
    """As a signal asks for it: nobody waits for the answer."""
    new = Config()
    Reloader(app, lambda: new).request()
    assert app.config is not new
    await settle()
    assert app.config is new


# With clouds to poll


class Fleet:
    """An exporter that polls simulated clouds by a configuration file."""

    def __init__(self, app: Application, simulator: Simulator, file: Path) -> None:
        self.app = app
        self.reloader = Reloader(app, lambda: load(file, simulator.credentials))
        self._url = simulator.url
        self._file = file

    def configure(self, text: str = "", **options: object) -> None:
        """Write the file."""
        made = config_text(self._url, **options)  # type: ignore[arg-type]  # passed on
        write(self._file, text or made)

    @property
    def page(self) -> bytes:
        """What a scraper reads."""
        return self.app.page(TEXT).body

    @property
    def objects(self) -> list[str]:
        """The lines of what the clouds have, in order."""
        return sorted(line for line in samples(self.page) if line.startswith(("scp_", "nsml_")))

    def targets(self, region: str = "") -> dict[str, Poller]:
        """Return the pollers of a region, or all, by the names of their targets."""
        named = {str(poller.collector.target): poller for poller in self.app.pollers}
        return {name: poller for name, poller in named.items() if region in name}

    def polls(self, region: str = "") -> list[float]:
        """Return how often each target of a region was polled."""
        name = "gpu_cluster_exporter_polls_total"
        return [
            value(self.page, name, **poller.collector.target.labels) or 0.0
            for poller in self.targets(region).values()
        ]


def loops() -> dict[str, asyncio.Task[None]]:
    """Return the loops that run, by the names of their targets."""
    return {task.get_name(): task for task in asyncio.all_tasks() if "/" in task.get_name()}


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    """Give an exporter that has polled two regions and NSML once."""
    run_threads_inline()
    clock = FakeClock()
    async with (
        Simulator(16, seed=7, speed=0, alive=False, clock=clock.wall) as simulator,
        Application(environ=simulator.credentials, clock=clock) as application,
    ):
        made = Fleet(application, simulator, tmp_path / "gpu-cluster-exporter.yml")
        made.configure()
        assert await made.reloader.reload() == ""
        await first_polls(application)
        yield made


async def test_what_is_unchanged_keeps_snapshot_loop_and_counters(fleet: Fleet) -> None:
    """While another account is added, taken away, and the whole file is written anew."""
    kept, running, before = fleet.targets(), loops(), fleet.objects
    for options in ({"nsml": False}, {"nsml": True}, {"regions": ["kr-east1", "kr-west1"]}):
        fleet.configure(**options)
        assert await fleet.reloader.reload() == ""
        await first_polls(fleet.app)
    snapshots = {name: poller.snapshot for name, poller in fleet.targets("scp/").items()}
    assert snapshots == {name: kept[name].snapshot for name in snapshots}
    assert {name: task for name, task in loops().items() if name in snapshots} == {
        name: task for name, task in running.items() if name in snapshots
    }
    assert set(fleet.polls("scp/")) == {1.0}
    assert fleet.objects == before


async def test_what_is_new_starts_at_once_and_what_is_gone_takes_its_series(fleet: Fleet) -> None:
    """In one reload, which nobody else notices."""
    fleet.configure(regions=["kr-west1"])
    assert await fleet.reloader.reload() == ""
    assert [line for line in samples(fleet.page) if "kr-east1" in line] == []
    assert not any("kr-east1" in name for name in loops())
    fleet.configure(regions=["kr-east1"])
    assert await fleet.reloader.reload() == ""
    await first_polls(fleet.app)
    assert set(fleet.polls("kr-east1")) == {1.0}
    assert [line for line in fleet.objects if 'region="kr-east1"' in line]
    assert [line for line in samples(fleet.page) if "kr-west1" in line] == []


@pytest.mark.parametrize(
    "break_it",
    [
        lambda fleet: fleet.configure("scp: [\n"),
        lambda fleet: fleet.configure("{}"),
        lambda fleet: fleet.configure(regions=["kr-nowhere1"]),
        lambda fleet: fleet._file.unlink(),
    ],
    ids=["yaml", "empty", "region", "missing"],
)
async def test_a_file_that_is_broken_changes_nothing(
    fleet: Fleet, break_it: Callable[[Fleet], None]
) -> None:
    """Every loop, snapshot and line stays, and the next good file is taken."""
    config, running, before = fleet.app.config, loops(), fleet.objects
    snapshots = list(fleet.app.snapshots)
    break_it(fleet)
    assert await fleet.reloader.reload() != ""
    assert fleet.app.config is config
    assert loops() == running
    assert list(fleet.app.snapshots) == snapshots
    assert fleet.objects == before
    assert successful(fleet.app) == 0.0
    fleet.configure()
    assert await fleet.reloader.reload() == ""
    assert successful(fleet.app) == 1.0
    assert loops() == running


async def test_fifty_at_once_leave_what_one_would(fleet: Fleet) -> None:
    """Asked for in every way, over a file that changes meanwhile; NSML never notices."""
    runs, tasks = loops()["nsml/research/runs"], len(lasting_tasks())
    numbers = itertools.count()
    read = fleet.reloader.read

    def changed() -> Config:
        fleet.configure(polling=f"interval: {30 + next(numbers) % 3}s")
        return read()

    fleet.reloader.read = changed
    for _ in range(10):
        fleet.reloader.request()
    assert set(await asyncio.gather(*(fleet.reloader.reload() for _ in range(40)))) == {""}
    await settle()
    assert next(numbers) == 50
    assert fleet.app.config == read()
    await first_polls(fleet.app)
    assert loops()["nsml/research/runs"] is runs
    assert sorted(loops()) == sorted(fleet.targets())
    assert len(lasting_tasks()) == tasks
    assert not fleet.reloader._running
