"""The signals that a daemon heeds while its event loop runs."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Signals:
    """What was ordered: `stop` is set by SIGTERM and SIGINT, `on_hangup` is called on SIGHUP."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    on_hangup: Callable[[], None] = lambda: None

    def hang_up(self) -> None:
        """Reload where there is something to reload; a hangup never ends a command."""
        if not self.stop.is_set():
            self.on_hangup()


@asynccontextmanager
async def heeded() -> AsyncIterator[Signals]:
    """Heed signals for as long as the context lasts; then what was in force before is again."""
    signals, loop = Signals(), asyncio.get_running_loop()
    handlers = {
        signal.SIGTERM: signals.stop.set,
        signal.SIGINT: signals.stop.set,
        signal.SIGHUP: signals.hang_up,
    }
    before = {number: signal.getsignal(number) for number in handlers}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield signals
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])
