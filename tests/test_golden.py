"""The whole page for a fixed fleet, compared with the one that was looked at by a person.

After a change that is meant, `UPDATE_GOLDEN=1 pytest tests/test_golden.py` writes it anew.
"""

import asyncio
import difflib
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from exporter.app import Application
from exporter.config import load
from exporter.negotiation import TEXT
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from exporter.sites import FAMILIES

GOLDEN = Path(__file__).parent / "golden" / "metrics.txt"
NOW = 1_790_000_000.0
REGIONS = ("kr-west1", "kr-east1")

CONFIG = """\
polling: {{requests_per_second: 10000}}
scp:
  - account: prod
    environment: e
    regions: [kr-west1, kr-east1]
    access_key_env: SCP_ACCESS_KEY
    secret_key_env: SCP_SECRET_KEY
    credentials_expire: 2027-01-31
    endpoint: {url}/scp/{{environment}}/{{region}}
nsml:
  - account: research
    access_key_env: NCP_ACCESS_KEY
    secret_key_env: NCP_SECRET_KEY
    api_key_env: NCP_API_KEY
    endpoint: {url}/nsml/v1
    polling: {{requests_per_second: 10000}}
"""

# How long something took, and what runs the test.
_VARYING = re.compile(
    r"gpu_cluster_exporter_\w+_duration_seconds_(bucket|sum)\b|gpu_cluster_exporter_build_info\{"
)


class StandingClock:
    """A clock on which no time passes."""

    def wall(self) -> float:
        """Return the moment of the golden page."""
        return NOW

    def monotonic(self) -> float:
        """Return some moment."""
        return 1_000.0

    async def sleep(self, seconds: float) -> None:  # noqa: ARG002 - as the protocol has it
        """Pause for good."""
        await asyncio.Event().wait()

    async def wait(self, event: asyncio.Event, seconds: float) -> bool:  # noqa: ARG002 - the same
        """Pause until the event is set."""
        return await event.wait()


def troubled(simulator: Simulator) -> Simulator:
    """Let things go wrong: a failed node, an odd state, a run that ended, one that lost a rank."""
    drills = simulator.drills
    drills.fail_node()
    drills.fail_node(state="MAINTENANCE (planned)")
    drills.end_run()
    drills.fail_run_node(exit_code=137)
    simulator.advance(60.0)
    return simulator


async def page_of(simulator: Simulator, directory: Path) -> str:
    """Return the page after one poll of every target of the simulated clouds."""
    path = directory / "gpu-cluster-exporter.yml"
    path.write_text(CONFIG.format(url=simulator.url))
    environ = dict(simulator.credentials)
    async with Application(environ=environ, clock=StandingClock()) as application:
        await application.apply(load(path, environ), loops=False)
        assert await application.poll_once()
        return application.page(TEXT, process=False).body.decode()


def lasting(page: str) -> Iterator[str]:
    """Yield the lines of a page that are the same wherever and whenever the test runs.

    The samples of a family are sorted: which came first depends on which answer did.
    """
    lines = page.splitlines(keepends=True)
    for comments, group in itertools.groupby(lines, lambda line: line.startswith("#")):
        if comments:
            yield from group
        else:
            yield from sorted(line for line in group if not _VARYING.match(line))


async def test_page_is_the_golden_one(tmp_path: Path) -> None:
    """Every line of the page for a fixed fleet is the one that was agreed on."""
    places = [Place("e", region) for region in REGIONS]
    fleet = Simulator(6, seed=7, speed=0, clock=lambda: NOW, alive=False, places=places)
    async with troubled(fleet) as simulator:
        found = list(lasting(await page_of(simulator, tmp_path)))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text("".join(found))

    golden = GOLDEN.read_text().splitlines(keepends=True)
    differences = difflib.unified_diff(golden, found, "golden", "found", n=1)
    assert not (text := "".join(differences)), f"\n{text}"


def test_golden_page_shows_every_kind_of_object() -> None:
    """The golden page holds each family of the objects, and each trouble that it is to show."""
    page = GOLDEN.read_text()
    assert [family.name for family in FAMILIES if f"\n{family.name}{{" not in page] == []
    for name, labels in (
        ("scp_gpu_node_state", 'state="ERROR"'),
        ("scp_gpu_node_state", 'state="MAINTENANCE__PLANNED_"'),
        ("scp_gpu_nodes", 'state="MAINTENANCE__PLANNED_"'),
        ("nsml_run_state", 'state="COMPLETED"'),
        ("nsml_run_node_state", 'state="FAILED"'),
    ):
        assert re.search(rf"^{name}{{.*{labels}}} 1\.0$", page, re.MULTILINE), labels
    assert re.search(r"^nsml_run_node_exit_code{.*} 137\.0$", page, re.MULTILINE)
