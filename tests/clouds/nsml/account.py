"""The collectors of one account, and the answers of a cloud that they ask."""

from collections.abc import Collection
from typing import Any

from exporter.clouds.nsml.collectors import collectors
from exporter.config import NSML_COLLECTORS
from tests.clouds.api import PACE, Row
from tests.clouds.calls import SteppedClock

RUNS = "/projects/runs"
HOUR = 3600.0
OVER = ("COMPLETED", "FAILED", "STOPPED")


def made(
    clock: SteppedClock,
    *,
    discover: bool = True,
    projects: Collection[str] = (),
    configured: Collection[tuple[str, ...]] = (),
    retention: float = HOUR,
) -> dict[str, Any]:
    """Return all collectors of an account by name."""
    every = collectors(
        NSML_COLLECTORS,
        account="research",
        pace=PACE,
        page_size=100,
        discover=discover,
        projects=projects,
        configured=configured,
        terminal_states=OVER,
        retention=retention,
        clock=clock,
    )
    return {collector.target.collector: collector for collector in every}


def run(name: str, state: str = "IN_PROGRESS", project: str = "p", **fields: object) -> Row:
    """Return a row of a run."""
    return {"projectId": project, "runName": name, "status": f"RUN_STATE_{state}", **fields}


def listed(*rows: Row) -> Any:  # noqa: ANN401 - what a cloud answers with
    """Answer with these runs, on one page."""
    return paged("runList", *rows)


def nodes(*names: str, **fields: object) -> Any:  # noqa: ANN401 - what a cloud answers with
    """Answer with nodes of these names, on one page."""
    rows = [{"nodeId": name, "state": "NODE_STATE_RUNNING", **fields} for name in names]
    return paged("nodes", *rows)


def paged(name: str, *rows: Row) -> Any:  # noqa: ANN401 - what a cloud answers with
    """Answer with these rows on the first page, and none on any other."""
    return lambda query: {name: rows if query.get("page") == "1" else [], "totalCount": len(rows)}


def nodes_path(name: str, project: str = "p") -> str:
    """Return the path of a run's nodes."""
    return f"/projects/{project}/runs/{name}/nodes"


def detail_path(name: str, project: str = "p") -> str:
    """Return the path of a run's detail."""
    return f"/projects/{project}/runs/{name}"
