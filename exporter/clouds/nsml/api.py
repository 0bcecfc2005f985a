"""The calls of CLOVA NSML."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from exporter.clouds.http import Caller, request
from exporter.clouds.nsml.models import Project, Run, RunNode
from exporter.clouds.paging import Listing, OnPage, PageSize, walk
from exporter.clouds.rows import R, Reader, Record, read_object

PROJECTS_PATH = "/projects"
RUNS_PATH = "/projects/runs"
RUN_PATH = "/projects/{project_id}/runs/{run_name}"
NODES_PATH = "/projects/{project_id}/runs/{run_name}/nodes"


@dataclass(slots=True)
class PagedList(Generic[R]):
    """A list whose pages are counted from 1 and asked for by `page` and `pageSize`."""

    path: str
    reader: Reader[R]
    size: PageSize
    parts: Mapping[str, str]

    async def all(
        self, caller: Caller, *, ahead: bool = False, on_page: OnPage[R] = lambda _: None
    ) -> Listing[R]:
        """Return every object of the list; for `ahead` and `on_page` see `walk`."""

        async def fetch(index: int, size: int | None) -> bytes:
            page = index + 1
            query = {"page": page} if size is None else {"page": page, "pageSize": size}
            return await caller.get(request(self.path, query, self.parts))

        return await walk(fetch, self.reader, self.size, ahead=ahead, on_page=on_page)


def projects(page_size: int) -> PagedList[Project]:
    """List projects."""
    reader = Reader(Project, "projects")
    return PagedList(PROJECTS_PATH, reader, PageSize(page_size), {})


def runs(page_size: int) -> PagedList[Run]:
    """List the runs of all projects."""
    return PagedList(RUNS_PATH, Reader(Run, "runList"), PageSize(page_size), {})


def run_nodes(project_id: str, run_name: str, size: PageSize) -> PagedList[RunNode]:
    """List the nodes of one run."""
    parts = {"project_id": project_id, "run_name": run_name}
    return PagedList(NODES_PATH, Reader(RunNode, "nodes"), size, parts)


async def run(caller: Caller, project_id: str, run_name: str) -> Record[Run]:
    """Return one run by its detail; what the answer does not repeat, the path says."""
    parts = {"project_id": project_id, "run_name": run_name}
    body = await caller.get(request(RUN_PATH, path=parts))
    named = {"projectId": project_id, "runName": run_name}
    return read_object(Run, body, named, wrapper="run")
