"""The tasks of a test's event loop."""

import asyncio
from typing import Any

_OF_CONNECTIONS = "web_protocol.py"  # where they run, or who waits for them


def lasting_tasks() -> set[asyncio.Task[Any]]:
    """Return all tasks but those of aiohttp's servers, which come and go with connections."""
    return {task for task in asyncio.all_tasks() if _OF_CONNECTIONS not in repr(task)}
