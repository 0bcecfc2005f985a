"""A viewer of a dashboard: chooses values of its variables, and asks its queries.

It reads the JSON, not the code that made it, and fills in variables as Grafana does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from boards.prometheus import Prometheus, Series, Window

Json = dict[str, Any]

_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_LABEL_VALUES = re.compile(r"label_values\((.+), (\w+)\)", re.DOTALL)
_QUERY_RESULT = re.compile(r"query_result\((.+)\)", re.DOTALL)
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|]")
_HIDDEN = 2


@dataclass(slots=True)
class Viewer:
    """Somebody who looks at a dashboard; `choose` comes first."""

    board: Json
    prometheus: Prometheus
    window: Window
    options: dict[str, list[str]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    async def choose(self, number: int | None) -> None:
        """Choose so many values of each variable that can be seen, or All with None."""
        for variable in self.board["templating"]["list"]:
            if variable["type"] != "query":
                continue
            found = await self._options(variable)
            self.options[variable["name"]] = found
            many = None if variable["hide"] == _HIDDEN else number
            self.values[variable["name"]] = _chosen(variable, found, many)

    async def _options(self, variable: Json) -> list[str]:
        query = self.fill(variable["query"]["query"])
        if match := _LABEL_VALUES.fullmatch(query):
            return await self.prometheus.label_values(match[1], match[2], self.window)
        match = _QUERY_RESULT.fullmatch(query)
        if match is None:
            raise ValueError(f"not a query of a variable: {query}")
        series = await self.prometheus.instant(match[1], self.window.end)
        pattern = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
        found = (pattern.search(_as_text(one)) for one in series)
        return list(dict.fromkeys(match["value"] for match in found if match))

    def fill(self, text: str) -> str:
        """Return a query with the chosen values in the place of its variables."""
        known = {**self.window.macros, **self.values}
        return _VARIABLE.sub(lambda match: known[match[1] or match[2]], text)

    async def ask(self, target: Mapping[str, Any]) -> list[Series]:
        """Return the result of a query of a panel."""
        expr = self.fill(target["expr"])
        if target["range"]:
            return await self.prometheus.over(expr, self.window)
        return await self.prometheus.instant(expr, self.window.end)

    async def firing(self) -> list[Series]:
        """Return the result of the query of the annotations."""
        [annotation] = self.board["annotations"]["list"]
        return await self.prometheus.over(self.fill(annotation["expr"]), self.window)


def panels(board: Mapping[str, Any]) -> Iterator[Json]:
    """Yield the panels of a dashboard that show something."""
    return (panel for panel in board["panels"] if panel["type"] != "row")


def _chosen(variable: Json, found: Sequence[str], number: int | None) -> str:
    if number is None and "allValue" in variable:
        return str(variable["allValue"])
    chosen = [_SPECIAL.sub(r"\\\\\g<0>", value) for value in found[:number]]
    return chosen[0] if len(chosen) == 1 else f"({'|'.join(chosen)})"


def _as_text(series: Series) -> str:
    """Return a series as Grafana writes it for a variable's regular expression."""
    labels = ",".join(f'{name}="{value}"' for name, value in series.labels.items())
    return f"{{{labels}}} {series.last} {series.points[-1][0] * 1000}"
