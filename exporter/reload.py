"""Reads the configuration again while the daemon runs."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from exporter import logs
from exporter.app import Application
from exporter.config import Config, ConfigError

_log = logs.get("reload")


@dataclass(slots=True)
class Reloader:
    """Put a configuration in force that was read anew; one reload at a time.

    A configuration that can't be read, or not be put in force, changes nothing.
    """

    application: Application
    read: Callable[[], Config]
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: set[asyncio.Task[str]] = field(default_factory=set)

    async def reload(self) -> str:
        """Reload; return what is wrong, or the empty text."""
        async with self._lock:
            try:
                await self.application.apply(await asyncio.to_thread(self.read))
            except Exception as error:  # noqa: BLE001 - whatever it is, the old one runs on
                self.application.telemetry["config_last_reload_successful"].set(0)
                return _tell(error)
            _log.info("configuration reloaded")
            return ""

    def request(self) -> None:
        """Reload in the background: what SIGHUP asks for."""
        task = asyncio.create_task(self.reload())
        self._running.add(task)
        task.add_done_callback(self._running.discard)


def _tell(error: Exception) -> str:
    """Log why a reload failed, with a traceback where it should not have, and return it."""
    why = str(error) or type(error).__name__
    expected = isinstance(error, ConfigError | OSError)
    _log.error("reload failed, the old configuration runs on", error=why, exc_info=not expected)
    return why
