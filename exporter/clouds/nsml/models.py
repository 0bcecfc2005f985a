"""The rows of CLOVA NSML's answers, named as the labels that they become.

`command` and `envs`, which may hold secrets, are not read.
"""

from typing import Annotated, ClassVar

from msgspec import Meta, field

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
_ExitCode = Annotated[Whole, Meta(ge=-(2**31), lt=2**32)]


class Project(Row, frozen=True):
    """A row of GET /projects."""

    id_field: ClassVar[str] = "projectId"
    state_field: ClassVar[str] = "status"

    project_id: Id | None = field(default=None, name="projectId")
    project_name: Text = field(default="", name="projectName")
    status: str = ""
    run_count: Count | None = field(default=None, name="runCount")
    node_count: Count | None = field(default=None, name="nodeCount")

    @property
    def key(self) -> tuple[str, ...]:
        """The project's id."""
        return (self.project_id,) if self.project_id else ()

    @property
    def state_name(self) -> str:
        """The project's state."""
        return normal_state(self.status)


class Run(Row, frozen=True):
    """A row of GET /projects/runs, or a run's detail."""

    id_field: ClassVar[str] = "runName"
    state_field: ClassVar[str] = "status"

    project_id: Id | None = field(default=None, name="projectId")
    run_name: Id | None = field(default=None, name="runName")
    project_name: Text = field(default="", name="projectName")
    run_type: Text = field(default="", name="runType")
    status: str = ""
    created: KoreanTime = field(default=None, name="createTime")
    updated: KoreanTime = field(default=None, name="updateTime")

    @property
    def key(self) -> tuple[str, ...]:
        """The ids of the project and, unique only within it, of the run."""
        return (self.project_id, self.run_name) if self.project_id and self.run_name else ()

    @property
    def state_name(self) -> str:
        """The run's state."""
        return stripped_state("RUN_STATE_", self.status)


class RunNode(Row, frozen=True):
    """A node that a run has: a row of GET /projects/{project_id}/runs/{run_name}/nodes.

    Which run that is, the path of the call says; what the row says has to be the same.
    """

    id_field: ClassVar[str] = "nodeId"
    state_field: ClassVar[str] = "state"

    node_id: Id | None = field(default=None, name="nodeId")
    project_id: str = field(default="", name="project_id of the path")
    run_name: str = field(default="", name="run_name of the path")
    told_project_id: Text = field(default="", name="projectId")
    told_run_name: Text = field(default="", name="runName")
    project_name: Text = field(default="", name="projectName")
    state: str = ""
    resource_type: Text = field(default="", name="resourceType")
    container_image: Text = field(default="", name="containerImage")
    rank_number: Count | None = field(default=None, name="rank")
    exit_code_number: _ExitCode | None = field(default=None, name="exitCode")
    host: Text = ""
    tcp_ports: list[int] | None = field(default=None, name="tcpPorts")
    # The API page's table spells it so.
    tcp_prots: list[int] | None = field(default=None, name="tcpProts")
    created: UtcTime = field(default=None, name="createTime")
    updated: UtcTime = field(default=None, name="updateTime")

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


class RunMembers(Row, frozen=True):
    """The states of a run's nodes, once they were read."""

    project_id: str
    run_name: str
    states: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The ids of the run."""
        return (self.project_id, self.run_name)
