"""States as every dashboard shows them: one code, one colour, the same everywhere.

The colours are those of Okabe and Ito where these suffice; a test holds that people of every
kind of colour vision tell the states of one kind apart. Green is at work, light blue on its
way up, orange and brown on its way down, dark blue is done, grey is off, vermillion has
failed, purple is not known.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GOOD = "#009E73"
NOTE = "#56B4E9"
WARN = "#E69F00"
BAD = "#D55E00"
OFF = "#999999"


@dataclass(frozen=True, slots=True)
class Look:
    """How a state is shown; the worse it is, the higher its code."""

    code: int
    colour: str


UNLISTED = Look(33, "#A6507F")
LOOKS: Mapping[str, Look] = {
    "RUNNING": Look(1, GOOD),
    "IN_PROGRESS": Look(2, GOOD),
    "CREATED": Look(3, GOOD),
    "ACTIVE": Look(4, "#00C48C"),
    "COMPLETED": Look(5, "#0072B2"),
    "CREATING": Look(10, NOTE),
    "STARTING": Look(11, "#B3DDF5"),
    "EDITING": Look(12, "#F0E442"),
    "CHANGING": Look(13, "#F0E442"),
    "STOPPING": Look(20, WARN),
    "TERMINATING": Look(21, "#C9A66B"),
    "DELETING": Look(22, "#C9A66B"),
    "STOPPED": Look(23, OFF),
    "TERMINATED": Look(24, "#5C5C5C"),
    "DELETED": Look(25, "#5C5C5C"),
    "CANCELED": Look(26, "#5C5C5C"),
    "NOT_REPORTED": Look(32, "#E0B8D0"),
    "UNKNOWN": Look(40, "#785EF0"),
    "FAILED": Look(41, BAD),
    "ERROR": Look(42, BAD),
}
FAILED = "ERROR|UNKNOWN"
"""The states of a node that has failed, as a matcher reads them."""


def code_table() -> str:
    """Return PromQL for a vector that gives each state's code under the label `state`."""
    rows = (
        f'label_replace(vector({look.code}), "state", "{state}", "", "")'
        for state, look in LOOKS.items()
    )
    return "\n  or ".join(rows)


def code_mappings() -> list[dict[str, Any]]:
    """Return Grafana's mappings from a code to the state's name and colour."""
    looks = {**LOOKS, "not listed": UNLISTED}
    options = {
        str(look.code): {"text": state, "color": look.colour, "index": index}
        for index, (state, look) in enumerate(looks.items())
    }
    return [{"type": "value", "options": options}]


def name_mappings() -> list[dict[str, Any]]:
    """Return Grafana's mappings from a state's name to its colour; any other is unlisted."""
    options = {
        state: {"text": state, "color": look.colour, "index": index}
        for index, (state, look) in enumerate(LOOKS.items())
    }
    other = {"pattern": ".+", "result": {"color": UNLISTED.colour, "index": len(options)}}
    return [{"type": "value", "options": options}, {"type": "regex", "options": other}]
