"""The commands, and the exit codes that they end with."""

import argparse
import asyncio
import contextlib
import gc
import io
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, TypeAlias

from exporter import __version__, bundle, flags, logs
from exporter.app import Application
from exporter.config import Config, ConfigError, load
from exporter.console import NAME, Console, OutputError
from exporter.demo import demo_config
from exporter.healthcheck import Question, ask
from exporter.negotiation import TEXT
from exporter.probe import explanation, explanations, probe, table
from exporter.reload import Reloader
from exporter.signals import heeded
from exporter.simulator.server import Simulator
from exporter.threads import Threads
from exporter.web import access
from exporter.web.listening import ListenError, listen, listen_error, split_address
from exporter.web.server import Options, Server

GOOD, BAD_CONFIG, FAILED, INTERRUPTED = 0, 1, 2, 130

Command: TypeAlias = Callable[[argparse.Namespace, Console], Awaitable[int]]

_log = logs.get("cli")


class CommandError(Exception):
    """What ends a command with exit code 1 and one line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    console = Console(logs.Redactor())
    try:
        arguments = _parse(sys.argv[1:] if argv is None else argv, console)
        logs.configure(arguments.log_level, arguments.log_format, console.redactor)
        return asyncio.run(run(arguments, console))
    except (CommandError, ListenError, OutputError) as error:
        if not isinstance(error, OutputError) or error.told:
            console.complain(f"{NAME}: {error}")
        return BAD_CONFIG
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:  # noqa: BLE001 - what Python itself would print of it may hold a secret
        _log.exception("ended by a defect; please report it")
        return BAD_CONFIG


async def run(arguments: argparse.Namespace, console: Console) -> int:
    """Run one command and return its exit code; raises what `main` tells people of."""
    asyncio.get_running_loop().set_default_executor(Threads())
    return await COMMANDS[arguments.command](arguments, console)


def _parse(argv: Sequence[str], console: Console) -> argparse.Namespace:
    """Read the flags; help and version go out like any other output."""
    try:
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            return flags.parse(argv)
    except SystemExit:
        if text := shown.getvalue():
            console.write(text.encode())
        raise


def settle_interpreter() -> None:
    """Keep collections short and seldom, and give the event loop its turn while threads work.

    A collection stops the whole process: what the imports made is left out of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.001)


async def _serve(arguments: argparse.Namespace, console: Console) -> int:
    config = _load(arguments)
    async with heeded() as signals, Application(redactor=console.redactor) as application:
        reloader = Reloader(application, lambda: load(arguments.config_file, os.environ))
        signals.on_hangup = reloader.request
        async with _serving(application, arguments, reloader):
            settle_interpreter()
            await application.apply(config)
            await signals.stop.wait()
    return GOOD


async def _demo(arguments: argparse.Namespace, console: Console) -> int:
    async with (
        heeded() as signals,
        _simulating(arguments) as simulator,
        Application(redactor=console.redactor) as application,
    ):
        config = demo_config(simulator.url, simulator.credentials)
        reloader = Reloader(application, lambda: config)
        signals.on_hangup = reloader.request
        async with _serving(application, arguments, reloader) as urls:
            await application.apply(config)
            for url in urls:
                console.say(f"status page  {url}/")
                console.say(f"metrics      {url}{arguments.telemetry_path}")
            console.say(f"simulator    {simulator.url}/ (faults at /_faults, drills at /_drills)")
            console.say("Stop with Ctrl-C.")
            await signals.stop.wait()
    return GOOD


async def _simulate(arguments: argparse.Namespace, console: Console) -> int:
    async with heeded() as signals, _simulating(arguments) as simulator:
        for line in simulator.addresses():
            console.say(line)
        for name, value in simulator.credentials.items():
            console.say(f"{name}={value}")
        await signals.stop.wait()
    return GOOD


async def _check(arguments: argparse.Namespace, console: Console) -> int:
    problems: list[str] = []
    config: Config | None = None
    try:
        config = load(arguments.config_file, os.environ)
    except ConfigError as error:
        problems += [_placed(arguments.config_file, problem) for problem in error.problems]
    problems += _web_problems(arguments.web_config_file)
    if config is None or problems:
        for problem in problems:
            console.complain(problem)
        return BAD_CONFIG
    for file in filter(None, (arguments.config_file, arguments.web_config_file)):
        console.say(f"{file}: good")
    return await _probe(config, console) if arguments.probe else GOOD


def _web_problems(file: Path | None) -> list[str]:
    if file is not None:
        try:
            access.load(file)
        except access.WebConfigError as error:
            return error.problems
    return []


async def _probe(config: Config, console: Console) -> int:
    async with Application(redactor=console.redactor) as application:
        await application.apply(config, loops=False)
        probes = await probe(application.pollers)
        for line in (*table(probes), *explanations(probes, config)):
            console.say(line)
    return FAILED if any(each.failure for each in probes) else GOOD


async def _once(arguments: argparse.Namespace, console: Console) -> int:
    config = _load(arguments)
    async with Application(redactor=console.redactor) as application:
        await application.apply(config, loops=False)
        whole = await application.poll_once()
        for poller in application.pollers:
            health = poller.snapshot.health
            if not health.up:
                reason, message = health.error_reason, health.error_message
                console.complain(explanation(poller, reason, message, config))
        console.write(application.page(TEXT, process=False).body)
    return GOOD if whole else FAILED


async def _bundle(arguments: argparse.Namespace, console: Console) -> int:
    try:
        written = await asyncio.to_thread(bundle.write, arguments.directory)
    except bundle.BundleError as error:
        raise CommandError(str(error)) from error
    for file in written:
        console.say(str(file))
    return GOOD


async def _healthcheck(arguments: argparse.Namespace, console: Console) -> int:
    good, text = await asyncio.to_thread(ask, Question.of(arguments))
    (console.say if good else console.complain)(text)
    return 0 if good else 1


COMMANDS: Final[Mapping[str, Command]] = {
    "serve": _serve,
    "demo": _demo,
    "simulate": _simulate,
    "check": _check,
    "once": _once,
    "bundle": _bundle,
    "healthcheck": _healthcheck,
}


def _load(arguments: argparse.Namespace) -> Config:
    try:
        return load(arguments.config_file, os.environ)
    except ConfigError as error:
        problems = [_placed(arguments.config_file, problem) for problem in error.problems]
        raise CommandError(_first(problems)) from error


def _placed(file: Path, problem: str) -> str:
    """Name the file before a problem that does not name it itself."""
    return problem if problem.startswith(f"{file}: ") else f"{file}: {problem}"


def _first(problems: Sequence[str]) -> str:
    first, *others = problems
    return f"{first} (and {len(others)} more: run `check`)" if others else first


@asynccontextmanager
async def _serving(
    application: Application, arguments: argparse.Namespace, reloader: Reloader
) -> AsyncIterator[list[str]]:
    """Listen for as long as the context lasts; yields the addresses."""
    options = Options(
        addresses=arguments.addresses or [arguments.default_address],
        telemetry_path=arguments.telemetry_path,
        max_requests=arguments.max_requests,
        reload=reloader.reload if arguments.enable_lifecycle else None,
        web_config=arguments.web_config_file,
    )
    try:
        server = Server(application, options)
    except access.WebConfigError as error:
        raise CommandError(_first(error.problems)) from error
    runner = await listen(server.web_application(), options.addresses, server.tls)
    scheme = "https" if server.tls else "http"
    # Of 0.0.0.0 and :: both are localhost to people.
    urls = list(dict.fromkeys(_url(scheme, *address[:2]) for address in runner.addresses))
    _log.info("listening", version=__version__, addresses=" ".join(urls))
    try:
        yield urls
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _simulating(arguments: argparse.Namespace) -> AsyncIterator[Simulator]:
    simulator = Simulator(
        arguments.simulator_nodes, seed=arguments.simulator_seed, speed=arguments.simulator_speed
    )
    host, port = split_address(arguments.simulator_address)
    try:
        await simulator.start(host or "0.0.0.0", port)  # noqa: S104 - asked for by an empty host
    except OSError as error:
        flag = "--simulator.listen-address"
        raise listen_error(arguments.simulator_address, error, flag) from error
    try:
        yield simulator
    finally:
        await simulator.stop()


def _url(scheme: str, host: str, port: int) -> str:
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104
    return f"{scheme}://[{shown}]:{port}" if ":" in shown else f"{scheme}://{shown}:{port}"
