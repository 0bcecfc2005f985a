"""What all tests share: aioresponses made to work, tools that may be missing."""

import os
import shutil
from typing import Any

import aiohttp
import aioresponses.core
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.load_profile("default")


class _Response(aiohttp.ClientResponse):
    """aioresponses does not pass the stream_writer that newer releases of aiohttp want."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - aiohttp's own
        kwargs.setdefault("stream_writer", None)
        super().__init__(*args, **kwargs)


vars(aioresponses.core)["ClientResponse"] = _Response


@pytest.fixture
def tool(request: pytest.FixtureRequest) -> str:
    """Return the path of the program that the test's `tool` marker names.

    Where it is missing the test is skipped, or fails in CI, where all tools must be there.
    """
    marker = request.node.get_closest_marker("tool")
    name = marker.args[0]
    path: str | None = shutil.which(name)
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"NEEDS {name}")
    return path


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401 - pytest's own
    """Say loudly which tests were not run for want of a tool."""
    skipped = [
        report
        for report in terminalreporter.stats.get("skipped", [])
        if "NEEDS" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.section("NOT TESTED, tools are missing", sep="!", red=True)
        for report in skipped:
            terminalreporter.write_line(f"{report.nodeid}: {report.longrepr[2]}")
