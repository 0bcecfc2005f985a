"""What the tests of the web side share: an application that has polled, and a server."""

import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from exporter.app import Application
from exporter.simulator.server import Simulator
from exporter.web import connections
from tests.simulated import config_text, first_polls, read_config
from tests.web.serving import Served, serving


@pytest.fixture(autouse=True)
def _logged(log: io.StringIO) -> None:
    """Keep the log of every test out of the others'."""


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
