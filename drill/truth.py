"""What may stand on a page, by the simulator's own account of what was true when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from exporter.simulator.truth import StateChange, TrueObject, Truth

Labels = tuple[str, ...]

MARGIN_SECONDS = 0.25
"""How far the moments of two processes' notes of one event may lie apart."""


@dataclass(frozen=True, slots=True)
class Window:
    """The Unix times between which a poll saw what a page shows."""

    start: float
    end: float


def states_within(history: Iterable[StateChange], window: Window) -> set[str | None]:
    """Return every state that something was in at some instant of a window; None: not there."""
    before: str | None = None
    within: set[str | None] = set()
    for change in history:
        if change.at <= window.start - MARGIN_SECONDS:
            before = change.state
        elif change.at <= window.end + MARGIN_SECONDS:
            within.add(change.state)
    return {None if state is None else _as_shown(state) for state in within | {before}}


def _as_shown(state: str) -> str:
    return state.removeprefix("RUN_STATE_").removeprefix("NODE_STATE_")


@dataclass(slots=True)
class Lies:
    """What the simulated API itself said untruly, by its own faults: place, from, until."""

    told: list[tuple[str, float, float]] = field(default_factory=list)

    def add(self, place: str, start: float, end: float) -> None:
        """Note that the answers of a place could not be believed for a time."""
        self.told.append((place, start, end))

    def within(self, place: str, window: Window) -> bool:
        """Return whether a window overlaps a time of lies."""
        return any(
            place == there and start <= window.end and window.start <= end
            for there, start, end in self.told
        )


def objects_of(truth: Truth) -> Mapping[str, Mapping[tuple[str, Labels], TrueObject]]:
    """Return what there is by state family, place and ids."""
    families: dict[str, dict[tuple[str, Labels], TrueObject]] = {
        "scp_gpu_node_state": {},
        "scp_cluster_fabric_state": {},
        "nsml_run_state": {},
        "nsml_run_node_state": {},
    }
    for region in truth.scp:
        place = f"{region.environment}/{region.region}"
        for node in region.gpu_nodes:
            families["scp_gpu_node_state"][place, (node.id,)] = node
        for fabric in region.cluster_fabrics:
            families["scp_cluster_fabric_state"][place, (fabric.id,)] = fabric
    for project in truth.nsml.projects:
        for run in project.runs:
            families["nsml_run_state"]["nsml", (project.id, run.name)] = run
            for rank in run.nodes:
                families["nsml_run_node_state"]["nsml", (project.id, run.name, rank.id)] = rank
    return families
