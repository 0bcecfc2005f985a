"""The exporter as a process of its own, the way people and supervisors run it."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PATIENCE_SECONDS = 60.0
COMMAND = (sys.executable, "-m", "exporter")


@dataclass(frozen=True)
class Ended:
    """What a process left: its exit code, and what it wrote."""

    code: int
    out: str
    err: str


async def run(
    *argv: str,
    environ: Mapping[str, str] | None = None,
    command: tuple[str, ...] = COMMAND,
    stdout: int | IO[bytes] = asyncio.subprocess.PIPE,
) -> Ended:
    """Run a command to its end."""
    process = await _start((*command, *argv), environ, stdout)
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, (out or b"").decode(), err.decode())


async def _start(
    command: tuple[str, ...], environ: Mapping[str, str] | None, stdout: int | IO[bytes]
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **(environ or {})},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )


@dataclass
class Daemon:
    """A daemon that listens; `lines` is what it has logged so far."""

    process: asyncio.subprocess.Process
    lines: list[str]

    @property
    def url(self) -> str:
        """Where it listens."""
        found = re.search(r"https?://[^ \",]+", self.lines[-1])
        assert found is not None
        return found[0]

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def command_line(self) -> str:
        """Return what everybody on the machine can see of it."""
        return Path(f"/proc/{self.process.pid}/cmdline").read_text()

    async def end(self, *numbers: signal.Signals) -> Ended:
        """Send it these signals, one right behind the other, and wait for its end."""
        for number in numbers:
            self.send(number)
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, err = await self.process.communicate()
        assert self.process.returncode is not None
        return Ended(self.process.returncode, out.decode(), "".join(self.lines) + err.decode())


@asynccontextmanager
async def daemon(*argv: str, environ: Mapping[str, str] | None = None) -> AsyncIterator[Daemon]:
    """Start a daemon on a free port; yields it when it listens, and leaves nothing running."""
    command = (*COMMAND, *argv, "--web.listen-address=127.0.0.1:0")
    process = await _start(command, environ, asyncio.subprocess.PIPE)
    started = Daemon(process, [])
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (started.lines and "listening" in started.lines[-1]):
                assert process.stderr is not None
                line = await process.stderr.readline()
                assert line, started.lines
                started.lines.append(line.decode())
        yield started
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
