"""The promtool tests of the alerts, as data: what they expect, and in which phase of a drill."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from recordings.rules import ALERTS

FILES = sorted((ALERTS / "tests").glob("*.yml"))
FIRING = 'count by (alertname) (ALERTS{alertstate="firing"})'
_TOKEN = re.compile(
    r"(?P<gap>_)?(?:stale)?(?P<value>-?[\d.e]+(?:[+-][\d.e]+)?)?(?:x(?P<times>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Picture:
    """All alerts that are to fire at a moment of a drill."""

    drill: str
    seconds: float
    phase: str
    alerts: frozenset[str]


@functools.cache
def tests_of(file: Path) -> list[dict[str, Any]]:
    """Return the tests of a file of promtool."""
    tests: list[dict[str, Any]] = yaml.safe_load(file.read_text())["tests"]
    return tests


def pictures() -> Iterator[Picture]:
    """Yield every moment at which a test names all alerts that fire."""
    for file in FILES:
        for test in tests_of(file):
            for check in test.get("promql_expr_test", []):
                if check["expr"] == FIRING:
                    moment = seconds(check["eval_time"])
                    phase = phase_at(test, moment)
                    yield Picture(test["name"], moment, phase, _alerts(check["exp_samples"]))


def _alerts(samples: list[dict[str, Any]]) -> frozenset[str]:
    return frozenset(re.findall(r'alertname="(\w+)"', str(samples)))


def seconds(text: str) -> float:
    """Return a duration of Prometheus in seconds."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([smh])", text))


def phase_at(test: dict[str, Any], moment: float) -> str:
    """Return the phase that a drill is in at a moment, as its recording says."""
    place = int(moment // seconds(test["interval"]))
    for series in test["input_series"]:
        if series["series"].startswith("drill_phase{") and place in expand(series["values"]):
            return str(re.findall(r'phase="(\w+)"', series["series"])[0])
    raise LookupError(f"{test['name']} is in no phase after {moment:g} s")


def expand(values: str) -> set[int]:
    """Return the places at which a series has a value, of promtool's notation."""
    places: set[int] = set()
    place = 0
    for text in values.split():
        found = _TOKEN.fullmatch(text)
        assert found is not None, text
        valued = found["value"] is not None
        length = int(found["times"] or (0 if valued else 1)) + (1 if valued else 0)
        places |= set(range(place, place + length)) if valued else set()
        place += length
    return places
