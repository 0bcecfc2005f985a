"""Tables: what Grafana's transformations make of the results, and how it is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from boards.drawing import svg
from boards.drawing.looks import look_of
from boards.prometheus import Series

Json = Mapping[str, Any]
Cell = float | str
Row = dict[str, Cell]

_ROW_PIXELS = 26


def rows_of(panel: Json, results: Sequence[Sequence[Series]]) -> list[Row]:
    """Return the rows of a table, their cells by the names of the columns."""
    single = len(results) == 1
    frames = [
        [_row(series, "Value" if single else f"Value #{target['refId']}") for series in result]
        for target, result in zip(panel["targets"], results, strict=True)
    ]
    names = _option(panel, "organize")["renameByName"]
    rows = [{names[key]: row[key] for key in names if key in row} for row in _merged(frames)]
    for by in panel["options"]["sortBy"]:
        rows.sort(key=lambda row: _order(row.get(by["displayName"], "")), reverse=by["desc"])
    return rows


def _row(series: Series, value: str) -> Row:
    return {**series.labels, value: series.last}


def _merged(frames: Sequence[Sequence[Row]]) -> list[Row]:
    """Join rows that are equal in the labels that all results have; some result has rows."""
    shared = set.intersection(*(_labels(frame) for frame in frames if frame))
    found: dict[tuple[Cell, ...], Row] = {}
    rows: list[Row] = []
    for row in (row for frame in frames for row in frame):
        key = tuple(row.get(name, "") for name in sorted(shared))
        if len(frames) == 1 or key not in found:
            found[key] = dict(row)
            rows.append(found[key])
        else:
            found[key] |= row
    return rows


def _labels(frame: Iterable[Row]) -> set[str]:
    return {name for row in frame for name in row if not name.startswith("Value")}


def _order(cell: Cell) -> tuple[bool, float, str]:
    return (True, 0.0, cell) if isinstance(cell, str) else (False, cell, "")


def _option(panel: Json, transformation: str) -> Json:
    [found] = [one for one in panel["transformations"] if one["id"] == transformation]
    options: Json = found["options"]
    return options


def draw(
    panel: Json, results: Sequence[Sequence[Series]], width: float, height: float, now: float
) -> Iterable[str]:
    """Yield the drawing of a table within a width and a height."""
    fields = {name: _field(panel, name) for name in _shown(panel)}
    widths = _widths(fields, width)
    yield from _head(fields, widths)
    y = float(_ROW_PIXELS)
    for row in rows_of(panel, results):
        if y > height:
            break
        yield svg.rectangle(0, y + _ROW_PIXELS - 1, width, 1, svg.GRID)
        yield from _cells(row, fields, widths, y, now)
        y += _ROW_PIXELS


def _head(fields: Mapping[str, Json], widths: Mapping[str, float]) -> Iterable[str]:
    x = 0.0
    for name in fields:
        words = svg.shortened(name, widths[name] - 8)
        yield svg.text(x + 6, 17, words, colour="#6e9fff", weight="bold")
        x += widths[name]


def _cells(
    row: Row, fields: Mapping[str, Json], widths: Mapping[str, float], y: float, now: float
) -> Iterable[str]:
    x = 0.0
    for name, field in fields.items():
        if name in row:
            yield from _cell(field, row[name], (x, y, widths[name]), now)
        x += widths[name]


def _cell(field: Json, value: Cell, place: tuple[float, float, float], now: float) -> Iterable[str]:
    x, y, width = place
    words, colour = look_of(field, value, now)
    filled = "custom.cellOptions" in field
    if filled:
        yield svg.rectangle(x + 1, y + 1, width - 2, _ROW_PIXELS - 3, colour)
    link = "#6e9fff" if "links" in field else svg.TEXT
    shown = svg.shortened(words, width - 8)
    yield svg.text(x + 6, y + 17, shown, colour="#000000" if filled else link)


def _shown(panel: Json) -> list[str]:
    """Return the names of the columns in their order, without those that are hidden."""
    organize = _option(panel, "organize")
    order, names = organize["indexByName"], organize["renameByName"]
    columns = [names[source] for source in sorted(order, key=order.__getitem__)]
    return [name for name in columns if "custom.hidden" not in _field(panel, name)]


def _field(panel: Json, name: str) -> Json:
    field = dict(panel["fieldConfig"]["defaults"])
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"]["options"] == name:
            field |= {each["id"]: each["value"] for each in override["properties"]}
    return field


def _widths(fields: Mapping[str, Json], width: float) -> dict[str, float]:
    fixed = {
        name: field["custom.width"] for name, field in fields.items() if "custom.width" in field
    }
    free = max((width - sum(fixed.values())) / max(len(fields) - len(fixed), 1), 60)
    return {name: fixed.get(name, free) for name in fields}
