"""Measure how long the status page keeps the browser busy with a fleet of many nodes.

    python -m scripts.measure_status 10000

A task that takes longer than 200 ms is one that a reader feels. Beside the time that passed
stands the processor's: it is the same on a machine that is busy with other things.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable

from playwright.async_api import Browser, Page

from scripts.screenshot_status import chromium, demo

_CATEGORIES = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
_TASK = "RunTask"
_SETTLE_SECONDS = 2
_UPDATES_SECONDS = 40

Step = Callable[[Page], Awaitable[object]]


async def _open(page: Page) -> None:
    await page.get_by_label("Views").get_by_role("link", name="Nodes").click()
    await page.locator("#view-nodes tbody tr").first.wait_for(timeout=60_000)


async def _search(page: Page) -> None:
    await page.get_by_label("Search nodes").press_sequentially("kr-east1 aurora", delay=50)


async def _clear(page: Page) -> None:
    await page.get_by_label("Search nodes").fill("")


async def _sort(page: Page) -> None:
    await page.get_by_role("button", name="Address").click()


async def _filter(page: Page) -> None:
    await page.locator("#view-nodes .chip").last.click()


async def _more(page: Page) -> None:
    await page.get_by_role("button", name="Show 200 more").click()


async def _update(_: Page) -> None:
    await asyncio.sleep(_UPDATES_SECONDS)


STEPS: dict[str, Step] = {
    "open the table": _open,
    "search, letter by letter": _search,
    "clear the search": _clear,
    "sort by address": _sort,
    "filter by state": _filter,
    "show more rows": _more,
    f"follow updates for {_UPDATES_SECONDS} s": _update,
}


async def _measured(browser: Browser, page: Page, step: Step) -> str:
    """Return the longest task of the page's main thread while a reader does something."""
    await browser.start_tracing(page=page, categories=_CATEGORIES)
    await step(page)
    await asyncio.sleep(_SETTLE_SECONDS)
    events = json.loads(await browser.stop_tracing())["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        (event.get("tdur", 0) / 1000, event["dur"] / 1000)
        for event in events
        if event["name"] == _TASK and (event["pid"], event["tid"]) in mains and "dur" in event
    ]
    busy, passed = max(tasks, default=(0, 0))
    return f"longest of {len(tasks)} tasks: {busy:.0f} ms of the processor, {passed:.0f} ms passed"


async def main(nodes: int) -> None:
    """Do what a reader does, and print how long each thing kept the browser busy."""
    async with demo(nodes, alive=False) as (_, url), chromium() as browser:
        page = await browser.new_page()
        await page.goto(url)
        for name, step in STEPS.items():
            print(f"{name}: {await _measured(browser, page, step)}", flush=True)
        print(await page.locator("#view-nodes .count").inner_text())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
