"""What the tests of the web side share: log, clock, simulated clouds, application, server."""

import io
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from exporter import logs
from exporter.app import Application
from exporter.simulator.server import Simulator
from exporter.web import connections
from tests.clocks import FakeClock, run_threads_inline
from tests.simulated import config_text, first_polls, read_config
from tests.web.serving import Served, serving


@pytest.fixture(autouse=True)
def log() -> Iterator[io.StringIO]:
    """Give the log, as the daemon writes it."""
    stream = io.StringIO()
    logs.configure("info", "logfmt", logs.Redactor(), stream)
    yield stream
    structlog.reset_defaults()


@pytest.fixture
def clock() -> FakeClock:
    """Give the time of the exporter and of the clouds."""
    return FakeClock()


@pytest.fixture
async def simulator(clock: FakeClock) -> AsyncIterator[Simulator]:
    """Give simulated clouds in which nothing happens by chance."""
    async with Simulator(16, seed=7, speed=0, alive=False, clock=clock.wall) as simulator:
        yield simulator


@pytest.fixture
async def app(simulator: Simulator, clock: FakeClock) -> AsyncIterator[Application]:
    """Give an application that runs until the end of the test, without a configuration yet."""
    run_threads_inline()
    async with Application(environ=simulator.credentials, clock=clock) as application:
        yield application


@pytest.fixture
async def polled(app: Application, simulator: Simulator, tmp_path: Path) -> Application:
    """Give an application that has polled all its targets."""
    text = config_text(simulator.url)
    await app.apply(read_config(tmp_path, text, simulator.credentials))
    await first_polls(app)
    return app


@pytest.fixture
async def served(app: Application) -> AsyncIterator[Served]:
    """Give a server that anybody may use, whose reload fails."""

    async def reload() -> str:
        return "scp: missing"

    async with serving(app, reload=reload) as served:
        yield served


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the server hang up soon."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.05)
    monkeypatch.setattr(connections, "LINGERING_SECONDS", 0.05)
