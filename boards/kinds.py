"""The kinds of panel that the dashboards use, with what all of a kind have in common."""

from collections.abc import Sequence
from typing import Any

from boards.panels import Column, Json, Panel, Query, override_of
from boards.states import GOOD, LOOKS, NOTE, UNLISTED, WARN, code_mappings

_ROOM_FOR_A_TABLE = 7


def stat(title: str, description: str, expr: str, **more: Any) -> Panel:  # noqa: ANN401 - Panel's
    """Return one number, which its thresholds colour."""
    given: Json = {"unit": "short", "width": 3, "height": 4} | more
    options = {
        "graphMode": "none",
        "colorMode": "value",
        "justifyMode": "center",
        "textMode": given.pop("text", "value"),
        "orientation": "auto",
        "wideLayout": True,
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    }
    return Panel(
        type="stat",
        title=title,
        description=description,
        queries=[Query(expr, given.pop("legend", ""))],
        shape={"instant": True, "range": False, "format": "time_series"},
        options=options,
        defaults={"noValue": "no data"} | given.pop("defaults", {}),
        **given,
    )


def lines(title: str, description: str, *queries: Query, **more: Any) -> Panel:  # noqa: ANN401
    """Return lines over time; `stacked` ones fill the areas between them."""
    given: Json = {"unit": "short", "width": 12, "height": 8} | more
    stacked = given.pop("stacked", False)
    style = given.pop("style", "line")
    custom: Json = {
        "drawStyle": style,
        "lineInterpolation": "stepAfter" if stacked else "linear",
        "lineWidth": 1,
        "fillOpacity": 70 if stacked or style == "bars" else 10,
        "showPoints": "never",
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "axisSoftMin": 0,
    }
    custom["thresholdsStyle"] = {"mode": "line" if len(given.get("steps", ())) > 1 else "off"}
    return Panel(
        type="timeseries",
        title=title,
        description=description,
        queries=queries,
        shape={"instant": False, "range": True, "format": "time_series"},
        options={
            "legend": _legend(given.pop("calcs", ["last"]), given["width"]),
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        colour=given.pop("colour", {"mode": "palette-classic"}),
        custom=custom,
        overrides=[*given.pop("overrides", ()), *_own_colours(queries)],
        **given,
    )


def states_over_time(title: str, description: str, query: Query, **more: Any) -> Panel:  # noqa: ANN401
    """Return counts by state, stacked, each state in its own colour."""
    overrides = [_coloured(state, look.colour) for state, look in LOOKS.items()]
    other = {"mode": "fixed", "fixedColor": UNLISTED.colour}
    more = {
        "stacked": True,
        "colour": other,
        "overrides": overrides,
        "steps": ((None, GOOD),),
    } | more
    return lines(title, description, query, **more)


def timeline(title: str, description: str, query: Query, **more: Any) -> Panel:  # noqa: ANN401
    """Return a row of coloured stretches for each series of state codes."""
    given: Json = {"unit": "none", "width": 24, "height": 10} | more
    return Panel(
        type="state-timeline",
        title=title,
        description=description,
        queries=[query],
        shape={"instant": False, "range": True, "format": "time_series"},
        options={
            "mergeValues": True,
            "showValue": "auto",
            "alignValue": "left",
            "rowHeight": 0.85,
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "single", "sort": "none"},
        },
        custom={"lineWidth": 0, "fillOpacity": 90},
        defaults={"mappings": given.pop("mappings", code_mappings())},
        **given,
    )


def bars(title: str, description: str, *queries: Query, **more: Any) -> Panel:  # noqa: ANN401
    """Return a horizontal bar for each series."""
    given: Json = {"unit": "short", "width": 8, "height": 8} | more
    return Panel(
        type="bargauge",
        title=title,
        description=description,
        queries=queries,
        shape={"instant": True, "range": False, "format": "time_series"},
        options={
            "orientation": "horizontal",
            "displayMode": "basic",
            "valueMode": "color",
            "namePlacement": "auto",
            "showUnfilled": True,
            "sizing": "auto",
            "minVizWidth": 8,
            "minVizHeight": 16,
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        },
        **given,
    )


def table(
    title: str,
    description: str,
    columns: Sequence[Column],
    *queries: Query,
    **more: Any,  # noqa: ANN401 - Panel's own
) -> Panel:
    """Return a table with these columns and no others; several queries join on what they share."""
    given: Json = {"unit": "none", "width": 12, "height": 8} | more
    sort = given.pop("sort", None)
    names = {column.source: column.title for column in columns}
    order = {column.source: index for index, column in enumerate(columns)}
    chosen = {"include": {"names": list(names)}}
    return Panel(
        type="table",
        title=title,
        description=description,
        queries=queries,
        shape={"instant": True, "range": False, "format": "table"},
        options={
            "showHeader": True,
            "cellHeight": "sm",
            "footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": ""},
            "sortBy": [{"displayName": sort.removeprefix("-"), "desc": sort[0] == "-"}]
            if sort
            else [],
        },
        custom={"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False},
        defaults={"noValue": ""},
        overrides=[column.override for column in columns if column.override["properties"]],
        transformations=[
            *([{"id": "merge", "options": {}}] if len(queries) > 1 else []),
            {"id": "filterFieldsByName", "options": chosen},
            {
                "id": "organize",
                "options": {"excludeByName": {}, "indexByName": order, "renameByName": names},
            },
        ],
        **given,
    )


def _own_colours(queries: Sequence[Query]) -> list[Json]:
    """Return overrides for series of one name each, which thus differ to every eye."""
    names = [query.legend for query in queries if query.legend and "{{" not in query.legend]
    colours = zip(names, (NOTE, WARN, GOOD), strict=False)
    return [_coloured(name, colour) for name, colour in colours]


def _coloured(name: str, colour: str) -> Json:
    value = {"mode": "fixed", "fixedColor": colour}
    return {
        "matcher": {"id": "byName", "options": name},
        "properties": [override_of("color", value)],
    }


def _legend(calcs: Sequence[str], width: int) -> Json:
    """Return a table at the right, or a list of names below where there is no room for one.

    `last` and not `lastNotNull`: a series that has ended has no value now.
    """
    if width < _ROOM_FOR_A_TABLE:
        return {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}
    return {"displayMode": "table", "placement": "right", "showLegend": True, "calcs": [*calcs]}
