"""Print docs/metrics.md: every metric, as the code declares it."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from exporter.clouds.nsml import families as nsml
from exporter.clouds.scp import families as scp
from exporter.families import Family, State, Table
from exporter.states import Vocabulary
from exporter.telemetry import OWN, Own

_INTRODUCTION = """\
# Metrics

This page is written by `scripts/metrics_reference.py` from the tables in the code; run
`make docs` after a change of them.

The metrics of the clouds' objects are gauges. Their values were polled in the background, from
the API call and field that stand beside them; a value that the API does not give has no sample.
A family with the label `state` has a series for each listed state of an object, or a group, and
one more for a state that is not listed; with `state_series: current` a `…_state` family has only
the series that is 1. `NOT_REPORTED` is the state of an object whose state the API leaves out.
"""

_TITLES = {
    "gpu_nodes": "GPU nodes",
    "cluster_fabrics": "Cluster fabrics",
    "node_pools": "Node pools",
    "products": "Products",
    "images": "Images",
    "api_versions": "API versions",
    "projects": "Projects",
    "runs": "Runs",
    "run_nodes": "Nodes of runs",
    "run_members": "Counts of nodes of runs",
}

_SCP_TARGET = ("account", "environment", "region")
_NSML_TARGET = ("account",)

_OWN = """\
## The exporter itself

A target is one collector of one account in one region; labels that do not apply are empty. All
series of a target exist from the start, but for timestamps, which wait for their first event.
Beside these families stand `process_*` and `python_info`, as the client library gives them.
"""


def render() -> str:
    """Return the whole page, as Markdown."""
    return "\n".join(
        [
            _INTRODUCTION,
            "## Samsung Cloud Platform\n",
            *_resources(scp.TABLES, _SCP_TARGET, scp.vocabularies()),
            "## CLOVA NSML\n",
            *_resources(nsml.TABLES, _NSML_TARGET, nsml.vocabularies()),
            _OWN,
            _rows(("Metric", "Type", "Labels", "Help"), map(_own_row, OWN)),
        ]
    )


def _resources(
    tables: Iterable[Table[Any]], target: tuple[str, ...], vocabularies: Mapping[str, Vocabulary]
) -> Iterator[str]:
    """Yield a section for each table, with the states of its own kind of object."""
    for table in tables:
        yield f"### {_TITLES[table.name]}\n"
        yield _rows(
            ("Metric", "Type", "Labels", "Help", "Source"),
            (_family_row(family, target) for family in table.families),
        )
        for family in table.families:
            if isinstance(family, State):
                listed = ", ".join(f"`{state}`" for state in vocabularies[family.kind].listed)
                yield f"Listed states of `{family.name}`: {listed}.\n"


def _family_row(family: Family[Any], target: tuple[str, ...]) -> tuple[str, ...]:
    labels = (*target, *family.labels, *family.own_labels)
    return (f"`{family.name}`", "gauge", _names(labels), family.help, f"`{family.source}`")


def _own_row(own: Own) -> tuple[str, ...]:
    return (f"`{own.full_name}`", own.kind.__name__.lower(), _names(own.labels), own.help)


def _names(labels: tuple[str, ...]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


def _rows(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table of Markdown."""
    cells = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)


if __name__ == "__main__":
    sys.stdout.write(render())
