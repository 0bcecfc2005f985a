"""The simulated CLOVA NSML: its gateway, and the table of its operations."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from exporter.simulator import errors
from exporter.simulator import nsml_models as models
from exporter.simulator.auth import BadSignature, check_nsml
from exporter.simulator.calls import Answer, Call, as_json
from exporter.simulator.errors import Refused
from exporter.simulator.facts import Facts
from exporter.simulator.nsml_models import PageQuery
from exporter.simulator.paging import Window, cut
from exporter.simulator.routes import AnyRoute, Asked, Nothing, Route, find
from exporter.simulator.runs import PENDING, Project, Run, RunNode
from exporter.simulator.spelling import run_node_time, run_time
from exporter.simulator.world import World

T = TypeVar("T")


def list_projects(world: World, asked: Asked[PageQuery, Nothing]) -> Answer:
    """List the projects."""
    projects = list(world.projects.values())
    return _page(asked, projects, "projects", lambda project: _project_row(project, world.facts))


def list_runs(world: World, asked: Asked[PageQuery, Nothing]) -> Answer:
    """List the runs of all projects, the newest first."""
    runs = [run for project in world.projects.values() for run in project.runs.values()]
    runs.sort(key=lambda run: -run.created_at)
    return _page(asked, runs, "runList", lambda run: _run_row(run, world.facts))


def show_run(world: World, asked: Asked[Nothing, Nothing]) -> Answer:
    """Show one run."""
    row = _run_row(_run(world, asked.ids), world.facts).model_dump()
    return as_json(200, {"run": row} if world.facts.nsml_run_detail == "wrapped" else row)


def list_run_nodes(world: World, asked: Asked[PageQuery, Nothing]) -> Answer:
    """List the nodes of one run."""
    run, facts = _run(world, asked.ids), world.facts
    if not run.running and facts.nsml_ended_nodes == "missing":
        raise Refused(404, "The run has no nodes any more")
    nodes = [node for node in run.nodes if _is_listed(node, run, facts)]
    return _page(asked, nodes, "nodes", lambda node: _node_row(node, run))


ROUTES: tuple[AnyRoute[World], ...] = (
    Route(
        "list_projects", "List projects", "GET", "/projects",
        PageQuery, Nothing, 200, models.ProjectListResponse, list_projects,
    ),
    Route(
        "list_runs", "List the runs of all projects", "GET", "/projects/runs",
        PageQuery, Nothing, 200, models.RunListResponse, list_runs,
    ),
    Route(
        "show_run", "Show a run", "GET", "/projects/{project_id}/runs/{run_name}",
        Nothing, Nothing, 200, models.NsmlRun, show_run,
    ),
    Route(
        "list_run_nodes", "List the nodes of a run", "GET",
        "/projects/{project_id}/runs/{run_name}/nodes",
        PageQuery, Nothing, 200, models.RunNodeListResponse, list_run_nodes,
    ),
)  # fmt: skip


def locate(call: Call) -> tuple[str, ...]:
    """Return the segments of the path below `/nsml/v1`."""
    return call.segments[2:]


def answer(world: World, call: Call) -> Answer:
    """Answer as the gateway and the service behind it."""
    try:
        reply = _operate(world, call)
    except Refused as refused:
        reply = errors.nsml(world.facts, refused)
    reply.headers["x-ncp-trace-id"] = call.id
    return reply


def _operate(world: World, call: Call) -> Answer:
    try:
        check_nsml(call, world.keys, world.timeline.wall)
    except BadSignature as error:
        raise Refused(401, str(error)) from error
    found = find(ROUTES, call.method, locate(call))
    if isinstance(found, Refused):
        raise found
    route, ids = found
    return route.run(world, world, call, ids)


def _run(world: World, ids: dict[str, str]) -> Run:
    project = world.projects.get(ids["project_id"])
    run = project.runs.get(ids["run_name"]) if project else None
    if run is None:
        raise Refused(404, "The run does not exist")
    return run


def _is_listed(node: RunNode, run: Run, facts: Facts) -> bool:
    if node.state == PENDING:
        return facts.nsml_starting_ranks == "pending"
    return run.running or facts.nsml_ended_nodes == "listed"


def _page(
    asked: Asked[PageQuery, Nothing],
    items: Sequence[T],
    name: str,
    show: Callable[[T], BaseModel],
) -> Answer:
    facts, query = asked.world.facts, asked.query
    window = Window(query.page - 1, query.page_size, models.USUAL_SIZE, facts.nsml_page_size)
    shown = [_spelt(show(item), facts) for item in cut(items, window, asked.call)]
    totals = {"total": {"totalCount": len(items)}, "page": {"totalCount": len(shown)}, "absent": {}}
    page = as_json(200, {name: shown, **totals[facts.nsml_total]})
    return Answer(200, page.body, facts.nsml_content_type)


def _spelt(row: BaseModel, facts: Facts) -> dict[str, object]:
    document = row.model_dump()
    if facts.nsml_tcp_ports in document or not isinstance(row, models.NsmlRunNode):
        return document
    ports = document.pop("tcpPorts")
    return {**document, facts.nsml_tcp_ports: ports}


def _project_row(project: Project, facts: Facts) -> models.NsmlProject:
    running = [run for run in project.runs.values() if run.running]
    return models.NsmlProject(
        projectId=project.id,
        projectName=project.name,
        status=project.status,
        runCount=len(running),
        nodeCount=sum(len(run.nodes) for run in running),
        createdDate=run_time(facts, project.created_at),
        updatedDate=run_time(facts, project.updated_at),
    )


def _run_row(run: Run, facts: Facts) -> models.NsmlRun:
    return models.NsmlRun(
        runName=run.name,
        runType=run.type,
        projectId=run.project.id,
        projectName=run.project.name,
        status=run.status,
        creator=run.creator,
        createTime=run_time(facts, run.created_at),
        updateTime=run_time(facts, run.updated_at),
    )


def _node_row(node: RunNode, run: Run) -> models.NsmlRunNode:
    ssh, *tcp = node.ports
    return models.NsmlRunNode(
        nodeId=node.id,
        projectId=run.project.id,
        projectName=run.project.name,
        runName=run.name,
        state=node.state,
        resourceType=node.resource_type,
        containerImage=node.container_image,
        rank=node.rank,
        exitCode=node.exit_code,
        host=node.host,
        sshPort=ssh,
        tcpPorts=tcp,
        command=node.command,
        createTime=run_node_time(node.created_at),
        updateTime=run_node_time(node.updated_at),
    )
