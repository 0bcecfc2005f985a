"""The command line."""

from pathlib import Path

import pytest

from exporter import __version__, flags


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """Return the last line of what is said of a command line that is refused."""
    with pytest.raises(SystemExit) as ended:
        flags.parse(argv)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_without_anything_the_daemon_is_meant() -> None:
    """`serve` is the command where none is named, with or without flags."""
    for argv in ((), ("serve",), ("--log.level=info",), ("--web.max-requests", "40")):
        assert flags.parse(argv) == flags.parse(["serve"])


def test_the_daemons_defaults_are_those_of_the_documentation() -> None:
    """Every flag of the daemon has one."""
    parsed = vars(flags.parse(["serve"]))
    assert parsed == {
        "command": "serve",
        "config_file": Path("gpu-cluster-exporter.yml"),
        "addresses": None,
        "default_address": ":10110",
        "telemetry_path": "/metrics",
        "max_requests": 40,
        "enable_lifecycle": False,
        "web_config_file": None,
        "log_level": "info",
        "log_format": "logfmt",
    }


def test_the_demo_stays_on_loopback() -> None:
    """Neither it nor the simulated clouds are to be seen from outside, unless asked for."""
    demo, simulate = flags.parse(["demo"]), flags.parse(["simulate"])
    assert demo.default_address == "127.0.0.1:10110"
    assert demo.simulator_address == "127.0.0.1:0"
    assert simulate.simulator_address == "127.0.0.1:10111"
    for parsed in (demo, simulate):
        assert parsed.simulator_nodes == 64
        assert parsed.simulator_seed == 0
        assert parsed.simulator_speed == 1.0


@pytest.mark.parametrize(
    "argv",
    [
        "check --config.file a.yml --log.level debug",
        "--config.file a.yml check --log.level debug",
        "--config.file=a.yml --log.level=debug check",
        "--log.level debug --config.file a.yml check",
    ],
)
def test_flags_may_stand_before_and_after_the_command(argv: str) -> None:
    """Their order means nothing."""
    parsed = flags.parse(argv.split())
    assert parsed.command == "check"
    assert parsed.config_file == Path("a.yml")
    assert parsed.log_level == "debug"


def test_a_value_that_reads_like_a_command_is_a_value() -> None:
    """A flag that takes a value takes the next word; a switch takes none."""
    assert flags.parse(["--config.file", "check", "once"]).command == "once"
    assert flags.parse(["--config.file", "check"]).command == "serve"
    assert flags.parse(["--web.enable-lifecycle", "demo"]).command == "demo"
    assert flags.parse(["--ready", "healthcheck"]).ready


@pytest.mark.parametrize("command", ["serve", "demo", "check"])
def test_a_web_configuration_can_be_named(command: str) -> None:
    """To whoever serves by it, or checks it."""
    parsed = flags.parse([command, "--web.config.file=web.yml"])
    assert parsed.web_config_file == Path("web.yml")
    assert flags.parse([command]).web_config_file is None


def test_a_probe_is_a_switch() -> None:
    """It takes no value, wherever it stands."""
    assert flags.parse(["check", "--probe"]).probe
    assert flags.parse(["--probe", "check", "--config.file=a.yml"]).probe
    assert not flags.parse(["check"]).probe


def test_a_bundle_goes_to_a_directory() -> None:
    """Which has to be named."""
    assert flags.parse(["bundle", "monitoring"]).directory == Path("monitoring")
    assert flags.parse(["--log.level=info", "bundle", "a b"]).directory == Path("a b")


def test_commands_that_end_log_errors_alone() -> None:
    """What they find, they say in words of their own; daemons tell of their doings."""
    levels = {name: flags.parse([name, *extra]).log_level for name, extra in _LEAST.items()}
    daemons = {"serve", "demo", "simulate"}
    assert levels == {name: "info" if name in daemons else "error" for name in flags.COMMANDS}


_LEAST = {name: ["DIR"] if name == "bundle" else [] for name in flags.COMMANDS}


def test_addresses_add_up() -> None:
    """The flag is repeatable, and replaces the default."""
    argv = ["--web.listen-address=:1", "serve", "--web.listen-address", "[::1]:2"]
    assert flags.parse(argv).addresses == [":1", "[::1]:2"]


def test_a_healthcheck_has_all_that_it_needs_to_ask() -> None:
    """Passwords and keys are named by their files."""
    argv = "--url http://h:1 --ready --username u --password-file p --ca-file c"
    parsed = flags.parse(["healthcheck", *argv.split(), "--cert-file=d", "--key-file=k"])
    assert (parsed.url, parsed.ready, parsed.username) == ("http://h:1", True, "u")
    files = (parsed.password_file, parsed.ca_file, parsed.cert_file, parsed.key_file)
    assert files == (Path("p"), Path("c"), Path("d"), Path("k"))
    assert flags.parse(["healthcheck"]).url == "http://127.0.0.1:10110"


@pytest.mark.parametrize(
    "argv", [["--version"], ["serve", "--version"], ["--log.level=info", "--version"]]
)
def test_the_version_is_told_wherever_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    """It goes to standard output, with exit code 0."""
    with pytest.raises(SystemExit) as ended:
        flags.parse(argv)
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"gpu-cluster-exporter {__version__}\n"


@pytest.mark.parametrize("argv", [["--help"], ["-h"]])
def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    """With what it does."""
    with pytest.raises(SystemExit) as ended:
        flags.parse(argv)
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    for command, what in flags.COMMANDS.items():
        assert f"{command} {what}" in text


@pytest.mark.parametrize("command", flags.COMMANDS)
def test_each_command_has_a_help_of_its_own(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    """No default in it is left unfilled."""
    with pytest.raises(SystemExit) as ended:
        flags.parse([command, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "--log.level" in text
    assert "%(" not in text


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ("serve --config.fil a.yml", "unrecognized arguments: --config.fil a.yml"),
        ("serve --secret-key x", "unrecognized arguments: --secret-key x"),
        ("check more", "unrecognized arguments: more"),
        ("begin", "invalid choice: 'begin'"),
        ("--log.level=loud", "invalid choice: 'loud'"),
        ("--log.format=xml", "invalid choice: 'xml'"),
        ("--web.max-requests=-1", "not a whole number of 0 or more: '-1'"),
        ("--web.max-requests=many", "not a whole number of 0 or more: 'many'"),
        ("demo --simulator.nodes=1.5", "not a whole number of 0 or more: '1.5'"),
        ("demo --simulator.seed=x", "not a whole number of 0 or more: 'x'"),
        ("demo --simulator.speed=nan", "not a number between 0 and 1000000: 'nan'"),
        ("demo --simulator.speed=fast", "not a number between 0 and 1000000: 'fast'"),
        ("--web.telemetry-path=metrics", "not a path such as /metrics: 'metrics'"),
        ("--web.telemetry-path=/{x}", "not a path such as /metrics: '/{x}'"),
        ("--web.telemetry-path=/-/healthy", "at /- stand other pages: '/-/healthy'"),
        ("--web.telemetry-path=/config", "at /config stand other pages: '/config'"),
        ("healthcheck --config.file=a.yml", "unrecognized arguments: --config.file=a.yml"),
        ("once --web.config.file=a.yml", "unrecognized arguments: --web.config.file=a.yml"),
        ("serve --probe", "unrecognized arguments: --probe"),
        ("bundle", "the following arguments are required: DIR"),
    ],
)
def test_bad_flags_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], argv: str, said: str
) -> None:
    """The line says what is wrong, and the exit code is 2."""
    assert said in refusal(capsys, *argv.split())


def test_a_bundle_goes_to_no_directory_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    """A variable that is not set names no directory, and surely not this one."""
    assert "empty; name a directory" in refusal(capsys, "bundle", "")
