"""Clocks that are off, and zones in which nobody thinks."""

import asyncio
import io
import os
import re
import sys
from pathlib import Path

import pytest

from tests.clocks import START_WALL
from tests.field.conftest import Open
from tests.simulated import values

ROOT = Path(__file__).parents[2]
READING_TIMES = (
    "tests/clouds/test_fields.py",
    "tests/clouds/test_http_dates.py",
    "tests/clouds/scp/test_models.py",
    "tests/clouds/nsml/test_models.py",
    "tests/test_golden.py",
)
SKEW = "gpu_cluster_exporter_api_clock_skew_seconds"


@pytest.mark.parametrize("ahead", [420.0, -420.0])
async def test_a_local_clock_that_is_off_is_named(
    field_of: Open, ahead: float, log: io.StringIO
) -> None:
    """Seven minutes: both clouds refuse the signature; the metric and the log say why."""
    async with field_of(clock=lambda: START_WALL + ahead) as field:
        await field.start(nsml=True)
        for labels in ({"collector": "gpu_nodes"}, {"collector": "runs"}):
            assert await field.outcome(**labels) == (0.0, "auth")
        skews = values(await field.page(), SKEW)
        assert skews == [pytest.approx(ahead, abs=5.0)] * 2
        lines = log.getvalue().splitlines()
        for collector in ("gpu_nodes", "runs"):
            [line] = [line for line in lines if f"collector={collector} reason=auth" in line]
            said = re.search(r"; the local clock is off by ([-+]\d+) s", line)
            assert said
            assert float(said[1]) == pytest.approx(-ahead, abs=5.0)


async def test_a_clock_that_is_a_little_off_is_measured(field_of: Open, log: io.StringIO) -> None:
    """Four minutes are within what both clouds forgive; the metric tells of them."""
    async with field_of(clock=lambda: START_WALL + 240.0) as field:
        await field.start(nsml=True)
        page = await field.page()
        assert set(values(page, "gpu_cluster_exporter_target_up")) == {1.0}
        assert values(page, SKEW) == [pytest.approx(240.0, abs=5.0)] * 2
        assert "clock" not in log.getvalue()


@pytest.mark.slow
@pytest.mark.scale
@pytest.mark.parametrize("zone", ["Asia/Seoul", "America/New_York"])
async def test_times_are_read_alike_in_every_zone(zone: str) -> None:
    """The tests that read and write times pass wherever the process believes to be."""
    options = ("-q", "-p", "no:cacheprovider", "-p", "pytest_asyncio.plugin", *READING_TIMES)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pytest",
        *options,
        cwd=ROOT,
        env={**os.environ, "TZ": zone, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b" passed" in output
