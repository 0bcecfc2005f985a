"""What the tests of the clouds share: one session, as the exporter opens it."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from exporter.clouds.http import close_session, open_session
from tests.clouds.calls import SteppedClock


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    """Give the session that all clients share."""
    opened = open_session()
    yield opened
    await close_session(opened)


@pytest.fixture
def clock() -> SteppedClock:
    """Give a clock that only its own sleeps move."""
    return SteppedClock()
