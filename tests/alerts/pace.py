"""A world that goes faster: what takes two minutes with the defaults takes twelve seconds in it.

Every duration of the configurations and of the rules is divided by the same number, so that all
that depends on several of them stays as it is. That is the one way in which tests change rules.
"""

import re
from typing import Any

_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+)(ms|[smhd])")
_DURATION = re.compile(r"(?<![\w.])(?:\d+(?:ms|[smhd]))+(?!\w)")
_THRESHOLD = re.compile(r"gpu_cluster_threshold:\w+_seconds")
# Clocks and processors go as they go.
_AS_EVER = ("clock_skew_seconds", "loop_lag_seconds")


def faster(duration: str, times: float) -> str:
    """Divide a duration, as Prometheus writes them."""
    milliseconds = sum(int(number) * _UNITS[unit] for number, unit in _PART.findall(duration))
    return f"{max(round(milliseconds / times), 1)}ms"


def faster_rules(document: Any, times: float) -> Any:  # noqa: ANN401 - YAML
    """Divide every duration of a rule file: of groups, windows, `for`, and thresholds."""
    return {**document, "groups": [_faster_group(group, times) for group in document["groups"]]}


def _faster_group(group: dict[str, Any], times: float) -> dict[str, Any]:
    pace = {"interval": faster(group["interval"], times)} if "interval" in group else {}
    return {**group, **pace, "rules": [_faster_rule(rule, times) for rule in group["rules"]]}


def _faster_rule(rule: dict[str, Any], times: float) -> dict[str, Any]:
    changed = {"expr": _DURATION.sub(lambda found: faster(found[0], times), rule["expr"])}
    if _THRESHOLD.fullmatch(name := rule.get("record", "")) and not name.endswith(_AS_EVER):
        changed["expr"] = f"({rule['expr']}) / {times}"
    if "for" in rule:
        changed["for"] = faster(rule["for"], times)
    return {**rule, **changed}
