"""What tests share: log, clock, clouds, application; aioresponses at work; missing tools."""

import io
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import aioresponses.core
import pytest
import structlog
from hypothesis import HealthCheck, settings

from exporter import logs
from exporter.app import Application
from exporter.simulator.server import Simulator
from tests.clocks import FakeClock, run_threads_inline

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")


class _Response(aiohttp.ClientResponse):
    """aioresponses does not pass the stream_writer that newer releases of aiohttp want."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - aiohttp's own
        kwargs.setdefault("stream_writer", None)
        super().__init__(*args, **kwargs)


vars(aioresponses.core)["ClientResponse"] = _Response


@pytest.fixture
def redactor() -> logs.Redactor:
    """Give what keeps secrets out of the log."""
    return logs.Redactor()


@pytest.fixture
def log(redactor: logs.Redactor) -> Iterator[io.StringIO]:
    """Give the log, as the daemon writes it."""
    stream = io.StringIO()
    logs.configure("info", "logfmt", redactor, stream)
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
def tool(request: pytest.FixtureRequest) -> str:
    """Return the path of the program that the test's `tool` marker names.

    Where it is missing the test is skipped, or fails in CI, where all tools must be there.
    """
    marker = request.node.get_closest_marker("tool")
    name = marker.args[0]
    path: str | None = shutil.which(name)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"NEEDS {name}")
    return path


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own
    """Say loudly which tests were not run for want of a tool."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "NEEDS" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.section("NOT TESTED, tools are missing", sep="!", red=True)
        for report in skipped:
            terminalreporter.write_line(f"{report.nodeid}: {report.longrepr[2]}")
