"""A simulator whose time a test moves, and a client for it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import Client, SetClock


@pytest.fixture
def clock() -> SetClock:
    """Give the clock of simulator and client."""
    return SetClock()


@pytest.fixture
async def simulator(clock: SetClock) -> AsyncIterator[Simulator]:
    """Give a simulator in which nothing happens by chance."""
    async with Simulator(64, seed=7, clock=clock, alive=False) as simulator:
        yield simulator


@pytest.fixture
async def client(simulator: Simulator, clock: SetClock) -> AsyncIterator[Client]:
    """Give a client with valid keys."""
    async with aiohttp.ClientSession() as session:
        # Else a request whose connection breaks is repeated behind the test's back.
        session._retry_connection = False
        yield Client(simulator, clock, session)
