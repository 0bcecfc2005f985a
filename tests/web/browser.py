"""A real browser before the status page of an exporter that polls simulated clouds."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from aiohttp import web
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

from exporter.app import Application
from exporter.clock import SystemClock
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from exporter.web.listening import listen
from exporter.web.server import Options, Server
from tests.simulated import config_text, read_config

PLACES = (Place("e", "kr-west1"), Place("e", "kr-east1"))
NODES = 12
ASIDE_SECONDS = 16  # after which the page has asked for every list again


class ShiftedClock(SystemClock):
    """The clock of this machine; by its monotonic one as much later as a test says."""

    def __init__(self) -> None:
        self.later = 0.0

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        return super().monotonic() + self.later


@dataclass
class Daemon:
    """An exporter that polls two regions and an NSML account when it is told to."""

    simulator: Simulator
    app: Application
    clock: ShiftedClock
    prefix: str = ""
    port: int = 0
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address of the status page."""
        return f"http://127.0.0.1:{self.port}{self.prefix}/"

    async def serve(self) -> None:
        """Serve, on the port of before where there was one."""
        options = Options([f"127.0.0.1:{self.port}"])
        whole = served = Server(self.app, options).web_application()
        if self.prefix:
            whole = web.Application()
            whole.add_subapp(self.prefix, served)
        self._runner = await listen(whole, options.addresses)
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Answer nobody any more."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def poll(self) -> None:
        """Poll every target once."""
        await self.app.poll_once()

    def node_states(self) -> Counter[str]:
        """Return how many nodes truly are in which state."""
        regions = self.simulator.truth().scp
        return Counter(node.state for region in regions for node in region.gpu_nodes if node.state)


@asynccontextmanager
async def daemon(directory: Path, prefix: str = "") -> AsyncIterator[Daemon]:
    """Give a daemon whose targets were polled once."""
    clock = ShiftedClock()
    async with (
        Simulator(NODES, seed=7, speed=0, alive=False, places=PLACES) as simulator,
        Application(environ=simulator.credentials, clock=clock) as app,
    ):
        text = config_text(simulator.url)
        await app.apply(read_config(directory, text, simulator.credentials), loops=False)
        made = Daemon(simulator, app, clock, prefix)
        await made.poll()
        await made.serve()
        yield made
        await made.stop()


@dataclass
class Visit:
    """One visit to a status page, and what the browser complained of meanwhile."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    async def open(self, view: str = "targets") -> None:
        """Open the page at a view; it stays open until the end, without a reload."""
        await self.page.goto(f"{self.url}#{view}")
        await self.page.evaluate("window.opened = true")
        await expect(self.headline).not_to_have_text("Asking the exporter …")

    @property
    def headline(self) -> Locator:
        """The sentence on how it is."""
        return self.page.locator("#headline")

    @property
    def rows(self) -> Locator:
        """The rows of the table that is shown."""
        return self.page.locator("main > section:visible tbody tr")

    def region(self, name: str) -> Locator:
        """Return the part of the page on one region."""
        return self.page.locator("details", has=self.page.locator("h4", has_text=name))

    async def go(self, view: str) -> None:
        """Go to a view by its link."""
        link = self.page.get_by_label("Views").get_by_role("link", name=view)
        if await link.get_attribute("aria-current") is None:
            await link.click()
            await expect(self.page.locator("main > section:visible h2")).to_be_focused()

    async def later(self, seconds: float = ASIDE_SECONDS) -> None:
        """Let the page's time pass, so that it asks again."""
        await self.page.clock.fast_forward(round(seconds * 1000))

    async def column(self, number: int) -> list[str]:
        """Return what a column of the table says, from the first row on."""
        cells = self.rows.locator(f"> :nth-child({number})")
        return [text.strip() for text in await cells.all_inner_texts()]

    async def violations(self) -> list[str]:
        """Return what axe finds against the page as it is shown."""
        await self.page.evaluate(_axe())
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
        rules["runOnly"].append("best-practice")
        found = await self.page.evaluate("rules => axe.run(document, rules)", rules)
        return [_told(each) for each in found["violations"]]

    async def settled(self) -> None:
        """Check that nothing was complained of, and that the page was never loaded again."""
        assert self.complaints == []
        assert await self.page.evaluate("window.opened") is True


def _axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def _told(violation: dict[str, Any]) -> str:
    nodes: Sequence[dict[str, Any]] = violation["nodes"]
    return f"{violation['id']}: " + "; ".join(str(node["html"]) for node in nodes)


@asynccontextmanager
async def visit(browser: Browser, url: str, **options: Any) -> AsyncIterator[Visit]:  # noqa: ANN401
    """Give a visit whose time a test may move on."""
    context: BrowserContext = await browser.new_context(**options)
    page = await context.new_page()
    made = Visit(page, url)
    page.on("console", lambda message: _note(made, message))
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    await page.clock.install()
    yield made
    await context.close()


def _note(made: Visit, message: ConsoleMessage) -> None:
    if message.type in {"error", "warning"}:
        made.complaints.append(message.text)
