"""GPU node: what became of it, what is known of it, and where to look further."""

from boards import links, variables
from boards.board import Board, Row
from boards.fabric import worst_states
from boards.fleet import FAILING, RUNNING
from boards.kinds import lines, stat, table, timeline
from boards.panels import LIMIT, Column, Query
from boards.queries import GPU_NODES, SCP
from boards.states import GOOD, WARN
from boards.steps import AGES, ALARMING

CHOSEN = f'{SCP}, cluster_fabric_id=~"$fabric", gpu_node_id=~"$node"'
INFO = f"scp_gpu_node_info{{{CHOSEN}}}"
ID = f'{SCP}, gpu_node_id=~"$node"'
SHOWN = f'{SCP}, gpu_node_id=~"$worst_node"'
KEY = GPU_NODES.key

_FABRIC_LINK = links.to("gpu-fabric", "Its fabric", f"var-fabric={links.field('Fabric id')}")
_POOL_LINK = links.to("gpu-fabric", "Fabrics of the region", f"var-region={links.field('Region')}")


def of_chosen(metric: str, matchers: str = "") -> str:
    """Return a family's series of the chosen nodes."""
    return GPU_NODES.newest(f"({metric}{{{ID}{matchers}}} and on ({KEY}) {INFO})")


def of_shown(metric: str) -> str:
    """Return a family's series of the nodes that there is room for."""
    return GPU_NODES.newest(f"{metric}{{{SHOWN}}}")


def in_state(matchers: str) -> str:
    """Return the chosen nodes that are in one of some states."""
    states = f"scp_gpu_node_state{{{ID}{matchers}}} == 1"
    return GPU_NODES.newest(f"({states} and on ({KEY}) {INFO})")


def counted(found: str) -> str:
    """Return how many of the chosen nodes were found; 0 only where there are any."""
    return f"count({found})\nor 0 * count({INFO})"


NOW = Row(
    "Now",
    [
        stat(
            "Nodes chosen",
            "The nodes that were chosen.",
            f"count({GPU_NODES.newest(INFO)})",
            width=4,
        ),
        stat(
            "Running",
            "Of these, RUNNING.",
            counted(in_state(RUNNING)),
            width=4,
            steps=((None, GOOD),),
        ),
        stat(
            "Failed",
            "Of these, ERROR or UNKNOWN.",
            counted(in_state(FAILING)),
            width=4,
            steps=ALARMING,
        ),
        stat(
            "GPUs",
            "GPUs in these nodes, as the names of their server types count them.",
            f"sum({of_chosen('scp_gpu_node_gpus')})",
            width=4,
        ),
        stat(
            "Unlocked",
            "Nodes without delete protection.",
            f"sum(1 - {of_chosen('scp_gpu_node_lock_enabled')})",
            width=4,
            steps=((None, GOOD), (1, WARN)),
        ),
        stat(
            "Age of values",
            "How long ago the list of nodes was read, where that is longest.",
            f"max(time() - max by (account, environment, region) ({GPU_NODES.updated}))",
            unit="s",
            width=4,
            steps=AGES,
            links=[links.to("gpu-exporter", "Exporter health")],
        ),
    ],
)

HISTORY = Row(
    "Over time",
    [
        timeline(
            "State history",
            f"The state of each node: of more than {LIMIT}, those that are gone since the start"
            " of the range, then those in the worst states.",
            Query(worst_states(), "{{called}}"),
            height=20,
        ),
    ],
)

KNOWN = Row(
    "What is known",
    [
        table(
            "Nodes",
            f"What the cloud tells of each node: of more than {LIMIT}, of the worst. The address"
            " links to the node's own dashboards; ports 9400 and 9100 are those of dcgm-exporter"
            " and node_exporter.",
            [
                Column("gpu_node_name", "Node", width=130),
                Column("state", "State", width=110, state=True),
                Column("policy_ip", "Address", width=120, links=[links.DCGM, links.NODE_EXPORTER]),
                Column("policy_nat", "Public", width=120),
                Column("cluster_fabric_name", "Fabric", width=110, links=[_FABRIC_LINK]),
                Column("node_pool_id", "Node pool", links=[_POOL_LINK]),
                Column("region", "Region", width=90),
                Column("server_type", "Server type", width=130),
                Column("gpu_model", "GPU", width=80),
                Column("image_version", "Image", width=140),
                Column("os_type", "System", width=80),
                Column("gpu_node_id", "Node id"),
                Column("cluster_fabric_id", "Fabric id", hidden=True),
            ],
            Query(
                f"topk({LIMIT}, "
                + GPU_NODES.newest(
                    f"(scp_gpu_node_info{{{SHOWN}}} * on ({KEY}) group_left (state)\n"
                    f"    (scp_gpu_node_state{{{SHOWN}}} == 1))"
                )
                + ")"
            ),
            width=24,
            sort="Node",
        ),
        table(
            "Dates and flags",
            f"When each node was made and last modified, and how it is set up: of more than"
            f" {LIMIT}, of the worst.",
            [
                Column("gpu_node_name", "Node"),
                Column("region", "Region", width=90),
                Column("Value #A", "Created", "dateTimeAsIso", 170),
                Column("Value #B", "Modified", "dateTimeFromNow", 150),
                Column("Value #C", "Lock", "bool_on_off", 80),
                Column("Value #D", "Public NAT", "bool_on_off", 100),
                Column("Value #E", "Storage IPs", "short", 100),
            ],
            Query(f"topk({LIMIT}, 1000 * {of_shown('scp_gpu_node_created_timestamp_seconds')})"),
            Query(f"1000 * {of_shown('scp_gpu_node_modified_timestamp_seconds')}"),
            Query(of_shown("scp_gpu_node_lock_enabled")),
            Query(of_shown("scp_gpu_node_public_nat_enabled")),
            Query(of_shown("scp_gpu_node_pfs_addresses")),
            width=14,
            sort="Node",
        ),
        lines(
            "Age of the values",
            "How old the list of nodes is, by region: a state can't be newer than that.",
            Query(
                f"time() - max by (account, environment, region) ({GPU_NODES.updated})",
                "{{account}} {{region}}",
            ),
            unit="s",
            width=10,
            steps=AGES,
        ),
    ],
)

NODE_BOARD = Board(
    uid="gpu-node",
    title="GPU clusters / GPU node",
    description="The history of GPU nodes, and what is known of them.",
    variables=[
        variables.datasource(),
        *variables.places("scp"),
        variables.fabric(),
        variables.node(),
        variables.worst_nodes(', gpu_node_id=~"$node"'),
    ],
    rows=[NOW, HISTORY, KNOWN],
    alerts=f'provider=~"scp|", {CHOSEN}',
)
