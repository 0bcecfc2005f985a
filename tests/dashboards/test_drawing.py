"""The drawings of the documentation: what is in them, and that they are of these dashboards."""

import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path
from typing import Any

import pytest

from boards.drawing import charts, tables
from boards.drawing.looks import look_of
from boards.drawing.page import draw
from boards.drawing.units import shown
from boards.prometheus import Series, Window
from boards.viewer import Viewer, panels
from tests.dashboards.files import ALL, Json

DOCS = Path(__file__).parent.parent.parent / "docs"
WINDOW = Window(1_000_000, 1_000_600, 15, points=40)


class Answers:
    """A Prometheus that has one series for everything."""

    async def label_values(self, *_: object) -> list[str]:
        """Return a value."""
        return ["prod"]

    async def instant(self, *_: object) -> list[Series]:
        """Return a node in a state."""
        return [Series({"state": "ERROR", "gpu_node_name": "n<1>"}, [(WINDOW.end, 42.0)])]

    async def over(self, _: str, window: Window) -> list[Series]:
        """Return a node that failed half way."""
        times = [window.start + step * window.step for step in range(40)]
        points = [(at, 1.0 if at < times[20] else 42.0) for at in times]
        return [Series({"state": "ERROR", "called": "n<1>"}, points)]


def panel(uid: str, title: str) -> Json:
    """Return a panel."""
    [found] = [one for one in panels(ALL[uid]) if one["title"] == title]
    return found


@pytest.mark.parametrize("uid", ALL)
async def test_every_panel_is_drawn_within_the_page(uid: str) -> None:
    """As XML that can be read, whatever the names are, with each title once."""
    viewer = Viewer(ALL[uid], Answers(), WINDOW)  # type: ignore[arg-type]  # it answers alike
    await viewer.choose(None)
    page = ET.fromstring(await draw(viewer))  # noqa: S314 - our own
    width, height = float(page.attrib["width"]), float(page.attrib["height"])
    parts = [child for child in page if child.tag.endswith("svg")]
    assert len(parts) == len(list(panels(ALL[uid])))
    for part in parts:
        x, y, w, h = (float(part.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x + w <= width
        assert y + h <= height


@pytest.mark.parametrize("uid", ALL)
def test_the_documentation_shows_this_dashboard_with_data(uid: str) -> None:
    """A panel that was added or renamed since the pictures were drawn fails here."""
    picture = (DOCS / "dashboards" / f"{uid}.svg").read_text(encoding="utf-8")
    for one in panels(ALL[uid]):
        assert f">{escape(one['title'])}</text>" in picture, one["title"]
    assert ">No data<" not in picture
    assert ">no data<" not in picture
    text = (DOCS / "dashboards.md").read_text(encoding="utf-8")
    assert f"](dashboards/{uid}.svg)" in text
    assert f"`{uid}`" in text


def test_rows_of_several_queries_join_on_what_they_share() -> None:
    """As Grafana's merge does: a row that one query lacks is there all the same."""
    one = panel("gpu-fleet", "Regions")
    here, there = {"region": "kr-west1"}, {"region": "kr-east1"}
    results = [[_at(here, 8.0)], [_at(here, 7.0)], [], [_at(here, 3.0), _at(there, 900.0)]]
    rows = tables.rows_of(one, results)
    assert rows == [
        {"Region": "kr-west1", "Nodes": 8.0, "Running": 7.0, "Age": 3.0},
        {"Region": "kr-east1", "Age": 900.0},
    ]


def _at(labels: dict[str, str], value: float) -> Series:
    return Series(labels, [(WINDOW.end, value)])


def test_hidden_columns_are_not_drawn() -> None:
    """They are there for the links alone."""
    one = panel("gpu-fleet", "Failed nodes now")
    labels = {"gpu_node_name": "aurora01-001", "gpu_node_id": "secret-id", "state": "ERROR"}
    drawn = "".join(tables.draw(one, [[_at(labels, 1.0)]], 600, 200, WINDOW.end))
    assert "aurora01-001" in drawn
    assert "secret-id" not in drawn


def test_a_gap_in_a_timeline_stays_one() -> None:
    """Values that are missing are not drawn as the ones before them."""
    one = panel("gpu-node", "State history")
    points = [(WINDOW.start, 1.0), (WINDOW.start + 15, 1.0), (WINDOW.start + 300, 1.0)]
    stretches = list(charts._stretches(one, Series({}, points), WINDOW))
    assert [(begin - WINDOW.start, end - WINDOW.start) for begin, end, _ in stretches] == [
        (0, 30),
        (300, 315),
    ]


def test_a_series_that_has_ended_has_no_value_now() -> None:
    """The legend says nothing of it, as Grafana's does."""
    ended = Series({}, [(WINDOW.start, 5.0)])
    assert charts._summary(ended, "last", "short", WINDOW) == ""
    assert charts._summary(Series({}, [(WINDOW.end, 5.0)]), "last", "short", WINDOW) == "5"
    assert charts._summary(ended, "sum", "short", WINDOW) == "5"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1234.0, "short", "1.23 K"),
        (0.25, "s", "250 ms"),
        (90.0, "s", "1.5 min"),
        (3600.0, "s", "1 h"),
        (12 * 2**20, "bytes", "12 MiB"),
        (0.5, "percentunit", "50%"),
        (1.0, "bool_on_off", "On"),
        (1_000_000_000_000.0, "dateTimeAsIso", "2001-09-09 01:46:40"),
        (1_000_000_540_000.0, "dateTimeFromNow", "1 min ago"),
        (1_000_086_400_000.0, "dateTimeFromNow", "in 23.8 h"),
    ],
)
def test_numbers_are_written_in_their_unit(value: float, unit: str, words: str) -> None:
    """Shortly, as Grafana does."""
    now = WINDOW.end if value < 1e12 else 1_000_000_600.0
    assert shown(value, unit, now) == words


@pytest.mark.parametrize(
    ("value", "look"),
    [
        (42.0, ("ERROR", "#D55E00")),
        (33.0, ("not listed", "#A6507F")),
    ],
)
def test_a_code_is_shown_as_its_state(value: float, look: tuple[str, str]) -> None:
    """By the mappings of the panel, not by its thresholds."""
    field: Any = panel("gpu-node", "State history")["fieldConfig"]["defaults"]
    assert look_of(field, value, WINDOW.end) == look
