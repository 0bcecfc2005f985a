"""The models of the NSML calls, as far as their pages tell."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from exporter.simulator.scp_models import is_number

MOST_ROWS = 10_000
USUAL_SIZE = 10


class PageQuery(BaseModel):
    """The parameters of every list; pages count from 1."""

    model_config = ConfigDict(frozen=True)

    page: Annotated[int, BeforeValidator(is_number)] = Field(default=1, ge=1)
    page_size: Annotated[int, BeforeValidator(is_number)] = Field(
        default=USUAL_SIZE, ge=1, le=MOST_ROWS, alias="pageSize"
    )


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class NsmlProject(_Answer):
    """A project."""

    projectId: str  # noqa: N815  # the API's own name, here and below
    projectName: str  # noqa: N815
    status: str
    runCount: int  # noqa: N815
    nodeCount: int  # noqa: N815
    createdDate: str  # noqa: N815
    updatedDate: str  # noqa: N815


class ProjectListResponse(_Answer):
    """A page of projects."""

    projects: list[NsmlProject]
    totalCount: int  # noqa: N815


class NsmlRun(_Answer):
    """A run."""

    runName: str  # noqa: N815
    runType: str  # noqa: N815
    projectId: str  # noqa: N815
    projectName: str  # noqa: N815
    status: str
    creator: str
    createTime: str  # noqa: N815
    updateTime: str  # noqa: N815


class RunListResponse(_Answer):
    """A page of runs of all projects."""

    runList: list[NsmlRun]  # noqa: N815
    totalCount: int  # noqa: N815


class NsmlRunNode(_Answer):
    """A node of a run."""

    nodeId: str  # noqa: N815
    projectId: str  # noqa: N815
    projectName: str  # noqa: N815
    runName: str  # noqa: N815
    state: str
    resourceType: str  # noqa: N815
    containerImage: str  # noqa: N815
    rank: int
    exitCode: int  # noqa: N815
    host: str
    sshPort: int  # noqa: N815
    tcpPorts: list[int]  # noqa: N815
    command: str
    createTime: str  # noqa: N815
    updateTime: str  # noqa: N815


class RunNodeListResponse(_Answer):
    """A page of nodes of a run."""

    nodes: list[NsmlRunNode]
    totalCount: int  # noqa: N815
