"""What may be asked of HTTP service discovery: kinds of nodes, ports, and which of them."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from exporter.clouds.fields import normal_state
from exporter.config.fields import quoted, unknown
from exporter.families import Binding
from exporter.objects import text_of

PORTS: Final = range(1, 65536)
OPEN_PORT: Final = re.compile(r"tcp([0-9]{1,3})")
"""A port by its place among those that a node has open."""

MOST_PORTS: Final = 32
"""Each port makes the answer longer by as much as there are nodes."""

_NUMBER: Final = re.compile(r"[0-9]{1,5}")


class BadQuestion(Exception):  # noqa: N818 - it says what is bad
    """A question that this configuration has no answer to, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What can be discovered: the main objects of one collector.

    `places` are the labels of a target by which it may be chosen, `filters`, beside the
    state, those of an object. `addresses` are the choices of `address`, the default first;
    of one there is no choice. `open_ports` gives an object's ports, which `port` may name by
    their place; where there are such, objects may share an address.
    """

    provider: str
    collector: str
    places: tuple[str, ...]
    labels: tuple[str, ...]
    state_label: str
    vocabulary: str
    filters: tuple[str, ...]
    addresses: Mapping[str, Callable[[Any], str | None]]
    open_ports: Callable[[Any], Sequence[int]] | None = None

    @property
    def parameters(self) -> tuple[str, ...]:
        """What a question may consist of."""
        choice = ("address",) if len(self.addresses) > 1 else ()
        return ("port", *choice, *self.places, "state", *self.filters)

    def name(self, label: str) -> str:
        """Return the name of a label in the answer."""
        return f"__meta_{self.provider}_{label}"

    def reader(self, binding: Binding) -> Callable[[Any], dict[str, str]]:
        """Return what reads the labels of an object, by their names in the answer."""
        own = [(label, self.name(label)) for label in self.labels if label != self.state_label]
        state_name, kind = self.name(self.state_label), self.vocabulary

        def read(item: Any) -> dict[str, str]:  # noqa: ANN401
            labels = {name: text_of(item, label, binding) for label, name in own}
            return labels | {state_name: binding.state(kind, item.state_name)}

        return read


def _nat_address(node: Any) -> str | None:  # noqa: ANN401 - a row of GPU nodes
    """Return a node's public address, unless it is said not to be used: others may have it."""
    return None if node.policy_use_nat is False else node.policy_nat


GPU_NODES: Final = Kind(
    provider="scp",
    collector="gpu_nodes",
    places=("account", "environment", "region"),
    labels=(
        "account",
        "environment",
        "region",
        "gpu_node_id",
        "gpu_node_name",
        "gpu_node_state",
        "cluster_fabric_id",
        "cluster_fabric_name",
        "node_pool_id",
        "server_type",
        "gpu_model",
        "vpc_id",
    ),
    state_label="gpu_node_state",
    vocabulary="gpu_node",
    filters=("cluster_fabric_name", "node_pool_id", "server_type"),
    addresses={"policy_ip": attrgetter("policy_ip"), "policy_nat": _nat_address},
)
RUN_NODES: Final = Kind(
    provider="nsml",
    collector="run_nodes",
    places=("account",),
    labels=(
        "account",
        "project_id",
        "project_name",
        "run_name",
        "node_id",
        "rank",
        "node_state",
        "resource_type",
    ),
    state_label="node_state",
    vocabulary="run_node",
    filters=("project_id", "project_name", "run_name", "resource_type"),
    addresses={"host": attrgetter("host")},
    open_ports=attrgetter("ports"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for; of each filter one value has to fit, and no states are all states."""

    kind: Kind
    ports: tuple[str, ...]
    address: str
    places: Mapping[str, frozenset[str]]
    states: frozenset[str]
    filters: Mapping[str, frozenset[str]]


def question(kind: Kind, parameters: Iterable[tuple[str, str]]) -> Question:
    """Read the parameters of a URL; raise BadQuestion for one that makes no sense."""
    given: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in parameters:
        if name not in kind.parameters:
            raise BadQuestion(unknown(f"parameter {quoted(name)}", name, kind.parameters))
        if not value:
            raise BadQuestion(f"{name} is empty: leave it out, or say what to look for")
        given[name].append(value)
    return Question(
        kind,
        ports=_ports(kind, given["port"]),
        address=_address(kind, given["address"]),
        places={name: frozenset(given[name]) for name in kind.places if given[name]},
        states=frozenset(map(normal_state, given["state"])),
        filters={name: frozenset(given[name]) for name in kind.filters if given[name]},
    )


def _ports(kind: Kind, ports: Sequence[str]) -> tuple[str, ...]:
    if not ports:
        raise BadQuestion("port is missing: name one or more, such as port=9400&port=9100")
    for port in ports:
        good = _NUMBER.fullmatch(port) and int(port) in PORTS
        if not good and not (kind.open_ports and OPEN_PORT.fullmatch(port)):
            place = ", or tcp0 for the first of a node's open ports" if kind.open_ports else ""
            raise BadQuestion(f"port is a number from 1 to 65535{place}; found {quoted(port)}")
    distinct = tuple(dict.fromkeys(ports))
    if len(distinct) > MOST_PORTS:
        raise BadQuestion(f"{len(distinct)} ports are asked for, {MOST_PORTS} at most are given")
    return distinct


def _address(kind: Kind, chosen: Sequence[str]) -> str:
    known = tuple(kind.addresses)
    if len(chosen) > 1:
        raise BadQuestion(f"address is named more than once; it is one of {', '.join(known)}")
    for name in chosen:
        if name not in known:
            raise BadQuestion(unknown(f"address {quoted(name)}", name, known))
    return chosen[0] if chosen else known[0]
