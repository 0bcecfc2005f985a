"""What the tests of the web side share: the log, a clock, simulated clouds, an application."""

import io
from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from exporter import logs
from exporter.app import Application
from exporter.simulator.server import Simulator
from tests.clocks import FakeClock, run_threads_inline


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
