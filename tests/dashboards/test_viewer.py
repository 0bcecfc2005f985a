"""A viewer fills in variables as Grafana does."""

from typing import Any

import pytest

from boards.prometheus import Series, Window
from boards.viewer import Viewer

ACCOUNT = {
    "type": "query",
    "name": "account",
    "query": {"query": 'label_values(up{job=~"$job"}, account)'},
    "hide": 0,
    "allValue": ".*",
}
NODE = {
    "type": "query",
    "name": "node",
    "query": {"query": 'query_result(x{account=~"$account"})'},
    "regex": '/id="(?<value>[^"]+)".*text="(?<text>[^"]*)"/',
    "hide": 0,
    "allValue": ".*",
}
HIDDEN = {**NODE, "name": "worst", "hide": 2}
del HIDDEN["allValue"]


class Answers:
    """A Prometheus that knows two accounts and three nodes, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def label_values(self, series: str, label: str, _: Window) -> list[str]:
        """Return two accounts."""
        self.asked.append(f"{series} {label}")
        return ["a.b", "c"]

    async def instant(self, expr: str, at: float) -> list[Series]:
        """Return three nodes, of which one has no name."""
        self.asked.append(f"{expr} {at:g}")
        labels = [{"id": "n1", "text": "x"}, {"id": "n2", "text": "x"}, {"id": "n3"}]
        return [Series(each, [(at, 1.0)]) for each in labels]


def viewer(*variables: dict[str, Any]) -> Viewer:
    """Return a viewer of a dashboard with these variables."""
    board = {"templating": {"list": list(variables)}}
    window = Window(1000, 4600, 15)
    return Viewer(board, Answers(), window, values={"job": "j"})  # type: ignore[arg-type]  # it answers alike


@pytest.mark.parametrize(
    ("number", "account", "node"),
    [(1, r"a\\.b", "n1"), (2, r"(a\\.b|c)", "(n1|n2)"), (None, ".*", ".*")],
)
async def test_values_become_a_regular_expression(
    number: int | None, account: str, node: str
) -> None:
    """One value is escaped, several are alternatives, and All is what it says of itself."""
    one = viewer(ACCOUNT, NODE)
    await one.choose(number)
    assert one.fill('{a=~"$account", n=~"${node}"}') == f'{{a=~"{account}", n=~"{node}"}}'


async def test_a_hidden_choice_without_a_value_for_all_names_them_all() -> None:
    """However many the viewer chose of the others."""
    one = viewer(ACCOUNT, HIDDEN)
    await one.choose(1)
    assert one.values["worst"] == "(n1|n2)"


async def test_choices_are_asked_with_those_before_them() -> None:
    """The chain of variables, at the end of the window."""
    one = viewer(ACCOUNT, NODE)
    await one.choose(2)
    assert isinstance(one.prometheus, Answers)
    assert one.prometheus.asked == ['up{job=~"j"} account', r'x{account=~"(a\\.b|c)"} 4600']


async def test_a_query_of_no_known_kind_is_refused() -> None:
    """Rather than shown as a variable without choices."""
    strange = {**ACCOUNT, "query": {"query": "metrics(up)"}}
    with pytest.raises(ValueError, match="metrics"):
        await viewer(strange).choose(None)


@pytest.mark.parametrize(
    ("window", "interval", "rate"),
    [
        (Window(0, 3 * 3600, 15), "36s", "60s"),
        (Window(0, 86400, 15), "288s", "303s"),
        (Window(0, 60, 15), "15s", "60s"),
        (Window(0, 300, 15, least_step=1), "1s", "60s"),
    ],
)
def test_intervals_are_those_of_grafana(window: Window, interval: str, rate: str) -> None:
    """The rate interval spans four scrapes at least, and one more than a step."""
    assert window.macros["__interval"] == interval
    assert window.macros["__rate_interval"] == rate
