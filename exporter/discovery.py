"""Nodes as targets of Prometheus: the answers of HTTP service discovery.

What is listed is the last whole list of each target, with what was seen since, for the life
of the process: a node is gone when the cloud says so, not when the cloud is silent.
"""

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from exporter.clouds.rows import Record
from exporter.config.fields import quoted, unknown
from exporter.questions import OPEN_PORT, PORTS, BadQuestion, Kind, Question
from exporter.sheet import Key
from exporter.snapshots import Snapshot

Group = dict[str, Any]
"""The `targets` that a node is, one for each port, and its `labels`."""

# The last part of a name begins with a letter: all else is an address that is none.
_HOST_NAME: Final = re.compile(r"(?:\w[\w-]*\.)*[a-z][\w-]*\.?", re.ASCII | re.IGNORECASE)


class NotListedYet(Exception):  # noqa: N818 - it says what is not
    """Targets never had a whole list: nobody knows what there is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The nodes, in a lasting order, and how many share each address that was left out."""

    groups: Sequence[Group]
    shared: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Node:
    labels: Mapping[str, str]
    addressed: bool
    endpoints: Sequence[str]


def answer(asked: Question, snapshots: Iterable[Snapshot]) -> Answer:
    """Find what is asked for.

    Raises BadQuestion where nothing of the kind is polled at such a place, and NotListedYet.
    """
    chosen = _chosen(asked, snapshots)
    missing = [snapshot.target for snapshot in chosen if _listed(snapshot) is None]
    if missing:
        raise NotListedYet("no whole list yet: " + ", ".join(map(str, missing)))
    nodes = [node for snapshot in chosen for node in _nodes(asked, snapshot)]
    _refuse_without_addresses(asked, nodes)
    # Before the other filters: who is not asked for answers at a shared address all the same.
    shared = _shared(nodes) if asked.kind.open_ports else {}
    groups = (_group(node, shared) for node in nodes if _fits(node, asked))
    return Answer([group for group in groups if group["targets"]], shared)


def _refuse_without_addresses(asked: Question, nodes: Sequence["_Node"]) -> None:
    """Refuse where no node has what every running one has: the API changed, or its answers.

    One node without an address is left out; of several without any all targets would go.
    """
    state, default = asked.kind.name(asked.kind.state_label), next(iter(asked.kind.addresses))
    running = any(node.labels[state] == "RUNNING" for node in nodes)
    lost = running and len(nodes) > 1 and not any(node.addressed for node in nodes)
    if asked.address == default and lost:
        raise NotListedYet(f"none of {len(nodes)} nodes has {default}")


def _chosen(asked: Question, snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    """Return the snapshots at the places that are asked for, of which each has to exist."""
    polled = _polled(asked.kind, snapshots)
    _refuse_unknown(asked, polled)
    places = asked.places.items()
    chosen = [
        each
        for each in polled
        if all(each.target.labels[place] in wanted for place, wanted in places)
    ]
    if not chosen:
        together = ", ".join(f"{place} {' or '.join(sorted(each))}" for place, each in places)
        raise BadQuestion(f"no {asked.kind.collector} are polled where these meet: {together}")
    return chosen


def _polled(kind: Kind, snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    own = (kind.provider, kind.collector)
    polled = [each for each in snapshots if (each.target.provider, each.target.collector) == own]
    if not polled:
        raise BadQuestion(f"no {kind.provider} account of the configuration polls {kind.collector}")
    return polled


def _refuse_unknown(asked: Question, polled: Iterable[Snapshot]) -> None:
    for place, wanted in asked.places.items():
        known = dict.fromkeys(each.target.labels[place] for each in polled)
        for value in sorted(wanted - known.keys()):
            what = f"{place} {quoted(value)} among those whose {asked.kind.collector} are polled"
            raise BadQuestion(unknown(what, value, known))


def _listed(snapshot: Snapshot) -> Mapping[Key, Record[Any]] | None:
    """Return a target's last whole list, and what was seen since; None where there is none."""
    for seen in snapshot.last[:1]:
        return None if seen.listed is None else {**seen.listed, **seen.records}
    return None


def _nodes(asked: Question, snapshot: Snapshot) -> Iterator[_Node]:
    """Yield the nodes in the states that are asked for, sorted by their ids."""
    listed, state = _listed(snapshot) or {}, asked.kind.name(asked.kind.state_label)
    read = asked.kind.reader(snapshot.last[0].binding)
    for key in sorted(listed):
        item = listed[key].item
        labels = read(item)
        if not asked.states or labels[state] in asked.states:
            host = _host(asked.kind.addresses[asked.address](item))
            yield _Node(labels, bool(host), tuple(_endpoints(asked, item, host)))


def _endpoints(asked: Question, item: Any, host: str) -> Iterator[str]:  # noqa: ANN401
    """Yield the node's addresses with each port that is asked for, as far as it has both."""
    numbers = (_number(port, asked.kind, item) for port in asked.ports) if host else ()
    for number in dict.fromkeys(numbers):
        if number in PORTS:
            yield f"{host}:{number}"


def _number(port: str, kind: Kind, item: Any) -> int | None:  # noqa: ANN401
    place = OPEN_PORT.fullmatch(port)
    if place is None or kind.open_ports is None:
        return int(port)
    numbers = kind.open_ports(item)
    return numbers[int(place[1])] if int(place[1]) < len(numbers) else None


@lru_cache(maxsize=1 << 14)
def _host(address: str | None) -> str:
    """Return an address as it stands before a port, or the empty text where it is none."""
    text = (address or "").strip()
    try:
        number = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return text if _HOST_NAME.fullmatch(text) else ""
    if number.is_unspecified:
        return ""
    return f"[{number}]" if number.version == 6 else str(number)  # noqa: PLR2004 - of IP


def _shared(nodes: Iterable[_Node]) -> Mapping[str, int]:
    """Return the addresses that more than one node has, and how many have each."""
    owners = Counter(endpoint for node in nodes for endpoint in node.endpoints)
    return {endpoint: number for endpoint, number in owners.items() if number > 1}


def _fits(node: _Node, asked: Question) -> bool:
    name = asked.kind.name
    return all(node.labels[name(label)] in values for label, values in asked.filters.items())


def _group(node: _Node, shared: Mapping[str, int]) -> Group:
    endpoints = [endpoint for endpoint in node.endpoints if endpoint not in shared]
    return {"targets": endpoints, "labels": node.labels}
