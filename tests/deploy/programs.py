"""Programs beside pytest, run to their end."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

BIN = Path(sys.executable).parent
"""Where the tests' own Python has its programs."""


def outcome(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
) -> subprocess.CompletedProcess[str]:
    """Run a program and return how it ended, and what it wrote."""
    return subprocess.run(  # noqa: S603 - the tests' own commands
        [str(word) for word in command],
        env=env,
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
) -> str:
    """Run a program that has to end well; return what it wrote."""
    done = outcome(*command, env=env, cwd=cwd, stdin=stdin)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
