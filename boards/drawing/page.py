"""A whole dashboard as one drawing: every panel at its place, with its results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boards.drawing import charts, svg, tables
from boards.prometheus import Series, Window
from boards.viewer import Viewer, panels

Json = Mapping[str, Any]
Results = Sequence[Sequence[Series]]

_COLUMN = 60
_CELL = 30
_GAP = 8
_TITLE = 30
_HEAD = 74


async def draw(viewer: Viewer) -> str:
    """Ask all queries of a dashboard, and return its drawing."""
    board = viewer.board
    parts = [*_header(viewer), *(_heading(one) for one in board["panels"] if one["type"] == "row")]
    for panel in panels(board):
        results = [await viewer.ask(target) for target in panel["targets"]]
        parts.append(_panel(panel, results, viewer.window))
    bottom = max(_place(panel)[1] + _place(panel)[3] for panel in board["panels"])
    return svg.page(24 * _COLUMN + _GAP, bottom + _GAP, *parts)


def _header(viewer: Viewer) -> Iterable[str]:
    yield svg.text(16, 28, viewer.board["title"], size=17, weight="bold")
    x = 16.0
    for variable in viewer.board["templating"]["list"]:
        if variable["hide"]:
            continue
        words = f"{variable['label']}: {_choice(viewer, variable['name'])}"
        width = len(words) * 7 + 16
        yield svg.rectangle(x, 40, width, 24, svg.PANEL, stroke=svg.GRID, radius=2)
        yield svg.text(x + 8, 56, words)
        x += width + 8


def _choice(viewer: Viewer, name: str) -> str:
    if name == "datasource":
        return "Prometheus"
    value = viewer.values[name]
    return "All" if value == ".*" else value


def _place(panel: Json) -> tuple[float, float, float, float]:
    grid = panel["gridPos"]
    height = grid["h"] * _CELL + (grid["h"] - 1) * _GAP
    top = _HEAD + grid["y"] * (_CELL + _GAP)
    return grid["x"] * _COLUMN + _GAP, top, grid["w"] * _COLUMN - _GAP, height


def _heading(row: Json) -> str:
    x, y, _, _ = _place(row)
    return svg.text(x + 8, y + 20, f"⌄ {row['title']}", size=14, weight="bold")


def _panel(panel: Json, results: Results, window: Window) -> str:
    x, y, width, height = _place(panel)
    inner = (width - 20, height - _TITLE - 8)
    title = svg.shortened(panel["title"], width - 20)
    frame = svg.rectangle(0.5, 0.5, width - 1, height - 1, svg.PANEL, stroke=svg.GRID, radius=2)
    return svg.part(
        x,
        y,
        width,
        height,
        frame,
        svg.text(10, 20, title, weight="bold"),
        svg.part(10, _TITLE, *inner, *_content(panel, results, inner, window)),
    )


def _content(
    panel: Json, results: Results, inner: tuple[float, float], window: Window
) -> Iterable[str]:
    kind = panel["type"]
    if kind != "stat" and not any(results):
        words = "No data"
        return [svg.text(inner[0] / 2, inner[1] / 2, words, colour=svg.DIM, anchor="middle")]
    if kind == "timeseries":
        return charts.lines(panel, results, *inner, window)
    if kind == "state-timeline":
        return charts.timeline(panel, results, *inner, window)
    drawn = {"stat": charts.stat, "bargauge": charts.bars, "table": tables.draw}[kind]
    return drawn(panel, results, *inner, window.end)
