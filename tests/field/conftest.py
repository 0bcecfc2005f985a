"""What the tests of the field share: clouds, an exporter and its readers on one clock."""

import io
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from exporter import logs
from exporter.app import Application
from exporter.config import load
from exporter.reload import Reloader
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from tests.clocks import FakeClock, run_threads_inline
from tests.field.rig import Field, serve

ONE_REGION = (Place("e", "kr-west1"),)
TWO_REGIONS = (*ONE_REGION, Place("e", "kr-east1"))
Open = Callable[..., AbstractAsyncContextManager[Field]]


@pytest.fixture(autouse=True)
def _logged(log: io.StringIO) -> None:
    """Keep the log of every test out of the others'."""


@pytest.fixture
def field_of(clock: FakeClock, tmp_path: Path, redactor: logs.Redactor) -> Open:
    """Give what sets a field up: so many nodes, in one region or more, and nothing by chance."""

    @asynccontextmanager
    async def open_field(nodes: int = 8, **options: Any) -> AsyncIterator[Field]:  # noqa: ANN401
        run_threads_inline()
        options = {"seed": 7, "clock": clock.wall, "places": ONE_REGION, **options}
        simulator = Simulator(nodes, speed=0, alive=False, **options)
        environ = dict(simulator.credentials)
        async with (
            simulator,
            Application(environ=environ, clock=clock, redactor=redactor) as app,
            aiohttp.ClientSession(headers={"Connection": "close"}) as session,
        ):
            file = tmp_path / "gpu-cluster-exporter.yml"
            reloader = Reloader(app, lambda: load(file, environ))
            server, runner = await serve(app, reloader)
            yield Field(simulator, app, clock, tmp_path, environ, session, server, runner, reloader)
            await runner.cleanup()

    return open_field


@pytest.fixture
async def field(field_of: Open) -> AsyncIterator[Field]:
    """Give a field of eight nodes in one region."""
    async with field_of() as opened:
        yield opened
