"""The way in and the way out: signals, and output that goes nowhere."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from exporter import flags
from exporter.__main__ import _ONE_SHOT
from exporter.cli import main
from exporter.console import Console, OutputError
from exporter.logs import Redactor
from exporter.signals import heeded
from exporter.simulator.faults import Hang, Refuse
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from tests.processes import COMMAND, daemon, run
from tests.simulated import config_text, write

# Runs the command, and sends the process a signal at the n-th thing that the interpreter reports
# of its doings: each file that it opens, each module that it imports and runs, each socket. With
# n = 0 it is sent when the daemon is about to listen, and n is told.
DRIVER = """
import os, signal, sys

number, at = int(sys.argv[1]), int(sys.argv[2])
sys.argv[1:] = sys.argv[3:]
seen = binds = 0

def hook(event, args):
    global seen, binds
    seen += 1
    binds += event == "socket.bind"
    if seen == at or (at == 0 and binds == 2):
        if at == 0:
            binds += 1
            os.write(1, b"%d\\n" % seen)
        os.kill(os.getpid(), number)

from exporter.__main__ import run
sys.addaudithook(hook)
run()
"""
DEMO = ("demo", "--web.listen-address=127.0.0.1:0", "--simulator.nodes=4")
PARTS_OF_THE_START = (0.0, 0.02, 0.1, 0.4, 0.99)


def signalled(number: signal.Signals, at: int, *argv: str) -> "subprocess.CompletedProcess[str]":
    """Run a command that gets a signal at a moment of its start."""
    command = [sys.executable, "-c", DRIVER, str(int(number)), str(at), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the tests' own


@pytest.fixture(scope="module")
def moments() -> int:
    """Return how much the interpreter reports until the demo listens on its second port."""
    ended = signalled(signal.SIGTERM, 0, *DEMO)
    assert ended.returncode == 0
    return int(ended.stdout.partition("\n")[0])


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS_OF_THE_START)
def test_a_daemon_that_is_told_to_stop_while_it_starts_stops(moments: int, part: float) -> None:
    """With exit code 0, in silence, from the first import on to the port that it listens on.

    Only in the interpreter's own start, before any line of the program, a signal does what it
    does by default.
    """
    number = signal.SIGINT if part in {0.02, 0.4} else signal.SIGTERM
    ended = signalled(number, max(round(moments * part), 1), *DEMO)
    assert ended.returncode == 0
    assert [line for line in ended.stderr.splitlines() if not line.startswith("ts=")] == []


@pytest.mark.slow
def test_a_hangup_while_a_daemon_starts_does_not_end_it(moments: int) -> None:
    """It is to reload, and whatever it starts with is new."""
    begun = subprocess.Popen(  # noqa: S603 - the tests' own
        [sys.executable, "-c", DRIVER, str(int(signal.SIGHUP)), str(moments // 2), *DEMO],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert begun.stdout is not None
    printed = [begun.stdout.readline() for _ in range(4)]
    begun.terminate()
    begun.communicate(timeout=60)
    assert printed[-1] == "Stop with Ctrl-C.\n"
    assert begun.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_a_command_that_is_interrupted_did_not_find_out(number: signal.Signals, code: int) -> None:
    """It ends in silence as well, but not with 0: a page that is cut off is no good page."""
    ended = signalled(number, 200, "once", "--config.file=none.yml")
    assert ended.returncode == code
    assert ended.stderr == ""


def test_only_daemons_do_well_to_stop() -> None:
    """The way in knows which commands those are, without reading their flags."""
    assert set(flags.COMMANDS) - _ONE_SHOT == {"serve", "demo", "simulate"}


@pytest.mark.slow
async def test_more_signals_than_one_change_nothing(tmp_path: Path) -> None:
    """Whoever presses Ctrl-C again while it shuts down sees no traceback."""
    async with Simulator(4, alive=False) as simulator:
        simulator.faults.add(Hang())
        file = tmp_path / "gpu-cluster-exporter.yml"
        write(file, config_text(simulator.url))
        argv = ("serve", f"--config.file={file}")
        async with daemon(*argv, environ=simulator.credentials) as started:
            ended = await started.end(signal.SIGTERM, signal.SIGINT, signal.SIGINT, signal.SIGTERM)
    assert ended.code == 0
    assert "Traceback" not in ended.err


async def test_signals_are_handled_as_before_when_nobody_heeds_them_any_more() -> None:
    """A second one, while a daemon shuts down, is not left to the default."""
    before = signal.getsignal(signal.SIGTERM)

    def mine(*_: object) -> None:
        """Stand for whatever was in force."""

    signal.signal(signal.SIGTERM, mine)
    try:
        async with heeded() as signals:
            os.kill(os.getpid(), signal.SIGTERM)
            await signals.stop.wait()
            os.kill(os.getpid(), signal.SIGHUP)  # too late for a reload
            await asyncio.sleep(0)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture
async def simulator() -> AsyncIterator[Simulator]:
    """Give simulated clouds of one region."""
    places = (Place("e", "kr-west1"),)
    async with Simulator(4, seed=3, speed=0, alive=False, places=places) as simulator:
        yield simulator


@pytest.fixture
def once(simulator: Simulator, tmp_path: Path) -> tuple[str, ...]:
    """Give the command that polls everything once, with success."""
    file = tmp_path / "gpu-cluster-exporter.yml"
    write(file, config_text(simulator.url, regions=["kr-west1"]))
    return ("once", f"--config.file={file}")


@pytest.fixture
def good(tmp_path: Path) -> str:
    """Give the flag for a configuration that is good with the KEYS."""
    file = tmp_path / "good.yml"
    write(file, config_text("http://127.0.0.1:9", nsml=False))
    return f"--config.file={file}"


KEYS = {"SCP_ACCESS_KEY": "made-up", "SCP_SECRET_KEY": "made-up"}
PREFIX = "gpu-cluster-exporter: standard output cannot be written: "


@pytest.mark.slow
async def test_a_full_disk_is_told_in_one_line(good: str) -> None:
    """With exit code 1."""
    with open("/dev/full", "wb") as full:  # noqa: ASYNC230, PTH123 - no disk is behind it
        ended = await run("check", good, environ=KEYS, stdout=full)
    assert (ended.code, ended.err) == (1, PREFIX + "No space left on device\n")


@pytest.mark.slow
async def test_a_reader_that_went_away_is_no_news(
    simulator: Simulator, once: tuple[str, ...]
) -> None:
    """The command ends with exit code 1, and without a word, as others do."""
    reading, writing = os.pipe()
    os.close(reading)
    ended = await run(*once, environ=simulator.credentials, stdout=writing)
    os.close(writing)
    assert (ended.code, ended.err) == (1, "")


@pytest.mark.slow
async def test_a_closed_output_is_told_in_one_line(good: str) -> None:
    """Nothing that is opened later takes its place."""
    shell = ("/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND)
    ended = await run("check", good, environ=KEYS, command=shell)
    assert (ended.code, ended.err) == (1, PREFIX + "it is closed\n")


@pytest.mark.slow
async def test_a_closed_standard_error_is_missed_by_nobody(
    simulator: Simulator, once: tuple[str, ...]
) -> None:
    """What would stand there is in no other place: the page stays a page."""
    simulator.faults.add(Refuse())
    shell = ("/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *COMMAND)
    ended = await run(*once, environ=simulator.credentials, command=shell)
    assert ended.code == 2
    assert ended.out.startswith("# HELP ")
    assert "access_key" not in ended.out


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["check", "--help"]])
def test_help_that_is_lost_is_told_too(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As every other output."""
    with open("/dev/full", "w") as full:  # noqa: PTH123 - no disk is behind it
        monkeypatch.setattr(sys, "stdout", full)
        assert main(argv) == 1
    assert capsys.readouterr().err == PREFIX + "No space left on device\n"


def test_what_is_said_has_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """On neither of the two."""
    redactor = Redactor()
    redactor.add("made-up-secret")
    console = Console(redactor)
    console.say("a made-up-secret and \ud800")
    console.complain("another made-up-secret")
    assert capsys.readouterr() == ("a <secret> and ?\n", "another <secret>\n")


def test_output_that_is_closed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter has no standard output then."""
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match="it is closed"):
        Console(Redactor()).say("x")


def test_a_thread_that_never_ends_does_not_keep_the_process() -> None:
    """What reads an endless answer is left behind, and the exit code is the command's."""
    program = (
        "import sys, threading, exporter.cli as cli\n"
        "from exporter.__main__ import run\n"
        "def main():\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    return 3\n"
        "cli.main = main\n"
        "run()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)  # noqa: S603 - the tests' own
    assert ended.returncode == 3


def test_a_healthcheck_loads_next_to_nothing() -> None:
    """A supervisor runs it every few seconds: neither the server nor the clouds are imported."""
    program = (
        "import atexit, sys\n"
        "from exporter.__main__ import run\n"
        "dear = {'aiohttp', 'pydantic', 'structlog'}\n"
        "atexit.register(lambda: print(sorted(dear & {*sys.modules})))\n"
        "sys.argv[1:] = ['healthcheck', '--url=http://127.0.0.1:1']\n"
        "run()\n"
    )
    ended = subprocess.run(  # noqa: S603 - the tests' own
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("http://127.0.0.1:1: ")
    assert ended.stdout == "[]\n"
