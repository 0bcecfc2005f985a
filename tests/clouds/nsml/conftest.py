"""A cloud without any lists, and what asks it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.clouds.api import Asking, Cloud
from tests.clouds.calls import SteppedClock
from tests.clouds.loopback import Loopback, loopback


@pytest.fixture
async def cloud() -> AsyncIterator[tuple[Cloud, Loopback]]:
    """Give a cloud without any lists."""
    answers = Cloud()
    async with loopback(answers) as server:
        yield answers, server


@pytest.fixture
def asking(
    session: aiohttp.ClientSession, cloud: tuple[Cloud, Loopback], clock: SteppedClock
) -> Asking:
    """Give what polls collectors at that cloud."""
    return Asking(session, cloud[1].url, clock)
