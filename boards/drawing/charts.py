"""Stats, bars, timelines and lines, drawn plainly."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import Any

from boards.drawing import svg
from boards.drawing.looks import look_of, name_of, series_colour
from boards.drawing.units import shown
from boards.prometheus import Series, Window

Json = Mapping[str, Any]
Results = Sequence[Sequence[Series]]
Named = list[tuple[str, Series]]

_AXIS = 58.0
_FOOT = 22.0
_TICKS = 4
_TIME = 70.0


def named(panel: Json, results: Results) -> Named:
    """Return all series of a panel with their names, without what is no number."""
    pairs = zip(panel["targets"], results, strict=True)
    found = (
        (name_of(series, target.get("legendFormat", "")), _finite(series))
        for target, result in pairs
        for series in result
    )
    return [(name, series) for name, series in found if series.points]


def _finite(series: Series) -> Series:
    return Series(series.labels, [(at, value) for at, value in series.points if isfinite(value)])


def stat(panel: Json, results: Results, width: float, height: float, now: float) -> Iterable[str]:
    """Yield one large number, or name, or what stands there without any."""
    defaults = panel["fieldConfig"]["defaults"]
    words, colour = defaults["noValue"], svg.DIM
    for name, series in named(panel, results)[:1]:
        words, colour = look_of(defaults, series.last, now)
        words = name if panel["options"]["textMode"] == "name" else words
    size = min(height * 0.5, width / max(len(words), 1) * 1.5)
    yield svg.text(
        width / 2, height / 2 + size / 3, words, size=size, colour=colour, anchor="middle",
        weight="bold",
    )  # fmt: skip


def bars(panel: Json, results: Results, width: float, height: float, now: float) -> Iterable[str]:
    """Yield a horizontal bar for each series."""
    defaults = panel["fieldConfig"]["defaults"]
    series = named(panel, results)
    most = defaults.get("max") or max([one.last for _, one in series], default=1) or 1
    thick = min(height / max(len(series), 1), 34)
    label, value = max(width * 0.34, 170.0), 80.0
    for row, (name, one) in enumerate(series):
        y, (words, colour) = row * thick, look_of(defaults, one.last, now)
        full = width - label - value
        yield svg.text(0, y + thick * 0.65, svg.shortened(name, label, 11), size=11)
        yield svg.rectangle(label, y + 3, full, thick - 6, svg.GRID)
        yield svg.rectangle(label, y + 3, full * min(one.last / most, 1), thick - 6, colour)
        yield svg.text(width, y + thick * 0.65, words, colour=colour, anchor="end")


def timeline(
    panel: Json, results: Results, width: float, height: float, window: Window
) -> Iterable[str]:
    """Yield a row of coloured stretches for each series, and what the colours mean."""
    series = named(panel, results)
    label, bottom = 170.0, height - 2 * _FOOT
    thick = min(bottom / max(len(series), 1), 40)
    across = _across(label, width, window)
    meanings: dict[str, str] = {}
    for row, (name, one) in enumerate(series):
        y, size = row * thick, min(thick * 0.8, 11)
        yield svg.text(label - 8, y + thick * 0.72, svg.shortened(name, label, size), size=size,
                       anchor="end")  # fmt: skip
        for begin, end, (words, colour) in _stretches(panel, one, window):
            meanings[words] = colour
            x = across(begin)
            yield svg.rectangle(x, y + 1, across(end) - x, thick - 2, colour)
    yield from _times(label, width, bottom, window)
    yield from _meanings(meanings, height)


def _stretches(
    panel: Json, series: Series, window: Window
) -> Iterable[tuple[float, float, tuple[str, str]]]:
    """Yield from when to when a series had one value without a gap, and how that looks."""
    runs = groupby(series.points, key=lambda point: point[1])
    for value, points in runs:
        times = [at for at, _ in points]
        look = look_of(panel["fieldConfig"]["defaults"], value, window.end)
        begin = times[0]
        for before, after in zip(times, [*times[1:], None], strict=True):
            if after is None or after - before > window.step * 1.5:
                yield begin, min(before + window.step, window.end), look
                begin = after or begin


def _meanings(meanings: Mapping[str, str], height: float) -> Iterable[str]:
    x = 0.0
    for words, colour in meanings.items():
        yield svg.rectangle(x, height - 12, 10, 10, colour)
        yield svg.text(x + 14, height - 3, words, size=11)
        x += 26 + len(words) * 7.2


def lines(
    panel: Json, results: Results, width: float, height: float, window: Window
) -> Iterable[str]:
    """Yield lines, stacked areas or bars over time, with a legend at the right."""
    series = named(panel, results)
    custom = panel["fieldConfig"]["defaults"]["custom"]
    stacked = custom["stacking"]["mode"] == "normal"
    beside = bool(panel["options"]["legend"]["calcs"])
    right = width - min(width * 0.4, 190.0) - 12 if beside else width - 4
    bottom = height - _FOOT * (1 if beside else 2)
    layers = _layers(series, stacked=stacked)
    most = _round_up(max([top for layer in layers for _, _, top in layer], default=1))
    across = _across(_AXIS, right, window)

    def up(value: float) -> float:
        return bottom - value / most * (bottom - 6)

    yield from _scale(panel, most, right, up)
    for index, ((name, _), layer) in enumerate(zip(series, layers, strict=True)):
        colour = series_colour(panel, name, index)
        if custom["drawStyle"] == "bars":
            yield from _bars(layer, colour, across, up)
        elif stacked:
            yield from _areas(layer, colour, across, up, window.step)
        else:
            yield svg.line([(across(at), up(top)) for at, _, top in layer], colour)
    yield from _times(_AXIS, right, bottom, window)
    if beside:
        yield from _legend(panel, series, (right + 16, width), window)
    else:
        yield from _names(panel, series, height - 4)


Layer = list[tuple[float, float, float]]


def _layers(series: Named, *, stacked: bool) -> list[Layer]:
    """Return each point of each series as its time, bottom and top."""
    heights: dict[float, float] = {}
    layers = []
    for _, one in series:
        layer = []
        for at, value in one.points:
            below = heights.get(at, 0.0) if stacked else 0.0
            heights[at] = below + value
            layer.append((at, below, below + value))
        layers.append(layer)
    return layers


def _areas(
    layer: Layer,
    colour: str,
    across: Callable[[float], float],
    up: Callable[[float], float],
    step: float,
) -> Iterable[str]:
    """Yield the areas of a stacked series, in steps, with gaps where it has no point."""
    for at, below, top in layer:
        begin, end = across(at), across(at + step)
        corners = [(begin, up(below)), (begin, up(top)), (end, up(top)), (end, up(below))]
        yield svg.area(corners, colour)


def _bars(
    layer: Layer, colour: str, across: Callable[[float], float], up: Callable[[float], float]
) -> Iterable[str]:
    for at, below, top in layer:
        yield svg.rectangle(across(at) - 2, up(top), 4, up(below) - up(top), colour)


def _scale(panel: Json, most: float, right: float, up: Callable[[float], float]) -> Iterable[str]:
    defaults = panel["fieldConfig"]["defaults"]
    for tick in range(_TICKS + 1):
        value = most * tick / _TICKS
        y = up(value)
        yield svg.line([(_AXIS, y), (right, y)], svg.GRID)
        words = shown(value, defaults["unit"], 0)
        yield svg.text(_AXIS - 6, y + 4, words, size=10, colour=svg.DIM, anchor="end")
    for step in defaults["thresholds"]["steps"][1:]:
        if 0 < step["value"] <= most:
            y = up(step["value"])
            yield svg.line([(_AXIS, y), (right, y)], step["color"], dashed=True)


def _legend(
    panel: Json, series: Named, edges: tuple[float, float], window: Window
) -> Iterable[str]:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    [calc] = panel["options"]["legend"]["calcs"]
    left, right = edges
    for row, (name, one) in enumerate(series):
        y = 12 + row * 17
        words = _summary(one, calc, unit, window)
        yield svg.rectangle(left, y - 7, 10, 4, series_colour(panel, name, row))
        room = right - left - 20 - len(words) * 6.5
        yield svg.text(left + 14, y, svg.shortened(name, room, 10), size=10)
        yield svg.text(right, y, words, size=10, anchor="end")


def _summary(series: Series, calc: str, unit: str, window: Window) -> str:
    """Return what the legend says of a series; one that has ended has no last value."""
    if calc == "sum":
        return shown(sum(value for _, value in series.points), unit, 0)
    ended = window.end - series.points[-1][0] > 2 * window.step
    return "" if ended else shown(series.last, unit, 0)


def _names(panel: Json, series: Named, y: float) -> Iterable[str]:
    """Yield the names of series below a chart that has no room for a table beside it."""
    x = 0.0
    for row, (name, _) in enumerate(series):
        yield svg.rectangle(x, y - 7, 10, 4, series_colour(panel, name, row))
        yield svg.text(x + 14, y, name, size=10)
        x += 30 + len(name) * 6


def _times(left: float, right: float, y: float, window: Window) -> Iterable[str]:
    across = _across(left, right, window)
    ticks = min(_TICKS, int((right - left) / _TIME))
    for tick in range(ticks + 1):
        at = window.start + (window.end - window.start) * tick / ticks
        anchor = {0: "start", ticks: "end"}.get(tick, "middle")
        words = f"{datetime.fromtimestamp(at, UTC):%H:%M:%S}"
        yield svg.text(across(at), y + 15, words, size=10, colour=svg.DIM, anchor=anchor)


def _across(left: float, right: float, window: Window) -> Callable[[float], float]:
    length = window.end - window.start
    return lambda at: left + max(at - window.start, 0) / length * (right - left)


def _round_up(value: float) -> float:
    """Return the next number that divides well into a scale."""
    if value <= 0:
        return 1.0
    size = 10.0 ** (len(str(int(value))) - 1) if value >= 1 else 10.0**-4
    while size < value / 10:
        size *= 10
    return next(step * size for step in (1, 2, 4, 6, 8, 10, 12) if step * size >= value)
