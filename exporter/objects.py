"""What the targets are and what they last saw, as objects for JSON.

An object is flat: its labels, as its info family has them, then `state`, `last_seen` and
`stale`. Times are Unix seconds; a time of the monotonic clock is told by its age.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.clouds.errors import printable
from exporter.clouds.nsml.families import RUN_MEMBERS, RUN_NODES, RUNS
from exporter.clouds.nsml.models import RunNode
from exporter.clouds.scp.families import CLUSTER_FABRICS, GPU_NODES
from exporter.families import Binding, Info, State, Table
from exporter.snapshots import LastSeen, Snapshot

Object = dict[str, Any]
Run = tuple[str, str]
"""The ids of a run: its project's, and its name within it."""

_DECIMALS: Final = 3


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment on both clocks, in seconds."""

    wall: float
    monotonic: float

    def unix(self, monotonic: float) -> float:
        """Return the Unix time of a moment of the monotonic clock, to the millisecond."""
        return round(self.wall - (self.monotonic - monotonic), _DECIMALS)


def text_of(item: object, label: str, binding: Binding) -> str:
    """Return the value of a label of an object; what is not known is the empty text."""
    if label in binding.labels:
        return binding.labels[label]
    derived = binding.derived.get(label)
    value: str | None = getattr(item, label) if derived is None else derived(item)
    return "" if value is None else value


def target(snapshot: Snapshot, interval: float) -> Object:
    """Return how the polls of a target went; `objects` is null before the first whole one."""
    health = snapshot.health
    error = {
        "reason": health.error_reason,
        "message": printable(health.error_message),
        "at": health.error_at,
    }
    return {
        **snapshot.target.labels,
        "up": health.up,
        "last_attempt": health.last_attempt,
        "last_success": health.last_success,
        "interval_seconds": interval,
        "consecutive_failures": health.consecutive_failures,
        "next_poll": health.next_poll,
        "objects": None if health.last_success is None else health.objects,
        "reported_objects": health.reported_objects,
        "last_error": error if health.error_reason else None,
    }


def nodes(snapshots: Iterable[Snapshot], moment: Moment) -> Iterator[Object]:
    """Yield the GPU nodes, target by target, sorted by their ids."""
    return _of_table(GPU_NODES, snapshots, moment)


def fabrics(snapshots: Iterable[Snapshot], moment: Moment) -> Iterator[Object]:
    """Yield the cluster fabrics, target by target, sorted by their ids."""
    return _of_table(CLUSTER_FABRICS, snapshots, moment)


def _of_table(table: Table[Any], snapshots: Iterable[Snapshot], moment: Moment) -> Iterator[Object]:
    for snapshot in snapshots:
        for seen in snapshot.last:
            if seen.table is table:
                yield from (each for _, each in _objects(seen, snapshot, moment))


def _objects(seen: LastSeen, snapshot: Snapshot, moment: Moment) -> Iterator[tuple[Any, Object]]:
    """Yield what a target last saw of a table, as it was read and as its object."""
    families, binding = seen.table.families, seen.binding
    [info] = [family for family in families if isinstance(family, Info)]
    [state] = [family for family in families if isinstance(family, State)]
    for key in sorted(seen.records):
        item = seen.records[key].item
        labels = {name: text_of(item, name, binding) for name in (*binding.labels, *info.labels)}
        shown = {"state": binding.state(state.kind, item.state_name)}
        yield item, labels | shown | _age(seen.times[key], snapshot, moment)


def _age(time: float, snapshot: Snapshot, moment: Moment) -> Object:
    stale = not snapshot.fresh(time, moment.monotonic)
    return {"last_seen": moment.unix(time), "stale": stale}


@dataclass(slots=True)
class _Account:
    """What is known of an account's runs: themselves, and the nodes of those that were read.

    `unlisted` are runs as their nodes tell of them, for those that are not known themselves.
    """

    runs: dict[Run, Object] = field(default_factory=dict)
    unlisted: dict[Run, Object] = field(default_factory=dict)
    nodes: dict[Run, list[Object]] = field(default_factory=dict)


def runs(snapshots: Iterable[Snapshot], moment: Moment) -> Iterator[Object]:
    """Yield the runs, account by account, sorted by their ids, each with its `nodes`.

    `nodes` are sorted by rank, and null where they were never read. A run of which only the
    nodes were seen has null for its state.
    """
    accounts: defaultdict[str, _Account] = defaultdict(_Account)
    for snapshot in snapshots:
        for seen in snapshot.last:
            _take_in(accounts[snapshot.target.account], seen, snapshot, moment)
    for account in accounts.values():
        for run, each in sorted((account.unlisted | account.runs).items()):
            yield {**each, "nodes": account.nodes.get(run)}


def _take_in(account: _Account, seen: LastSeen, snapshot: Snapshot, moment: Moment) -> None:
    if seen.table is RUNS:
        account.runs = {_run(item): each for item, each in _objects(seen, snapshot, moment)}
    elif seen.table is RUN_MEMBERS:
        for key, record in seen.records.items():
            run = _run(record.item)
            account.nodes.setdefault(run, [])
            account.unlisted[run] = _unlisted(run, seen) | _age(seen.times[key], snapshot, moment)
    elif seen.table is RUN_NODES:
        found = list(_objects(seen, snapshot, moment))
        for item, each in sorted(found, key=lambda pair: _rank(pair[0])):
            account.nodes.setdefault(_run(item), []).append(each)
            age = {name: each[name] for name in ("last_seen", "stale")}
            account.unlisted.setdefault(_run(item), _unlisted(_run(item), seen) | age)


def _run(item: Any) -> Run:  # noqa: ANN401 - a run, its node or its members
    return item.project_id, item.run_name


def _rank(node: RunNode) -> tuple[bool, int]:
    """Sort nodes by rank, those without one last."""
    return node.rank_number is None, node.rank_number or 0


def _unlisted(run: Run, seen: LastSeen) -> Object:
    labels = dict(zip(("project_id", "run_name"), run, strict=True))
    return {**seen.binding.labels, **labels, "project_name": "", "run_type": "", "state": None}
