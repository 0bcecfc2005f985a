"""The rows of CLOVA NSML's answers, named as the labels that they become.

`command` and `envs`, which may hold secrets, are not read.
"""

from typing import ClassVar

from pydantic import Field

from exporter.clouds.fields import (
    Count,
    Id,
    KoreanTime,
    Text,
    UtcTime,
    Whole,
    normal_state,
    stripped_state,
)
from exporter.clouds.rows import Row

_RUNNING_EXIT_CODE = -1


class Project(Row):
    """A row of GET /projects."""

    id_field: ClassVar[str] = "projectId"
    state_field: ClassVar[str] = "status"

    project_id: Id | None = Field(None, alias="projectId")
    project_name: Text = Field("", alias="projectName")
    status: str = ""
    run_count: Count | None = Field(None, alias="runCount")
    node_count: Count | None = Field(None, alias="nodeCount")

    @property
    def key(self) -> tuple[str, ...]:
        """The project's id."""
        return (self.project_id,) if self.project_id else ()

    @property
    def state_name(self) -> str:
        """The project's state."""
        return normal_state(self.status)


class Run(Row):
    """A row of GET /projects/runs, or a run's detail."""

    id_field: ClassVar[str] = "runName"
    state_field: ClassVar[str] = "status"

    project_id: Id | None = Field(None, alias="projectId")
    run_name: Id | None = Field(None, alias="runName")
    project_name: Text = Field("", alias="projectName")
    run_type: Text = Field("", alias="runType")
    status: str = ""
    created: KoreanTime = Field(None, alias="createTime")
    updated: KoreanTime = Field(None, alias="updateTime")

    @property
    def key(self) -> tuple[str, ...]:
        """The ids of the project and, unique only within it, of the run."""
        return (self.project_id, self.run_name) if self.project_id and self.run_name else ()

    @property
    def state_name(self) -> str:
        """The run's state."""
        return stripped_state("RUN_STATE_", self.status)


class RunNode(Row):
    """A node that a run has: a row of GET /projects/{project_id}/runs/{run_name}/nodes.

    Which run that is, the path of the call says; what the row says has to be the same.
    """

    id_field: ClassVar[str] = "nodeId"
    state_field: ClassVar[str] = "state"

    node_id: Id | None = Field(None, alias="nodeId")
    project_id: str = Field("", alias="project_id of the path")
    run_name: str = Field("", alias="run_name of the path")
    told_project_id: Text = Field("", alias="projectId")
    told_run_name: Text = Field("", alias="runName")
    project_name: Text = Field("", alias="projectName")
    state: str = ""
    resource_type: Text = Field("", alias="resourceType")
    container_image: Text = Field("", alias="containerImage")
    rank_number: Count | None = Field(None, alias="rank")
    exit_code_number: Whole | None = Field(None, alias="exitCode", ge=-(2**31), lt=2**32)
    host: Text = ""
    tcp_ports: list[int] | None = Field(None, alias="tcpPorts")
    # The API page's table spells it so.
    tcp_prots: list[int] | None = Field(None, alias="tcpProts")
    created: UtcTime = Field(None, alias="createTime")
    updated: UtcTime = Field(None, alias="updateTime")

    @property
    def key(self) -> tuple[str, ...]:
        """The ids of the run and the node."""
        return (self.project_id, self.run_name, self.node_id) if self.node_id else ()

    @property
    def state_name(self) -> str:
        """The node's state."""
        return stripped_state("NODE_STATE_", self.state)

    @property
    def rank(self) -> str:
        """The node's place in the run, as a label."""
        return "" if self.rank_number is None else str(self.rank_number)

    @property
    def exit_code(self) -> int | None:
        """The code that the node ended with; None while it runs."""
        return None if self.exit_code_number == _RUNNING_EXIT_CODE else self.exit_code_number

    @property
    def ports(self) -> tuple[int, ...]:
        """The node's open TCP ports, in the order of the API."""
        return tuple(self.tcp_ports or self.tcp_prots or ())


class RunMembers(Row):
    """The states of a run's nodes, once they were read."""

    project_id: str
    run_name: str
    states: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The ids of the run."""
        return (self.project_id, self.run_name)
