"""Processes on loopback: started on a free port, looked at through /proc, ended by their id."""

import contextlib
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

START_SECONDS = 120.0
_STOP_SECONDS = 60.0
_PAUSE_SECONDS = 0.02
_LISTENING = "0A"


class DidNotStartError(Exception):
    """A process that ended, or did not listen in time; with the end of what it wrote."""


@contextlib.contextmanager
def running(
    command: Sequence[str], env: Mapping[str, str] | None = None, directory: Path | None = None
) -> Iterator["Running"]:
    """Run a program that listens on a port of its own choice, until the block ends."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(  # noqa: S603 - the caller's own command
            command, env=env, cwd=directory, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield Running(process, output)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Running:
    """A process that runs."""

    def __init__(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self._process = process
        self._output = output
        self._port = 0

    @property
    def port(self) -> int:
        """The port that the process listens on, from when it does; raises DidNotStartError."""
        deadline = time.monotonic() + START_SECONDS
        while not self._port:
            self._port = _port_of(self._process.pid)
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise DidNotStartError(self.output()[-2000:])
            if not self._port:
                time.sleep(_PAUSE_SECONDS)
        return self._port

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> None:
        """Return once `/-/ready` is answered with 200; raises DidNotStartError.

        A Prometheus that listens answers 503 to all questions until it has read its data.
        """
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"{self.url}/-/ready"):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise DidNotStartError(self.output()[-2000:])
            time.sleep(_PAUSE_SECONDS)

    def output(self) -> str:
        """Return what the process has written so far."""
        self._output.seek(0)
        return self._output.read().decode("utf-8", "replace")

    def stop(self) -> str:
        """End the process in an orderly way, and return what it wrote."""
        self._process.terminate()
        self._process.wait(_STOP_SECONDS)
        return self.output()

    def memory(self, kind: str = "VmRSS") -> int:
        """Return the bytes of a kind that /proc tells of: VmRSS is now, VmHWM the most ever."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines())
        return int(lines[kind].split()[0]) * 1024


def _answers(url: str) -> bool:
    """Return whether there is a good answer at an address on loopback."""
    try:
        with urllib.request.urlopen(url, timeout=START_SECONDS):  # noqa: S310 - its scheme is ours
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False


def _port_of(process_id: int) -> int:
    """Return the first IPv4 port that a process listens on, or 0."""
    try:
        table = Path(f"/proc/{process_id}/net/tcp").read_text().splitlines()[1:]
        descriptors = {str(each.readlink()) for each in Path(f"/proc/{process_id}/fd").iterdir()}
    except OSError:  # it has ended, or closed what was just listed
        return 0
    for fields in map(str.split, table):
        address, state, inode = fields[1], fields[3], fields[9]
        if state == _LISTENING and f"socket:[{inode}]" in descriptors:
            return int(address.rpartition(":")[2], 16)
    return 0
