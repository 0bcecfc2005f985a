"""The page on the simulated clouds tells what these do."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

import aiohttp
import pytest

from exporter.simulator import control, orders
from exporter.simulator.server import Simulator
from tests.docs import commands, mentions
from tests.docs.conftest import Spoil
from tests.docs.pages import ROOT, Page

PAGE = Page(ROOT, "docs/simulator.md")
ADDRESS = "http://127.0.0.1:10111"


@dataclass(frozen=True)
class Request:
    """What a line with curl asks for."""

    method: str
    path: str
    body: str | None


def requests(page: Page) -> Iterator[Request]:
    """Yield what the page's lines with curl ask the simulator for."""
    for command in commands.commands(page):
        if any(word.startswith(ADDRESS) for word in command.arguments):
            yield request(command.arguments)


def request(arguments: Iterable[str]) -> Request:
    """Read the arguments of curl; ValueError where there is one that no page needs."""
    words, method, path, body = iter(arguments), None, "", None
    for word in words:
        match word:
            case "-X":
                method = next(words)
            case "-d":
                body = next(words)
            case _ if word.startswith(ADDRESS):
                path = word.removeprefix(ADDRESS)
            case _ if word != "-s":
                raise ValueError(word)
    return Request(method or ("POST" if body else "GET"), path, body)


async def statuses(asked: Iterable[Request]) -> list[int]:
    """Ask a simulator, one after the other, and return the statuses of its answers."""
    found = []
    async with Simulator(16, speed=0, alive=False) as simulator, aiohttp.ClientSession() as session:
        for each in asked:
            url = simulator.url + each.path
            async with (
                asyncio.timeout(20),
                session.request(each.method, url, data=each.body) as got,
            ):
                found.append(got.status)
    return found


async def test_the_lines_of_the_page_are_answered() -> None:
    """Each request of the page, in its order, is one that the simulator carries out."""
    asked = list(requests(PAGE))

    assert len(asked) > 3
    assert all(200 <= status < 300 for status in await statuses(asked))


@pytest.mark.parametrize(
    "line", ['/_drills -d \'{"kind": "fail_noed"}\'', "/_truht", "-X PUT /_faults"]
)
async def test_a_line_that_is_refused_is_found(spoiled: Spoil, line: str) -> None:
    """A slip in an address, a method or a body shows in the status."""
    line = line.replace("/_", f"{ADDRESS}/_")
    *_, asked = requests(spoiled(f"\n```sh\ncurl -s {line}\n```\n"))

    assert [status >= 400 for status in await statuses([asked])] == [True]


def test_every_drill_is_on_the_page() -> None:
    """Each kind of drill, and what it may be given, stands there."""
    union = orders.DrillOrder.model_fields["root"].annotation
    drills = {drill: {*drill.model_fields} - {"kind"} for drill in get_args(union)}
    kinds = {get_args(drill.model_fields["kind"].annotation)[0] for drill in drills}

    assert len(kinds) == len(drills) > 5
    assert mentions.missing(kinds.union(*drills.values()), PAGE) == []


def test_every_address_is_on_the_page() -> None:
    """Each path of the simulator's own interface stands there."""
    assert mentions.missing({route.path for route in control.ROUTES}, PAGE) == []
