"""Standard output and standard error, for people: without secrets, and never lost in silence."""

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import Final

from exporter.logs import Redactor

NAME: Final = "gpu-cluster-exporter"


class OutputError(Exception):
    """Standard output does not take what is written to it.

    `told` is whether somebody has to hear of it: not where the reader went away by itself.
    """

    def __init__(self, why: str, *, told: bool = True) -> None:
        super().__init__(f"standard output cannot be written: {why}")
        self.told = told


@dataclass(frozen=True, slots=True)
class Console:
    """Where a command says what it found."""

    redactor: Redactor

    def say(self, line: str) -> None:
        """Write a line to standard output."""
        self.write((self.redactor(line) + "\n").encode(errors="replace"))

    def write(self, data: bytes) -> None:
        """Write bytes, as they are, to standard output; raise OutputError where they are lost."""
        if sys.stdout is None:
            raise OutputError("it is closed")
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError as error:
            _give_up()
            raise OutputError("nobody reads it", told=False) from error
        except OSError as error:
            _give_up()
            raise OutputError(error.strerror or str(error)) from error

    def complain(self, line: str) -> None:
        """Write a line to standard error, if that can be written at all."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(self.redactor(line) + "\n")
            sys.stderr.flush()


def _give_up() -> None:
    """Let go of what could not be written: the interpreter would try again as it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
