"""The command line, with the flags that Prometheus exporters have."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from exporter import __version__

PORT = 10110
COMMANDS = {
    "serve": "run the daemon (the default)",
    "demo": "run simulated clouds and the daemon in one process, without any account",
    "simulate": "run the simulated clouds only",
    "check": "validate the configuration, and with --probe ask every target once",
    "once": "poll every target once and print the exposition",
    "bundle": "write dashboards, alert rules and example configurations to a directory",
    "healthcheck": "ask the local daemon whether it lives",
}
_DAEMONS = ("serve", "demo", "simulate")  # the others say what they find in words of their own
_EPILOG = "Documentation: README.md and docs/. Secrets are never given on the command line."


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the command and its flags; exits with 2 and a usage line where they are wrong."""
    parser = _parser()
    return parser.parse_args(_command_first(argv))


def _command_first(argv: Sequence[str]) -> list[str]:
    """Put the command first, wherever among the flags it stands, and name the default one."""
    if "--version" in argv:
        return ["--version"]
    if argv and argv[0] in {"-h", "--help"}:
        return [*argv]
    before = ("", *argv)
    for place, (previous, word) in enumerate(zip(before, argv, strict=False)):
        is_value = previous.startswith("--") and "=" not in previous and previous not in _SWITCHES
        if not word.startswith("-") and not is_value:
            return [word, *argv[:place], *argv[place + 1 :]]
    return ["serve", *argv]


_SWITCHES = ("--web.enable-lifecycle", "--ready", "--probe")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu-cluster-exporter",
        description="Prometheus exporter for GPU clusters on Samsung Cloud Platform and NSML.",
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    made = {
        name: commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        for name, text in COMMANDS.items()
    }
    for name in ("serve", "check", "once"):
        _add_config(made[name])
    for name in ("serve", "demo", "check"):
        _add_web_config(made[name])
    for name in ("serve", "demo"):
        _add_web(made[name], f":{PORT}" if name == "serve" else f"127.0.0.1:{PORT}")
    for name in ("demo", "simulate"):
        _add_simulator(made[name], "127.0.0.1:0" if name == "demo" else "127.0.0.1:10111")
    _add_probe(made["check"])
    _add_bundle(made["bundle"])
    _add_healthcheck(made["healthcheck"])
    for name, command in made.items():
        _add_log(command, level="info" if name in _DAEMONS else "error")
    return parser


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config.file",
        dest="config_file",
        type=Path,
        default=Path("gpu-cluster-exporter.yml"),
        metavar="FILE",
        help="configuration file (default: %(default)s)",
    )


def _add_web_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--web.config.file",
        dest="web_config_file",
        type=Path,
        metavar="FILE",
        help="TLS, users and headers of the web server, as in other Prometheus exporters",
    )


def _add_probe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--probe",
        action="store_true",
        help="also make one call for every target; exit code 2 where one fails",
    )


def _add_bundle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=_directory, metavar="DIR", help="directory to write to")


def _add_web(parser: argparse.ArgumentParser, address: str) -> None:
    parser.add_argument(
        "--web.listen-address",
        dest="addresses",
        action="append",
        metavar="ADDRESS",
        help=f"address to listen on, repeatable (default: {address})",
    )
    parser.set_defaults(default_address=address)
    parser.add_argument(
        "--web.telemetry-path",
        dest="telemetry_path",
        type=_path,
        default="/metrics",
        metavar="PATH",
        help="path of the exposition (default: %(default)s)",
    )
    parser.add_argument(
        "--web.max-requests",
        dest="max_requests",
        type=_not_negative,
        default=40,
        metavar="N",
        help="scrapes at once, 0 for no limit (default: %(default)s)",
    )
    parser.add_argument(
        "--web.enable-lifecycle",
        dest="enable_lifecycle",
        action="store_true",
        help="allow POST /-/reload",
    )


def _add_simulator(parser: argparse.ArgumentParser, address: str) -> None:
    parser.add_argument(
        "--simulator.listen-address",
        dest="simulator_address",
        default=address,
        metavar="ADDRESS",
        help="address of the simulated clouds (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator.nodes",
        dest="simulator_nodes",
        type=_not_negative,
        default=64,
        metavar="N",
        help="GPU nodes in all (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator.seed",
        dest="simulator_seed",
        type=_not_negative,
        default=0,
        metavar="N",
        help="the same seed gives the same fleet (default: %(default)s)",
    )
    parser.add_argument(
        "--simulator.speed",
        dest="simulator_speed",
        type=_speed,
        default=1.0,
        metavar="X",
        help="simulated seconds a second (default: %(default)s)",
    )


def _add_healthcheck(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default=f"http://127.0.0.1:{PORT}",
        help="address of the daemon, without a path (default: %(default)s)",
    )
    parser.add_argument("--ready", action="store_true", help="ask /-/ready, not /-/healthy")
    parser.add_argument("--username", help="user of the daemon's basic authentication")
    for name, text in (
        ("--password-file", "file with that user's password"),
        ("--ca-file", "certificates to trust beside the system's"),
        ("--cert-file", "client certificate"),
        ("--key-file", "the client certificate's key"),
    ):
        parser.add_argument(name, type=Path, metavar="FILE", help=text)


def _add_log(parser: argparse.ArgumentParser, level: str) -> None:
    parser.add_argument(
        "--log.level",
        dest="log_level",
        choices=("debug", "info", "warn", "error"),
        default=level,
        help="least severity that is logged (default: %(default)s)",
    )
    parser.add_argument(
        "--log.format",
        dest="log_format",
        choices=("logfmt", "json"),
        default="logfmt",
        help="format of the log (default: %(default)s)",
    )


def _not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"not a whole number of 0 or more: {text!r}")
    return int(text)


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0.0 <= speed <= 1e6:  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"not a number between 0 and 1000000: {text!r}")
    return speed


def _directory(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("empty; name a directory, or . for this one")
    return Path(text)


_OWN_PATHS = ("-", "alerts", "api", "config", "dashboards", "sd", "static")


def _path(text: str) -> str:
    if not re.fullmatch(r"/[A-Za-z0-9._~/-]*", text):
        raise argparse.ArgumentTypeError(f"not a path such as /metrics: {text!r}")
    first = text.split("/")[1]
    if first in _OWN_PATHS:
        raise argparse.ArgumentTypeError(f"at /{first} stand other pages: {text!r}")
    return text
