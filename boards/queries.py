"""Fragments of PromQL that the dashboards' queries are made of.

Two replicas of the exporter are each a whole fleet. `Source.newest` joins them away: of
each target the replica counts that polled it last, so that one which lost sight of a
region shows none of its old values beside the other's new ones, and nothing is counted
twice.
"""

from dataclasses import dataclass

from boards.states import UNLISTED, code_table

OWN = "gpu_cluster_exporter_"
UPDATED = OWN + "target_last_update_timestamp_seconds"
REPLICA = "instance, pod"
SCP_LABELS = "account, environment, region"
SCP = 'account=~"$account", environment=~"$environment", region=~"$region"'
NSML = 'account=~"$account"'
FABRIC_LABELS = "cluster_fabric_id, cluster_fabric_name"
"""Counts by fabric are summed up within a replica, before the replicas are joined away: to join
the series of a thousand fabrics at every point of a graph takes minutes."""


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of target: its collector, its labels, and the objects that it lists."""

    provider: str
    collector: str
    labels: str
    scope: str
    ids: str

    @property
    def key(self) -> str:
        """The labels that tell an object from all others, of one replica."""
        return f"job, instance, {self.labels}, {self.ids}"

    @property
    def updated(self) -> str:
        """When each replica last polled each target, whole or in part."""
        target = f'provider="{self.provider}", collector="{self.collector}"'
        return f"{UPDATED}{{{target}, {self.scope}}}"

    def newest(self, expression: str) -> str:
        """Return an expression without replicas: as the one saw it that polled last."""
        return (
            f"max without ({REPLICA}) (\n  {expression}\n"
            f"  and on (job, instance, {self.labels}) (\n"
            f"    {self.updated}\n"
            f"    == on ({self.labels}) group_left ()\n"
            f"    max by ({self.labels}) ({self.updated})\n  )\n)"
        )


GPU_NODES = Source("scp", "gpu_nodes", SCP_LABELS, SCP, "gpu_node_id")
FABRICS = Source("scp", "cluster_fabrics", SCP_LABELS, SCP, "cluster_fabric_id")
RUNS = Source("nsml", "runs", "account", NSML, "project_id, run_name")
RUN_NODES = Source("nsml", "run_nodes", "account", NSML, "project_id, run_name, node_id")


def coded(states: str) -> str:
    """Return the codes of the states that a vector of ones has as its label `state`."""
    return (
        f"(\n{states}\n) * on (state) group_left () (\n     {code_table()}\n)\n"
        f"or (\n{states}\n) * {UNLISTED.code}"
    )
