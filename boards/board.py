"""A dashboard as a whole: rows of panels, variables, annotations, links."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from boards.panels import DATASOURCE, Panel

Json = dict[str, Any]

WIDTH = 24
TAG = "gpu-cluster-exporter"
SCHEMA_OF_10_4 = 39
"""Newer releases of Grafana bring a dashboard of an older schema up to date by themselves."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading, laid from left to right, in as many lines as they need."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, kw_only=True, slots=True)
class Board:
    """A dashboard; `alerts` are matchers for those whose firing it marks."""

    uid: str
    title: str
    description: str
    variables: Sequence[Json]
    rows: Sequence[Row]
    alerts: str

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.uid}.json"

    def to_text(self) -> str:
        """Return the dashboard as its file holds it."""
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"

    def to_json(self) -> Json:
        """Return the dashboard as Grafana reads it."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": [TAG],
            "timezone": "browser",
            "editable": False,
            "graphTooltip": 1,
            "time": {"from": "now-3h", "to": "now"},
            "timepicker": {"refresh_intervals": ["15s", "30s", "1m", "5m", "15m", "1h"]},
            "refresh": "30s",
            "schemaVersion": SCHEMA_OF_10_4,
            "version": 1,
            "links": [_to_others()],
            "templating": {"list": list(self.variables)},
            "annotations": {"list": [self._firing()]},
            "panels": list(self._panels()),
        }

    def _panels(self) -> Iterator[Json]:
        number, y = 1, 0
        for row in self.rows:
            yield _heading(row.title, number, y)
            number, y, x, tallest = number + 1, y + 1, 0, 0
            for panel in row.panels:
                if x + panel.width > WIDTH:
                    x, y, tallest = 0, y + tallest, 0
                yield panel.to_json(number, x, y)
                number, x, tallest = number + 1, x + panel.width, max(tallest, panel.height)
            y += tallest

    def _firing(self) -> Json:
        """Return the annotation of firing alerts; without rules there are none, and no error."""
        return {
            "name": "Firing alerts",
            "type": "tags",
            "enable": True,
            "hide": False,
            "iconColor": "#D55E00",
            "datasource": DATASOURCE,
            "expr": f'ALERTS{{alertstate="firing", severity=~"critical|warning", {self.alerts}}}',
            "step": "60s",
            "titleFormat": "{{alertname}}",
            "textFormat": "{{account}} {{region}} {{cluster_fabric_name}} {{gpu_node_name}}"
            " {{project_id}} {{run_name}}",
            "tagKeys": "severity",
        }


def _heading(title: str, number: int, y: int) -> Json:
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": {"h": 1, "w": WIDTH, "x": 0, "y": y},
        "panels": [],
    }


def _to_others() -> Json:
    """Return the menu of all dashboards of the exporter, which takes the choices along."""
    return {
        "title": "GPU clusters",
        "type": "dashboards",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }
