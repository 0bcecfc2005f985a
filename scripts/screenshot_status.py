"""Take the picture of the demo's status page that stands in the README, one region dead.

python -m scripts.screenshot_status docs/images/status-page.png
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from exporter.app import Application
from exporter.demo import demo_config
from exporter.simulator.server import Simulator
from exporter.web.listening import listen
from exporter.web.server import Options, Server

CHROMIUM = "/usr/bin/chromium"
_LOCAL = "127.0.0.1:0"
_LIFE_SECONDS = 25  # after which a node of the demo has failed


@asynccontextmanager
async def demo(nodes: int, *, alive: bool = True) -> AsyncIterator[tuple[Simulator, str]]:
    """Give the demo's clouds, and the address of the exporter that polls them."""
    async with Simulator(nodes, alive=alive) as simulator, Application() as app:
        await app.apply(demo_config(simulator.url, simulator.credentials))
        runner = await listen(Server(app, Options([_LOCAL])).web_application(), [_LOCAL])
        for poller in app.pollers:
            await poller.attempted.wait()
        yield simulator, f"http://127.0.0.1:{runner.addresses[0][1]}/"
        await runner.cleanup()


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Give Debian's Chromium."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM)
        yield browser
        await browser.close()


async def _take(page: Page, url: str, file: Path) -> None:
    await page.goto(url)
    await page.get_by_text("is down").wait_for()
    await page.get_by_text("No connection").first.wait_for()
    await page.get_by_text("ERROR").first.wait_for()
    await page.screenshot(path=file)


async def main(file: Path) -> None:
    """Run the demo until something has gone wrong, and take the picture."""
    async with demo(64) as (simulator, url), chromium() as browser:
        simulator.drills.kill_region("e", "kr-east1")
        await asyncio.sleep(_LIFE_SECONDS)
        size = {"width": 1120, "height": 780}
        page = await browser.new_page(
            color_scheme="light",
            viewport={"width": size["width"], "height": size["height"]},
            device_scale_factor=1.5,
        )
        await _take(page, url, file)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
