"""The exporter with a probe in its event loop: `python -m benchmarks.probed CONFIG`.

It is put together as `serve` does it, but polls without a pause, so that every tick of the
probe falls into a poll. When it is stopped, the last line that it writes is a JSON list:
for each poll how late the loop was, in seconds, at each tick.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from exporter import logs
from exporter.app import Application
from exporter.cli import settle_interpreter
from exporter.config import load
from exporter.web.listening import listen
from exporter.web.server import Options, Server

_TICK_SECONDS = 0.002


class Probe:
    """Ticks at fixed moments; those that a held loop missed count as late as they were."""

    def __init__(self) -> None:
        self.lags: list[float] = []

    async def run(self) -> None:
        """Tick until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time() + _TICK_SECONDS
        while True:
            await asyncio.sleep(due - loop.time())
            now = loop.time()
            while due <= now:
                self.lags.append(now - due)
                due += _TICK_SECONDS


async def _serve(path: Path) -> None:
    stop, probe, polls = asyncio.Event(), Probe(), []
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with Application() as application:
        options = Options(["127.0.0.1:0"])
        runner = await listen(Server(application, options).web_application(), options.addresses)
        settle_interpreter()
        await application.apply(load(path, os.environ), loops=False)
        await application.poll_once()
        ticking = asyncio.create_task(probe.run())
        while not stop.is_set():
            if not await application.poll_once():
                raise RuntimeError("a poll failed")
            lags, probe.lags = probe.lags, []
            polls.append(lags)
        ticking.cancel()
        await runner.cleanup()
    sys.stdout.write("\n" + json.dumps(polls) + "\n")


if __name__ == "__main__":
    logs.configure("warn", "logfmt", logs.Redactor())
    asyncio.run(_serve(Path(sys.argv[1])))
