"""Drills as they are ordered over HTTP: what to break or mend, and how."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from exporter.simulator.drills import Drills
from exporter.simulator.keys import Cloud


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FailNode(_Order):
    """Put a node into a state and keep it there."""

    kind: Literal["fail_node"]
    node_id: str | None = None
    state: str = "ERROR"

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.fail_node(self.node_id, self.state)


class RecoverNode(_Order):
    """Put a node back to RUNNING, and let it go."""

    kind: Literal["recover_node"]
    node_id: str

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.recover_node(self.node_id)


class VanishNode(_Order):
    """Take a node off the list, without a word."""

    kind: Literal["vanish_node"]
    node_id: str | None = None

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.vanish_node(self.node_id)


class ReturnNode(_Order):
    """Put a vanished node back on the list."""

    kind: Literal["return_node"]
    node_id: str

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.return_node(self.node_id)


class HoldFabric(_Order):
    """Put a fabric into a state and keep it there."""

    kind: Literal["hold_fabric"]
    fabric_id: str | None = None
    state: str = "ERROR"

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.hold_fabric(self.fabric_id, self.state)


class ReleaseFabric(_Order):
    """Let a fabric's state follow from its nodes again."""

    kind: Literal["release_fabric"]
    fabric_id: str

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.release_fabric(self.fabric_id)


class KillRegion(_Order):
    """Have every connection to a region broken."""

    kind: Literal["kill_region"]
    environment: str
    region: str

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.kill_region(self.environment, self.region)


class ReviveRegion(_Order):
    """Have a killed region answer again."""

    kind: Literal["revive_region"]
    environment: str
    region: str

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.revive_region(self.environment, self.region)


class FailRun(_Order):
    """Let a rank of a run fail, and the run with it seconds later."""

    kind: Literal["fail_run"]
    project_id: str | None = None
    run_name: str | None = None
    exit_code: int = 1

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.fail_run(self.project_id, self.run_name, self.exit_code)


class FailRunNode(_Order):
    """Let one rank of a run fail while the others hang on."""

    kind: Literal["fail_run_node"]
    project_id: str | None = None
    run_name: str | None = None
    rank: int = 0
    exit_code: int = 1

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.fail_run_node(self.project_id, self.run_name, self.rank, self.exit_code)


class EndRun(_Order):
    """Let a run end well."""

    kind: Literal["end_run"]
    project_id: str | None = None
    run_name: str | None = None

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.end_run(self.project_id, self.run_name)


class RotateKeys(_Order):
    """Replace the keys of a cloud."""

    kind: Literal["rotate_keys"]
    cloud: Cloud

    def carry_out(self, drills: Drills) -> str:
        """Do it, and return whom it hit."""
        return drills.rotate_keys(self.cloud)


class DrillOrder(
    RootModel[
        Annotated[
            FailNode
            | RecoverNode
            | VanishNode
            | ReturnNode
            | HoldFabric
            | ReleaseFabric
            | KillRegion
            | ReviveRegion
            | FailRun
            | FailRunNode
            | EndRun
            | RotateKeys,
            Field(discriminator="kind"),
        ]
    ]
):
    """A drill to carry out."""


class DrillReport(BaseModel):
    """What was done, and to whom: a node, a fabric, a region, `project/run` or a cloud."""

    kind: str
    target: str
