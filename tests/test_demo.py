"""The configuration of the demo."""

from exporter.app import Application
from exporter.config import ENVIRONMENTS
from exporter.demo import demo_config
from exporter.negotiation import TEXT
from exporter.simulator.server import Simulator
from tests.simulated import values


async def test_the_demo_polls_all_that_the_simulator_has() -> None:
    """All seven pairs of environment and region and the runs are seen at the first poll."""
    async with Simulator(64, speed=0, alive=False) as simulator:
        config = demo_config(simulator.url, simulator.credentials)
        async with Application() as app:
            await app.apply(config, loops=False)
            assert await app.poll_once()
            page = app.page(TEXT).body
        truth = simulator.truth()
    for environment, regions in ENVIRONMENTS.items():
        for region in regions:
            nodes = values(page, "scp_gpu_node_info", environment=environment, region=region)
            [place] = [
                place
                for place in truth.scp
                if (place.environment, place.region) == (environment, region)
            ]
            assert len(nodes) == len(place.gpu_nodes) > 0
    assert values(page, "nsml_run_node_info", account="demo-research")


async def test_the_demo_shows_no_secret() -> None:
    """Neither its configuration nor an error that shows it has any."""
    async with Simulator(4) as simulator:
        shown = repr(demo_config(simulator.url, simulator.credentials))
        assert not [secret for secret in simulator.credentials.values() if secret in shown]
