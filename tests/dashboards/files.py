"""The dashboards as their files hold them, for the tests of what is in them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from boards.viewer import panels

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
DIRECTORY = ROOT / "dashboards"
UIDS = ("gpu-fleet", "gpu-fabric", "gpu-node", "gpu-nsml-runs", "gpu-exporter")


def read(uid: str) -> Json:
    """Read a dashboard."""
    board: Json = json.loads((DIRECTORY / f"{uid}.json").read_text(encoding="utf-8"))
    return board


ALL = {uid: read(uid) for uid in UIDS if (DIRECTORY / f"{uid}.json").exists()}


def all_panels() -> Iterator[tuple[str, Json]]:
    """Yield each panel of each dashboard, with the dashboard's uid."""
    for uid, board in ALL.items():
        for panel in panels(board):
            yield uid, panel


def all_variables() -> Iterator[tuple[str, Json]]:
    """Yield each variable of each dashboard, with the dashboard's uid."""
    for uid, board in ALL.items():
        for variable in board["templating"]["list"]:
            yield uid, variable


def all_queries() -> Iterator[tuple[str, str]]:
    """Yield each query of a panel, a variable or an annotation, after a name for it."""
    for uid, panel in all_panels():
        for target in panel["targets"]:
            yield f"{uid} / {panel['title']} / {target['refId']}", target["expr"]
    for uid, variable in all_variables():
        if variable["type"] == "query":
            yield f"{uid} / ${variable['name']}", _inner(variable["query"]["query"])
    for uid, board in ALL.items():
        for annotation in board["annotations"]["list"]:
            yield f"{uid} / {annotation['name']}", annotation["expr"]


def _inner(query: str) -> str:
    """Return the PromQL within a variable's query."""
    inner = query.partition("(")[2].rpartition(")")[0]
    return inner if query.startswith("query_result") else inner.rpartition(",")[0]
