"""The bundled alert rules, as data: which metrics and labels their expressions name."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser as promql
import yaml

ALERTS = Path(__file__).parents[1] / "alerts"
FILES = ("thresholds.yml", "scp.yml", "nsml.yml", "exporter.yml")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, whether it is an alert, and what the file says of it."""

    name: str
    alert: bool
    file: str
    entry: dict[str, Any]

    @property
    def expr(self) -> promql.Expr:
        """Its expression."""
        return promql.parse(self.entry["expr"])


def read() -> list[Rule]:
    """Read every rule, in the order of evaluation."""
    return [
        Rule(entry.get("alert") or entry["record"], "alert" in entry, file, entry)
        for file in FILES
        for group in yaml.safe_load((ALERTS / file).read_text())["groups"]
        for entry in group["rules"]
    ]


def selectors(expr: promql.Expr) -> Iterator[tuple[str, list[promql.Matcher]]]:
    """Yield the metric names that an expression selects, with the matchers of each."""
    found: list[promql.VectorSelector] = []

    def visit(node: promql.Expr) -> None:
        if isinstance(node, promql.VectorSelector):
            found.append(node)
        if isinstance(node, promql.MatrixSelector):
            found.append(node.vector_selector)

    promql.walk(expr, visit)
    for selector in {id(each): each for each in found}.values():
        yield selector.name or "", selector.matchers.matchers


def scraped() -> dict[str, list[dict[str, str]]]:
    """Return the metrics that the rules read from a page, each with the labels asked for."""
    rules = read()
    recorded = {rule.name for rule in rules if not rule.alert}
    wanted: dict[str, list[dict[str, str]]] = {}
    for rule in rules:
        for name, matchers in selectors(rule.expr):
            if name not in recorded:
                equal = {it.name: it.value for it in matchers if it.op == promql.MatchOp.Equal}
                wanted.setdefault(name, []).append(equal)
    return wanted
