"""Grafana's own models of a dashboard read ours whole: no unknown key, no unknown value.

No Grafana has loaded these files; the models that its foundation SDK generates from the
same schemas stand in for it. A model drops what it does not know, so what comes out of it
must hold all that went in.
"""

import copy
import enum
import json
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from grafana_foundation_sdk.cog import runtime
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import (
    Dashboard,
    DataTransformerConfig,
    FieldConfig,
    Panel,
)

from tests.dashboards.files import ALL, Json, all_panels

register_default_plugins()

# What the Prometheus plugin itself reads of an annotation, which is no part of the schema.
OF_THE_PLUGIN = {"step", "titleFormat", "textFormat", "tagKeys"}
TRANSFORMATIONS = {
    "merge": set(),
    "filterFieldsByName": {"include"},
    "organize": {"excludeByName", "indexByName", "renameByName"},
}


def encoded(model: object) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON of a model."""
    return json.loads(json.dumps(model, cls=JSONEncoder))


def lost(given: object, kept: object, path: str = "") -> Iterator[str]:
    """Yield the path of everything that is given and was not kept as it is."""
    if isinstance(given, Mapping) and isinstance(kept, Mapping):
        for key, value in given.items():
            if key not in kept:
                yield f"{path}.{key}"
            else:
                yield from lost(value, kept[key], f"{path}.{key}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, pair in enumerate(zip(given, kept, strict=True)):
            yield from lost(*pair, f"{path}[{index}]")
    elif given != kept:
        yield f"{path}: {given!r} became {kept!r}"


def strange(model: object, path: str = "") -> Iterator[str]:
    """Yield the path of every value that is none of those that its field allows."""
    if isinstance(model, list):
        for index, one in enumerate(model):
            yield from strange(one, f"{path}[{index}]")
    elif hasattr(model, "to_json"):
        for name, hint in typing.get_type_hints(type(model)).items():
            value = getattr(model, name)
            yield from strange(value, f"{path}.{name}")
            yield from _unlisted(value, hint, f"{path}.{name}")


def _unlisted(value: object, hint: object, path: str) -> Iterator[str]:
    kinds = [
        kind for kind in _parts(hint) if isinstance(kind, type) and issubclass(kind, enum.Enum)
    ]
    if kinds and isinstance(value, str | int):
        allowed = {member.value for kind in kinds for member in kind}
        if value not in allowed:
            yield f"{path}: {value!r} is none of {sorted(allowed)}"


def _parts(hint: object) -> Iterator[object]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)


def faults(board: Json) -> list[str]:
    """Return all that the models find wrong with a dashboard."""
    model = Dashboard.from_json(copy.deepcopy(board))
    found = [*lost(board, encoded(model), board["uid"]), *strange(model, board["uid"])]
    for panel in board["panels"]:
        if panel["type"] != "row":
            found += _within(panel, f"{board['uid']} / {panel['title']}")
    return found


def _within(panel: Json, path: str) -> Iterator[str]:
    """Yield what is wrong where the model of a panel takes anything."""
    for transformation in panel["transformations"]:
        made = DataTransformerConfig.from_json(transformation)
        yield from lost(transformation, encoded(made), path)
        unknown = transformation["options"].keys() - TRANSFORMATIONS[transformation["id"]]
        yield from (f"{path}.{transformation['id']}.{key}" for key in unknown)
    for override in panel["fieldConfig"]["overrides"]:
        for each in override["properties"]:
            yield from _override(panel, each, path)


def _override(panel: Json, given: Json, path: str) -> Iterator[str]:
    """Yield what is wrong with an override: it must be what a field's configuration may hold."""
    custom, _, name = given["id"].rpartition(".")
    if custom:
        part = {"defaults": {"custom": {name: given["value"]}}, "overrides": []}
        whole = {"type": panel["type"], "fieldConfig": part}
        yield from lost(whole, encoded(Panel.from_json(copy.deepcopy(whole))), path)
    else:
        field = {name: given["value"]}
        model = FieldConfig.from_json(copy.deepcopy(field))
        yield from (*lost(field, encoded(model), path), *strange(model, path))


def without_the_plugins_own(board: Json) -> Json:
    """Return a dashboard without what only the Prometheus plugin reads."""
    board = copy.deepcopy(board)
    for annotation in board["annotations"]["list"]:
        for key in OF_THE_PLUGIN:
            del annotation[key]
    return board


@pytest.mark.parametrize("uid", ALL)
def test_every_key_and_every_value_is_known(uid: str) -> None:
    """The models keep each key at every level, and each choice is one of those they list."""
    assert faults(without_the_plugins_own(ALL[uid])) == []


def test_every_panel_is_of_a_kind_that_grafana_brings() -> None:
    """The models know the panel's plugin, for only then do they read its options."""
    kinds = {panel["type"] for _, panel in all_panels()}
    assert kinds == {"stat", "timeseries", "state-timeline", "bargauge", "table"}
    assert all(runtime.panelcfg_config(kind) for kind in kinds)


def _set(board: Json, path: list[str | int], value: object) -> None:
    place: Any = board
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value


@pytest.mark.parametrize(
    "path",
    [
        ["autoUpdate"],
        ["panels", 1, "colour"],
        ["panels", 1, "gridPos", "z"],
        ["panels", 1, "targets", 0, "expression"],
        ["panels", 1, "options", "graph"],
        ["panels", 1, "options", "reduceOptions", "calc"],
        ["panels", 1, "fieldConfig", "defaults", "units"],
        ["panels", 1, "fieldConfig", "defaults", "thresholds", "step"],
        ["panels", 10, "transformations", 0, "options", "mode"],
        ["panels", 10, "fieldConfig", "defaults", "custom", "cell"],
        ["templating", "list", 1, "chained"],
        ["annotations", "list", 0, "colour"],
    ],
)
def test_an_unknown_key_is_found(path: list[str | int]) -> None:
    """At whatever level it stands: in the board, a panel, a query, options, a variable."""
    board = without_the_plugins_own(ALL["gpu-fleet"])
    _set(board, path, {"some": "thing"})
    assert faults(board) != []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["panels", 1, "options", "colorMode"], "rainbow"),
        (["panels", 1, "fieldConfig", "defaults", "color", "mode"], "by-mood"),
        (["templating", "list", 1, "refresh"], 7),
    ],
)
def test_an_unknown_choice_is_found(path: list[str | int], value: object) -> None:
    """A word that Grafana does not know where it offers a choice."""
    board = without_the_plugins_own(ALL["gpu-fleet"])
    _set(board, path, value)
    assert any("is none of" in fault for fault in faults(board))
