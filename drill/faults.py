"""Random faults of every kind, each for a place, for some requests or some seconds."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from exporter.simulator import faults as kinds
from exporter.simulator.faults import Fault

PLACES = ("s/kr-west1", "s/kr-east1", "g/kr-south1", "g/kr-south2", "g/kr-south3",
          "e/kr-west1", "e/kr-east1", "nsml")  # fmt: skip

Maker = Callable[[random.Random], tuple[type[Fault], dict[str, Any]]]

_MAKERS: tuple[Maker, ...] = (
    lambda dice: (kinds.Status, {"status": dice.choice((400, 403, 404, 418, 500, 502, 503, 504))}),
    lambda dice: (kinds.Status, {"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}),
    lambda dice: (kinds.Status, {"status": 404, "body": "<html></html>"}),
    lambda dice: (kinds.Delay, {"seconds": dice.choice((0.1, 0.3, 0.8, 2.0))}),
    lambda _: (kinds.Hang, {}),
    lambda _: (kinds.Reset, {}),
    lambda dice: (kinds.Truncate, {"fraction": dice.random()}),
    lambda _: (kinds.Oversize, {}),
    lambda _: (kinds.Html, {}),
    lambda _: (kinds.ErrorBody, {}),
    lambda _: (kinds.NullList, {}),
    lambda dice: (kinds.Count, {"mode": dice.choice(("missing", "null", "text"))}),
    lambda dice: (kinds.Count, {"mode": "off", "by": dice.choice((-2, -1, 1, 3, 1000))}),
    lambda dice: (kinds.SizeFault, {"mode": dice.choice(("ignored", "refused", "everything"))}),
    lambda dice: (kinds.SizeFault, {"mode": "capped", "limit": dice.choice((1, 2, 5))}),
    lambda dice: (kinds.Rename, {"field": dice.choice(("id", "state", "nodeId")), "to": "other"}),
    lambda _: (kinds.ChildrenGone, {}),
    lambda dice: (kinds.MovingRows, {"step": dice.choice((1, 3))}),
    lambda _: (kinds.OverlappingPages, {}),
    lambda _: (kinds.States, {}),
    lambda dice: (kinds.States, {"values": [None, 3, "", " ", "RUNNING"], "rows": [0, 2]}),
    lambda dice: (
        kinds.FieldValue,
        {
            "field": dice.choice(("server_type", "created_at", "pfs_ip", "rank", "policy_ip")),
            "values": [None, -1, "", {}, [1], True, "0001-01-01T00:00:00Z"],
        },
    ),
    lambda dice: (
        kinds.FieldMissing,
        {"field": dice.choice(("gpu_node_name", "lock_enabled", "host", "modified_at"))},
    ),
    lambda dice: (
        kinds.RateLimit,
        {
            "retry_after": dice.choice(("seconds", "date", "nonsense", "none")),
            "seconds": dice.choice((0, 1, 2)),
        },
    ),
    lambda dice: (
        kinds.Refuse,
        {"reason": dice.choice(("signature", "not_entitled", "forbidden"))},
    ),
    lambda dice: (kinds.DateSkew, {"seconds": dice.choice((-600, -3, 400))}),
    lambda _: (kinds.NodePoolsRefused, {}),
)

_LYING = (kinds.States, kinds.ChildrenGone)
"""Kinds under which the API itself says what is not so: the exporter can only repeat it."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault, where it happens, and for how many seconds at most."""

    fault: Fault
    place: str
    seconds: float

    @property
    def lies(self) -> bool:
        """Whether answers under it are not the truth."""
        return isinstance(self.fault, _LYING)


def plan(dice: random.Random) -> Planned:
    """Return a random fault."""
    kind, options = dice.choice(_MAKERS)(dice)
    place = dice.choice(PLACES)
    limits: dict[str, Any] = {"cloud": "nsml"}
    if place != "nsml":
        environment, region = place.split("/")
        limits = {"cloud": "scp", "environment": environment, "region": region}
    if dice.random() < 0.5:
        limits["requests"] = dice.randint(1, 12)
    if dice.random() < 0.3:
        limits["skip"] = dice.randint(1, 4)
    return Planned(kind(**options, **limits), place, dice.uniform(0.3, 5.0))
