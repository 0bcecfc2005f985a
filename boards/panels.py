"""A panel as data, and its JSON.

A panel knows its size; where it stands, and its number, are given to it by the board.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from boards.states import NOTE, name_mappings

Json = dict[str, Any]

DATASOURCE: Json = {"type": "prometheus", "uid": "${datasource}"}
LIMIT = 64
"""So many objects do timelines, and tables of what is known, show where there are more."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query; `legend` names its series."""

    expr: str
    legend: str = ""

    def to_json(self, letter: str, shape: Json) -> Json:
        """Return the target; `shape` says whether it is a range, an instant or a table."""
        target: Json = {"refId": letter, "datasource": DATASOURCE, "expr": self.expr, **shape}
        target |= {"editorMode": "code"}
        return target | ({"legendFormat": self.legend} if self.legend else {})


@dataclass(frozen=True, slots=True)
class Link:
    """A link, with Grafana's variables in its address."""

    title: str
    url: str

    def to_json(self) -> Json:
        """Return a data link."""
        return {"title": self.title, "url": self.url, "targetBlank": False}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the label or value it comes from, and how it is shown.

    A hidden one is there for the links of the others.
    """

    source: str
    title: str
    unit: str = ""
    width: int = 0
    state: bool = False
    hidden: bool = False
    steps: Sequence[tuple[float | None, str]] = ()
    links: Sequence[Link] = ()

    @property
    def override(self) -> Json:
        """Return the override that shows the column, which by then has its title."""
        properties = [*self._look(), *self._cell()]
        if self.links:
            properties.append(override_of("links", [link.to_json() for link in self.links]))
        return {"matcher": {"id": "byName", "options": self.title}, "properties": properties}

    def _look(self) -> list[Json]:
        properties = [override_of("custom.width", self.width)] if self.width else []
        if self.hidden:
            properties.append(override_of("custom.hidden", value=True))
        if self.unit:
            properties.append(override_of("unit", self.unit))
        if self.state:
            properties.append(override_of("mappings", name_mappings()))
        if self.steps:
            properties.append(override_of("thresholds", thresholds(self.steps)))
        return properties

    def _cell(self) -> list[Json]:
        if not (self.state or self.steps):
            return []
        cell = {"type": "color-background", "mode": "basic"}
        return [override_of("custom.cellOptions", cell)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """A panel: `width` of 24 and `height` are in Grafana's grid."""

    type: str
    title: str
    description: str
    queries: Sequence[Query]
    unit: str
    width: int
    height: int
    shape: Json
    options: Json
    steps: Sequence[tuple[float | None, str]] = ((None, NOTE),)
    colour: Json = field(default_factory=lambda: {"mode": "thresholds"})
    custom: Json = field(default_factory=dict)
    defaults: Json = field(default_factory=dict)
    overrides: Sequence[Json] = ()
    transformations: Sequence[Json] = ()
    links: Sequence[Link] = ()

    def to_json(self, number: int, x: int, y: int) -> Json:
        """Return the panel with its number, at its place."""
        targets = zip(ascii_uppercase, self.queries, strict=False)
        return {
            "id": number,
            "type": self.type,
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "gridPos": {"h": self.height, "w": self.width, "x": x, "y": y},
            "targets": [query.to_json(letter, self.shape) for letter, query in targets],
            "options": self.options,
            "fieldConfig": {"defaults": self._defaults(), "overrides": list(self.overrides)},
            "transformations": list(self.transformations),
        }

    def _defaults(self) -> Json:
        found: Json = {
            "unit": self.unit,
            "color": self.colour,
            "thresholds": thresholds(self.steps),
            "custom": self.custom,
            **self.defaults,
        }
        if self.links:
            found["links"] = [link.to_json() for link in self.links]
        return found


def thresholds(steps: Sequence[tuple[float | None, str]]) -> Json:
    """Return thresholds; the first step has no value, for it is what lies below all others."""
    return {
        "mode": "absolute",
        "steps": [{"value": value, "color": colour} for value, colour in steps],
    }


def override_of(name: str, value: object) -> Json:
    """Return one property of an override."""
    return {"id": name, "value": value}
