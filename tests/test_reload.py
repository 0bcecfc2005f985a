"""Reading the configuration again."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from exporter.app import Application
from exporter.config import Config, ConfigError
from exporter.reload import Reloader
from tests.clocks import FakeClock, run_threads_inline, settle

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


async def test_a_request_is_carried_out_in_the_background(app: Application) -> None:
    """As a signal asks for it: nobody waits for the answer."""
    new = Config()
    Reloader(app, lambda: new).request()
    assert app.config is not new
    await settle()
    assert app.config is new
