"""The commands, and the exit codes that they end with."""

import argparse
import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from exporter import __version__, flags, logs
from exporter.app import Application
from exporter.config import Config, ConfigError, load
from exporter.demo import demo_config
from exporter.healthcheck import Question, ask
from exporter.negotiation import TEXT
from exporter.reload import Reloader
from exporter.simulator.server import Simulator
from exporter.web.listening import ListenError, listen, listen_error, split_address
from exporter.web.server import Options, Server

GOOD, BAD_CONFIG, FAILED, INTERRUPTED = 0, 1, 2, 130


class CommandError(Exception):
    """What ends a command with exit code 1 and one line."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = flags.parse(sys.argv[1:] if argv is None else argv)
    redactor = logs.Redactor()
    logs.configure(arguments.log_level, arguments.log_format, redactor)
    commands: dict[str, Callable[[argparse.Namespace, logs.Redactor], Awaitable[int]]] = {
        "serve": _serve,
        "demo": _demo,
        "simulate": _simulate,
        "check": _check,
        "once": _once,
        "healthcheck": _healthcheck,
    }
    try:
        return asyncio.run(_to_int(commands[arguments.command](arguments, redactor)))
    except (CommandError, ListenError) as error:
        print(f"gpu-cluster-exporter: {error}", file=sys.stderr)
        return BAD_CONFIG
    except KeyboardInterrupt:
        return INTERRUPTED


async def _to_int(command: Awaitable[int]) -> int:
    return await command


def settle_interpreter() -> None:
    """Keep collections short and seldom, and give the event loop its turn while threads work.

    A collection stops the whole process: what the imports made is left out of it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    sys.setswitchinterval(0.001)


async def _serve(arguments: argparse.Namespace, redactor: logs.Redactor) -> int:
    config = _load(arguments)
    async with Application(redactor=redactor) as application:
        reloader = Reloader(application, lambda: load(arguments.config_file, os.environ))
        async with _signals(reloader) as stop, _serving(application, arguments, reloader):
            settle_interpreter()
            await application.apply(config)
            await stop.wait()
    return GOOD


async def _demo(arguments: argparse.Namespace, redactor: logs.Redactor) -> int:
    async with _simulating(arguments) as simulator, Application(redactor=redactor) as application:
        config = demo_config(simulator.url, simulator.credentials)
        reloader = Reloader(application, lambda: config)
        async with _signals(reloader) as stop, _serving(application, arguments, reloader) as urls:
            await application.apply(config)
            for url in urls:
                _print(f"index        {url}/")
                _print(f"metrics      {url}{arguments.telemetry_path}")
            _print(f"simulator    {simulator.url}/ (faults at /_faults, drills at /_drills)")
            _print("Stop with Ctrl-C.")
            await stop.wait()
    return GOOD


async def _simulate(arguments: argparse.Namespace, _: logs.Redactor) -> int:
    async with _signals(None) as stop, _simulating(arguments) as simulator:
        for line in simulator.addresses():
            _print(line)
        for name, value in simulator.credentials.items():
            _print(f"{name}={value}")
        await stop.wait()
    return GOOD


async def _check(arguments: argparse.Namespace, _: logs.Redactor) -> int:
    try:
        load(arguments.config_file, os.environ)
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return BAD_CONFIG
    _print(f"{arguments.config_file}: good")
    return GOOD


async def _once(arguments: argparse.Namespace, redactor: logs.Redactor) -> int:
    config = _load(arguments)
    async with Application(redactor=redactor) as application:
        await application.apply(config, loops=False)
        whole = await application.poll_once()
        sys.stdout.buffer.write(application.page(TEXT, process=False).body)
    return GOOD if whole else FAILED


async def _healthcheck(arguments: argparse.Namespace, _: logs.Redactor) -> int:
    question = Question(
        arguments.url,
        ready=arguments.ready,
        username=arguments.username,
        password_file=arguments.password_file,
        ca_file=arguments.ca_file,
        cert_file=arguments.cert_file,
        key_file=arguments.key_file,
    )
    good, text = await asyncio.to_thread(ask, question)
    print(text, file=sys.stdout if good else sys.stderr)
    return 0 if good else 1


def _load(arguments: argparse.Namespace) -> Config:
    try:
        return load(arguments.config_file, os.environ)
    except ConfigError as error:
        first, *others = error.problems
        more = f" (and {len(others)} more: run `check`)" if others else ""
        raise CommandError(f"{first}{more}") from error


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
    )
    runner = await listen(Server(application, options).web_application(), options.addresses)
    urls = [_url(*address[:2]) for address in runner.addresses]
    logs.get("cli").info("listening", version=__version__, addresses=" ".join(urls))
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


@asynccontextmanager
async def _signals(reloader: Reloader | None) -> AsyncIterator[asyncio.Event]:
    """Yield the event that SIGTERM and SIGINT set, from before there is anything to stop.

    SIGHUP reloads until then, where there is something to reload; it never ends a command.
    """
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def hang_up() -> None:
        if reloader is not None and not stop.is_set():
            reloader.request()

    handlers = {signal.SIGTERM: stop.set, signal.SIGINT: stop.set, signal.SIGHUP: hang_up}
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield stop
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


def _url(host: str, port: int) -> str:
    shown = {"0.0.0.0": "localhost", "::": "localhost"}.get(host, host)  # noqa: S104
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


def _print(line: str) -> None:
    print(line, flush=True)
