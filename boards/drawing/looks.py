"""How a value looks by a field's configuration: its words and its colour."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from boards.drawing.svg import TEXT
from boards.drawing.units import shown
from boards.prometheus import Series

Json = Mapping[str, Any]

# Grafana's own, for series that have no colour of their own.
_PALETTE = ("#7EB26D", "#EAB839", "#6ED0E0", "#EF843C", "#E24D42", "#1F78C1", "#BA43A9", "#705DA0")
_LABEL = re.compile(r"\{\{(\w+)\}\}")


def name_of(series: Series, legend: str) -> str:
    """Return the name of a series as its query's legend makes it."""
    named = _LABEL.sub(lambda match: series.labels.get(match[1], ""), legend)
    return " ".join(named.split())


def threshold_colour(steps: Sequence[Json], value: float) -> str:
    """Return the colour of the highest step that a value has reached."""
    reached = [step for step in steps if step["value"] is None or value >= step["value"]]
    return str(reached[-1]["color"])


def look_of(field: Json, value: float | str, now: float) -> tuple[str, str]:
    """Return the words and the colour of a value."""
    mapped = _mapped(field.get("mappings", ()), value)
    if isinstance(value, str):
        return mapped or (value, TEXT)
    colour = threshold_colour(field["thresholds"]["steps"], value)
    return mapped or (shown(value, field["unit"], now), colour)


def _mapped(mappings: Sequence[Json], value: float | str) -> tuple[str, str] | None:
    key = value if isinstance(value, str) else f"{value:g}"
    for mapping in mappings:
        options = mapping["options"]
        if mapping["type"] == "value" and key in options:
            return options[key]["text"], options[key]["color"]
        if mapping["type"] == "regex" and re.fullmatch(options["pattern"], key):
            return key, options["result"]["color"]
    return None


def series_colour(panel: Json, name: str, index: int) -> str:
    """Return the colour of a series by its name, or else by its place among the others."""
    for override in panel["fieldConfig"]["overrides"]:
        if override["matcher"]["options"] == name:
            for each in override["properties"]:
                if each["id"] == "color":
                    return str(each["value"]["fixedColor"])
    colour = panel["fieldConfig"]["defaults"]["color"]
    if colour["mode"] == "fixed":
        return str(colour["fixedColor"])
    return _PALETTE[index % len(_PALETTE)]
