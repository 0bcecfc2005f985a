"""The status page as people meet it: in a real browser, with simulated clouds behind it."""

import json
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright, expect

from exporter import sites
from exporter.clouds.outcomes import REASONS
from exporter.simulator.faults import ChildrenGone, ErrorBody, Fault, FieldValue, Refuse, Status
from tests.web import browser as tools
from tests.web.browser import Daemon, Visit

pytestmark = [
    pytest.mark.slow,
    pytest.mark.scale,
    pytest.mark.tool("chromium"),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("tool"),
]
Open = Callable[..., AbstractAsyncContextManager[Visit]]
Told = dict[str, Any]
VIEWS = ("Targets", "Nodes", "Fabrics", "Runs")
NAUGHTY = '<img src=x onerror="window.hacked=1"><b>&amp;\''


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser | None]:
    """Give a browser, or nothing where there is none: the tests are skipped then."""
    path = shutil.which("chromium")
    if path is None:
        yield None
        return
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="module")
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """Give an exporter that was polled once, and is polled when a test says so."""
    async with tools.daemon(tmp_path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def visit_of(chromium: Browser, daemon: Daemon) -> AsyncIterator[Open]:
    """Give what visits the page: with which colours, on which screen."""
    yield partial(tools.visit, chromium, daemon.url)


@pytest_asyncio.fixture(loop_scope="module")
async def visit(visit_of: Open) -> AsyncIterator[Visit]:
    """Give a visit that ends without a complaint of the browser."""
    async with visit_of() as made:
        yield made
        await made.settled()


async def test_the_page_shows_the_truth(daemon: Daemon, visit: Visit) -> None:
    """Every node, fabric and run stands in its table, in the state that it truly is in."""
    truth = daemon.simulator.truth()
    await visit.open()
    await expect(visit.headline).to_have_text("Every region answers: 3 regions, 15 targets.")
    await visit.go("Nodes")
    await expect(visit.rows).to_have_count(tools.NODES)
    shown = zip(await visit.column(1), await visit.column(2), await visit.column(4), strict=True)
    assert Counter(shown) == Counter(
        (node.name, node.state, region.region) for region in truth.scp for node in region.gpu_nodes
    )
    fabrics = Counter(
        (fabric.name, fabric.state) for region in truth.scp for fabric in region.cluster_fabrics
    )
    await visit.go("Fabrics")
    await expect(visit.rows).to_have_count(fabrics.total())
    shown_fabrics = zip(await visit.column(1), await visit.column(2), strict=True)
    assert Counter(shown_fabrics) == fabrics
    runs = Counter(
        (run.name, f"{len(run.nodes)} RUNNING")
        for project in truth.nsml.projects
        for run in project.runs
        if run.state == "RUN_STATE_IN_PROGRESS"
    )
    await visit.go("Runs")
    await expect(visit.rows).to_have_count(runs.total())
    shown_runs = zip(await visit.column(1), await visit.column(3), strict=True)
    assert Counter(shown_runs) == runs


async def test_a_node_that_fails_comes_first_without_a_reload(daemon: Daemon, visit: Visit) -> None:
    """The table and the summary follow what the polls see, the failed node on top."""
    await visit.open("nodes")
    await expect(visit.rows).to_have_count(tools.NODES)
    failed = daemon.simulator.drills.fail_node()
    await daemon.poll()
    await visit.later()
    first = visit.rows.first
    await expect(first).to_contain_text("ERROR")
    await expect(first).to_contain_text(failed)
    await expect(visit.page.locator("#states")).to_contain_text("ERROR 1")
    daemon.simulator.drills.recover_node(failed)
    await daemon.poll()
    await visit.later()
    await expect(visit.page.locator("#states")).not_to_contain_text("ERROR")


async def test_a_run_that_lost_a_node_is_told_apart(daemon: Daemon, visit: Visit) -> None:
    """It comes first with the rank that failed, and is counted apart from runs that go on."""
    daemon.simulator.drills.fail_run_node(rank=0)
    await daemon.poll()
    await visit.open("runs")
    await expect(visit.rows.first).to_contain_text("1 FAILED (rank 0)")
    summary = visit.page.locator("#states > li").last
    await summary.get_by_role("link", name="IN_PROGRESS, NODES FAILED 1").click()
    await expect(visit.rows).to_have_count(1)


async def test_a_dead_region_is_the_first_thing_to_be_read(daemon: Daemon, visit: Visit) -> None:
    """Headline, link and region say what is wrong; the region is open, and on top."""
    await visit.open()
    daemon.simulator.drills.kill_region("e", "kr-east1")
    await daemon.poll()
    await visit.later()
    await expect(visit.headline).to_have_text("Of 3 regions, 1 is down.")
    await expect(visit.page).to_have_title("✕ 1 in trouble · Targets · GPU cluster exporter")
    worst = visit.page.locator("#worst li")
    await expect(worst).to_have_text(["Downkr-east1 of prodNo connection"])
    region = visit.page.locator("details").first
    await expect(region.get_by_role("heading")).to_have_text("kr-east1")
    await expect(region.locator(".advice")).to_be_visible()
    await expect(region.locator(".advice")).to_contain_text("the region itself may be down")
    await expect(region.locator("tbody tr").first).to_contain_text("Failing")
    await worst.get_by_role("link").click()
    await expect(region.locator("summary")).to_be_focused()


async def test_a_region_that_is_back_tells_what_was(daemon: Daemon, visit: Visit) -> None:
    """After a recovery the last error stands there as one that is over."""
    daemon.simulator.drills.kill_region("e", "kr-west1")
    await daemon.poll()
    daemon.simulator.drills.revive_region("e", "kr-west1")
    await daemon.poll()
    await visit.open()
    await expect(visit.headline).to_contain_text("Every region answers")
    await visit.region("kr-west1").locator("summary").click()
    past = visit.region("kr-west1").locator(".past li").first
    await expect(past).to_contain_text("gpu_nodes failed")
    await expect(past).to_contain_text("No connection")


async def test_what_is_old_is_not_shown_as_new(daemon: Daemon, visit: Visit) -> None:
    """Past `stale_after` a state is one that was, counted apart and named in the past."""
    daemon.simulator.drills.kill_region("e", "kr-east1")
    daemon.clock.later = 400
    await daemon.poll()
    await visit.open("nodes")
    await expect(visit.rows.first).to_contain_text("was RUNNING")
    old = [state for state in await visit.column(2) if state.startswith("was ")]
    fresh = tools.NODES - len(old)
    assert 0 < len(old) < tools.NODES
    chips = visit.page.locator("#states li").first
    await expect(chips).to_contain_text(f"NOT SEEN LATELY {len(old)}")
    await expect(chips).to_contain_text(f"RUNNING {fresh}")
    await visit.go("Targets")
    objects = visit.region("kr-east1").locator("tbody tr").first.locator("td").last
    await expect(objects).to_have_text(f"{len(old)} then")


@pytest.mark.parametrize(
    ("fault", "title"),
    [
        (Refuse(cloud="scp"), "Keys refused"),
        (Refuse(cloud="scp", reason="forbidden"), "Not permitted"),
        (ErrorBody(cloud="scp"), "Not the expected answer"),
        (Status(cloud="scp", status=404), "Not found"),
    ],
)
async def test_an_error_is_told_in_words(
    daemon: Daemon,
    visit: Visit,
    fault: Fault,
    title: str,
) -> None:
    """Each reason has a title, an advice, and what the cloud said."""
    daemon.simulator.faults.add(fault)
    await daemon.poll()
    await visit.open()
    problem = visit.region("kr-west1").locator(".problems > li").first
    await expect(problem.locator("strong")).to_have_text(title)
    await expect(problem.locator(".advice")).not_to_be_empty()
    said = daemon.app.snapshots
    messages = {each.health.error_message for each in said if each.health.error_message}
    assert (await problem.locator("code").first.inner_text()) in messages


async def test_names_from_the_cloud_are_text(daemon: Daemon, visit: Visit) -> None:
    """What looks like HTML, in any field of any object or error, stands there as it is."""
    for name in ("gpu_node_name", "cluster_fabric_name", "server_type", "policy_ip", "state"):
        daemon.simulator.faults.add(FieldValue(path="/v1/gpu-nodes$", field=name, values=[NAUGHTY]))
    for name in ("cluster_name", "server_type", "state"):
        fault = FieldValue(path="/v1/cluster-fabrics$", field=name, values=[NAUGHTY])
        daemon.simulator.faults.add(fault)
    for name in ("projectName", "runType", "status"):
        daemon.simulator.faults.add(
            FieldValue(cloud="nsml", path="/projects/runs", field=name, values=[NAUGHTY])
        )
    body = json.dumps({"errors": [{"code": NAUGHTY}]})
    daemon.simulator.faults.add(Status(path="/v1/gpu-nodes/images", status=403, body=body))
    await daemon.poll()
    await visit.open()
    for view in VIEWS:
        await visit.go(view)
        await expect(visit.page.locator("main > section:visible").last).to_contain_text("<img")
    await visit.go("Nodes")
    assert set(await visit.column(1)) == {NAUGHTY}
    assert await visit.page.locator("img, main b b").count() == 0
    assert await visit.page.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    "screen",
    [
        {"color_scheme": "light", "viewport": {"width": 1200, "height": 900}},
        {"color_scheme": "dark", "viewport": {"width": 1200, "height": 900}},
        {"color_scheme": "light", "viewport": {"width": 375, "height": 780}},
    ],
    ids=["light", "dark", "phone"],
)
async def test_everybody_can_read_it(
    daemon: Daemon, visit_of: Open, screen: dict[str, Any]
) -> None:
    """Axe finds nothing in any view, with every kind of trouble, and no view is too wide."""
    daemon.simulator.drills.kill_region("e", "kr-east1")
    daemon.simulator.faults.add(ChildrenGone(cloud="nsml"))
    daemon.simulator.drills.fail_node()
    daemon.simulator.drills.hold_fabric(state="EDITING")
    await daemon.poll()
    async with visit_of(**screen) as visit:
        await visit.open()
        for view in VIEWS:
            await visit.go(view)
            assert await visit.violations() == []
            assert await visit.page.evaluate(
                "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
            )
        await daemon.stop()
        await visit.later()
        await expect(visit.page.locator("#lost")).to_be_visible()
        assert await visit.violations() == []


async def test_the_keyboard_is_enough(daemon: Daemon, visit: Visit) -> None:
    """One can go to a table, search, filter, sort and open a region, and stays where one is."""
    await visit.open()
    keyboard = visit.page.keyboard
    focused = visit.page.locator(":focus")
    await keyboard.press("Tab")
    await expect(focused).to_have_text("Skip to the content")
    await keyboard.press("Tab")
    await keyboard.press("Tab")
    await expect(focused).to_have_text("Nodes")
    await keyboard.press("Enter")
    await expect(focused).to_have_text("GPU nodes")
    await keyboard.press("Tab")
    await expect(visit.rows).to_have_count(tools.NODES)
    await keyboard.type("kr-east1")
    east = [each for each in await visit.column(4) if each == "kr-east1"]
    await expect(visit.rows).to_have_count(len(east))
    await keyboard.press("Tab")
    await keyboard.press("Space")
    await expect(focused).to_have_attribute("aria-pressed", "true")
    daemon.simulator.drills.fail_node()
    await daemon.poll()
    await visit.later()
    await expect(visit.page.locator("#states")).to_contain_text("ERROR 1")
    await expect(focused).to_have_attribute("aria-pressed", "true")
    name = visit.page.get_by_role("columnheader", name="Node", exact=True)
    await name.get_by_role("button").press("Enter")
    await expect(name).to_have_attribute("aria-sort", "ascending")
    await focused.press("Enter")
    await expect(name).to_have_attribute("aria-sort", "descending")
    names = await visit.column(1)
    assert names == sorted(names, reverse=True)


async def test_a_region_stays_open_and_in_focus(daemon: Daemon, visit: Visit) -> None:
    """What a reader opened stays open while the page follows the polls and sorts anew."""
    await visit.open()
    summary = visit.region("kr-east1").locator("summary")
    await summary.press("Enter")
    await expect(visit.region("kr-east1")).to_have_attribute("open", "")
    daemon.simulator.drills.kill_region("e", "kr-east1")
    await daemon.poll()
    await visit.later()
    await expect(visit.page.locator("details").first).to_contain_text("kr-east1")
    await expect(visit.region("kr-east1")).to_have_attribute("open", "")
    await expect(summary).to_be_focused()


async def test_a_question_stands_in_the_address(visit: Visit) -> None:
    """A search can be passed on as a link, and the link asks the same."""
    await visit.open("nodes?q=kr-east1&state=RUNNING&sort=-gpu_node_name")
    await expect(visit.page.get_by_label("Search nodes")).to_have_value("kr-east1")
    await expect(visit.rows.first).to_contain_text("kr-east1")
    assert set(await visit.column(4)) == {"kr-east1"}
    await visit.page.get_by_label("Search nodes").fill("no such node")
    await expect(visit.page.get_by_text(f"0 of {tools.NODES} nodes")).to_be_visible()
    assert visit.page.url.endswith("#nodes?q=no+such+node&state=RUNNING&sort=-gpu_node_name")


async def test_the_back_button_goes_to_the_view_of_before(visit: Visit) -> None:
    """Also to the first one, whose address names no view."""
    await visit.open()
    await visit.go("Nodes")
    await visit.page.go_back()
    await expect(visit.page.get_by_role("heading", name="Targets")).to_be_focused()
    await visit.page.go_forward()
    await expect(visit.page.get_by_role("heading", name="GPU nodes")).to_be_focused()


async def test_the_open_table_is_asked_for_more_often(visit: Visit) -> None:
    """Every five seconds the open one, with the others less often."""
    await visit.open("fabrics")
    await expect(visit.page.locator("#states > li")).to_have_count(3)
    async with visit.page.expect_request("**/api/v1/fabrics"):
        await visit.later(6)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    await visit.later(1)
    assert not {"nodes", "runs"} & set(asked)


async def test_the_page_says_that_it_has_no_news(daemon: Daemon, visit_of: Open) -> None:
    """Since when, and why; and that it is over, once the exporter answers again."""
    async with visit_of() as visit:
        await visit.open()
        await expect(visit.page.locator("#as-of")).to_contain_text("Live")
        await daemon.stop()
        await visit.later()
        lost = visit.page.get_by_role("alert")
        await expect(lost).to_contain_text("No news from the exporter since")
        await expect(lost).to_contain_text("It does not answer.")
        await expect(visit.page.locator("#as-of")).to_be_empty()
        style = await visit.page.evaluate("getComputedStyle(headline, '::before').content")
        assert style == '"At that time: "'
        await visit.later(2)
        await expect(visit.page.locator("summary").first).to_contain_text("next poll not known")
        await daemon.serve()
        await visit.later()
        await expect(lost).to_be_hidden()
        await expect(visit.page.locator("#as-of")).to_contain_text("Live")


async def test_a_page_that_nobody_sees_asks_nothing(visit: Visit) -> None:
    """While the page is hidden no request goes out; seen again, it asks at once."""
    asked: list[str] = []
    await visit.open()
    await expect(visit.page.locator("#states li").first).to_be_visible()
    visit.page.on("request", lambda request: asked.append(request.url))
    await _set_hidden(visit, hidden=True)
    await visit.later(600)
    assert asked == []
    async with visit.page.expect_request("**/api/v1/targets"):
        await _set_hidden(visit, hidden=False)


async def _set_hidden(visit: Visit, *, hidden: bool) -> None:
    await visit.page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, "
        "configurable: true }); document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


async def test_it_works_below_another_path(chromium: Browser, tmp_path: Path) -> None:
    """Behind a proxy that serves it below a path, every address is still the right one."""
    async with AsyncExitStack() as stack:
        below = await stack.enter_async_context(tools.daemon(tmp_path, "/gpu/exporter"))
        visit = await stack.enter_async_context(tools.visit(chromium, below.url))
        await visit.open("nodes")
        await expect(visit.rows).to_have_count(tools.NODES)
        await visit.settled()


async def test_without_javascript_there_are_links(daemon: Daemon, visit_of: Open) -> None:
    """The page says what it lacks, and where the same can be read."""
    async with visit_of(java_script_enabled=False) as visit:
        await visit.page.goto(daemon.url)
        link = visit.page.get_by_role("link", name="the targets as JSON")
        await link.click()
        await expect(visit.page.locator("body")).to_contain_text('"targets"')


async def test_levels_follow_from_targets(visit: Visit) -> None:
    """A target is judged by its last poll, and late where the next is long overdue."""
    await visit.open()
    now, at = 1_000_000.0, {"at": 999_990.0, "message": "m"}
    well = {"up": True, "interval_seconds": 30, "next_poll": now + 5, "last_error": None}
    cases = [
        (well, "ok"),
        (well | {"last_error": {"reason": "auth", **at}}, "ok"),
        (well | {"next_poll": now - 59}, "ok"),
        (well | {"next_poll": now - 61}, "late"),
        (well | {"up": False, "next_poll": None}, "waiting"),
        (well | {"up": False, "last_error": {"reason": "auth", **at}}, "down"),
        (well | {"up": False, "last_error": {"reason": "partial", **at}}, "degraded"),
    ]
    for target, level in cases:
        assert await _call(visit, "judgement", "targetLevel", target, now) == level


async def test_a_catalogue_read_long_ago_does_not_hide_a_dead_region(visit: Visit) -> None:
    """A region is down where all that is polled most often fails; in part where some of it does."""
    await visit.open()
    place: Told = {"provider": "scp", "account": "a", "environment": "e", "region": "r"}
    error = {"reason": "connection", "message": "m", "at": 9.0}
    well: Told = {"up": True, "interval_seconds": 30, "next_poll": 20, "last_error": None}
    dead: Told = {"up": False, "interval_seconds": 30, "next_poll": 20, "last_error": error}
    slow = well | {"interval_seconds": 900}
    for targets, level in (
        ([dead, dead, slow], "down"),
        ([dead, well, slow], "degraded"),
        ([well, well, dead | {"interval_seconds": 900}], "degraded"),
        ([well, well, slow], "ok"),
    ):
        placed = [place | target for target in targets]
        [account] = await _call(visit, "judgement", "accountsOf", placed, 10.0)
        assert account["regions"][0]["level"] == level


async def test_every_reason_and_listed_state_is_known_to_the_page(visit: Visit) -> None:
    """No reason stands there as a bare word, and no listed state as a strange one."""
    await visit.open()
    for reason in (*REASONS, "late"):
        title = await _call(visit, "words", "reasonTitle", reason)
        advice = await _call(visit, "words", "reasonAdvice", reason)
        assert title != reason
        assert advice != await _call(visit, "words", "reasonAdvice", "no such reason")
    for vocabulary in sites.vocabularies().values():
        for state in vocabulary.listed:
            level = await _call(visit, "states", "stateLevel", {"state": state, "stale": False})
            assert level != "degraded", state
    strange = {"state": "MAINTENANCE", "stale": False}
    assert await _call(visit, "states", "stateLevel", strange) == "degraded"


async def _call(visit: Visit, module: str, function: str, *arguments: object) -> Any:  # noqa: ANN401
    """Call a function of one of the page's modules."""
    return await visit.page.evaluate(
        "async ([module, name, values]) => {"
        "  const main = document.querySelector('script[type=module]').src;"
        "  const found = await import(new URL(`${module}.js`, main));"
        "  return found[name](...values);"
        "}",
        [module, function, list(arguments)],
    )
