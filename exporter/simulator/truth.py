"""What is true at this moment, and was in the last minutes: for whoever checks an exporter."""

from pydantic import BaseModel, ConfigDict

from exporter.simulator.fleet import Region
from exporter.simulator.history import Gone
from exporter.simulator.runs import Project, Run
from exporter.simulator.world import World


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class StateChange(_Model):
    """The state something went into at a Unix time; null: it left the lists."""

    at: float
    state: str | None


class TrueObject(_Model):
    """A thing, its state, and the states it had in the last 15 minutes, the oldest first."""

    id: str
    name: str
    state: str | None
    history: list[StateChange]


class TrueNode(TrueObject):
    """A GPU node."""

    cluster_fabric_id: str | None
    lock_enabled: bool | None
    policy_nat: str | None


class TrueRun(TrueObject):
    """A run with its nodes; its id is `project/run`. A node's name is its rank."""

    nodes: list[TrueObject]


class TrueProject(TrueObject):
    """A project with its runs."""

    runs: list[TrueRun]


class TrueRegion(_Model):
    """One region of SCP."""

    environment: str
    region: str
    gpu_nodes: list[TrueNode]
    cluster_fabrics: list[TrueObject]
    node_pools: list[str]


class TrueNsml(_Model):
    """All of NSML."""

    projects: list[TrueProject]


class Truth(_Model):
    """Both clouds at the Unix time `now`; what left the lists lately is still here, state null."""

    now: float
    simulated_seconds: float
    scp: list[TrueRegion]
    nsml: TrueNsml


def tell(world: World) -> Truth:
    """Tell the truth about both clouds."""
    return Truth(
        now=world.timeline.wall,
        simulated_seconds=world.timeline.now,
        scp=[_region(world, region) for region in world.regions.values()],
        nsml=TrueNsml(projects=[_project(world, each) for each in world.projects.values()]),
    )


def _region(world: World, region: Region) -> TrueRegion:
    owner = "/".join(region.place)
    nodes = [
        TrueNode(
            id=node.id,
            name=node.name,
            state=node.state,
            history=_history(world, node.id),
            cluster_fabric_id=node.fabric.id,
            lock_enabled=node.locked,
            policy_nat=node.nat_ip,
        )
        for node in region.nodes.values()
    ]
    fabrics = [_object(world, each.id, each.name, each.state) for each in region.fabrics.values()]
    return TrueRegion(
        environment=region.place.environment,
        region=region.place.region,
        gpu_nodes=nodes + [_gone_node(world, gone) for gone in _gone(world, "node", owner)],
        cluster_fabrics=fabrics
        + [_object(world, gone.id, gone.name, None) for gone in _gone(world, "fabric", owner)],
        node_pools=list(region.pools),
    )


def _project(world: World, project: Project) -> TrueProject:
    runs = [_run(world, run) for run in project.runs.values()]
    gone = [_gone_run(world, each) for each in _gone(world, "run", project.id)]
    return TrueProject(
        id=project.id, name=project.name, state=project.status, history=[], runs=runs + gone
    )


def _run(world: World, run: Run) -> TrueRun:
    nodes = [_object(world, node.id, str(node.rank), node.state) for node in run.nodes]
    return TrueRun(
        id=run.key,
        name=run.name,
        state=run.status,
        history=_history(world, run.key),
        nodes=nodes,
    )


def _object(world: World, key: str, name: str, state: str | None) -> TrueObject:
    return TrueObject(id=key, name=name, state=state, history=_history(world, key))


def _gone_node(world: World, gone: Gone) -> TrueNode:
    return TrueNode(
        id=gone.id,
        name=gone.name,
        state=None,
        history=_history(world, gone.id),
        cluster_fabric_id=None,
        lock_enabled=None,
        policy_nat=None,
    )


def _gone_run(world: World, gone: Gone) -> TrueRun:
    history = _history(world, gone.id)
    return TrueRun(id=gone.id, name=gone.name, state=None, history=history, nodes=[])


def _gone(world: World, kind: str, owner: str) -> list[Gone]:
    return world.history.gone(kind, owner, world.timeline.wall)


def _history(world: World, key: str) -> list[StateChange]:
    changes = world.history.of(key, world.timeline.wall)
    return [StateChange(at=change.at, state=change.state) for change in changes]
