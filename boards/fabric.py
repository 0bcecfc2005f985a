"""Cluster fabric: which members are missing, since when, and what changed."""

from boards import links, variables
from boards.board import Board, Row
from boards.fleet import FAILING, RUNNING
from boards.kinds import lines, stat, states_over_time, table, timeline
from boards.panels import LIMIT, Column, Query
from boards.queries import FABRIC_LABELS, FABRICS, GPU_NODES, SCP, coded
from boards.states import GOOD, WARN
from boards.steps import ALARMING, DOUBTFUL

CHOSEN = f'{SCP}, cluster_fabric_id=~"$fabric"'
INFO = f"scp_cluster_fabric_info{{{CHOSEN}}}"
WORST = f'{SCP}, cluster_fabric_id=~"$worst_fabric"'
FABRIC_ID = "account, environment, region, cluster_fabric_id"
KEY = GPU_NODES.key

_NODE_LINK = links.to("gpu-node", "This node", f"var-node={links.field('Node id')}")
_FABRIC_LINK = links.to("gpu-fabric", "This fabric", f"var-fabric={links.field('Fabric id')}")
_TO_NODES = links.to("gpu-node", "These nodes", "${fabric:queryparam}")


def members(matchers: str = "") -> str:
    """Return the members of the chosen fabrics by place and state, as the fabrics list them."""
    counts = f"scp_cluster_fabric_nodes{{{CHOSEN}{matchers}}}"
    return FABRICS.newest(f"(sum without ({FABRIC_LABELS}) ({counts}))")


def used_servers() -> str:
    """Return the servers that the API says the chosen fabrics use, by place."""
    counts = f"scp_cluster_fabric_used_servers{{{CHOSEN}}}"
    return FABRICS.newest(f"(sum without ({FABRIC_LABELS}) ({counts}))")


def nodes_seen() -> str:
    """Return the nodes of the chosen fabrics in the list of nodes, by place and state."""
    counts = f"scp_gpu_nodes{{{CHOSEN}}}"
    return GPU_NODES.newest(f"(sum without ({FABRIC_LABELS}, node_pool_id) ({counts}))")


def gap(chosen: str = CHOSEN) -> str:
    """Return by how many used servers each fabric exceeds its nodes seen."""
    by_fabric = f"account, environment, region, {FABRIC_LABELS}"
    used = FABRICS.newest(f"scp_cluster_fabric_used_servers{{{chosen}}}")
    listed = GPU_NODES.newest(f"(sum without (node_pool_id, state) (scp_gpu_nodes{{{chosen}}}))")
    # A fabric of which no node is seen has no count of them: it is 0 where the list is fresh.
    fresh = f"max by (account, environment, region) (time() - {GPU_NODES.updated}) < 300"
    none = f"0 * sum by ({FABRIC_ID}) ({used}) and on (account, environment, region) ({fresh})"
    seen = f"sum by ({FABRIC_ID}) ({listed})\nor {none}"
    return f"max by ({by_fabric}) ({used})\n- on ({FABRIC_ID}) ({seen})"


def worst_states() -> str:
    """Return the code of the state of each node that a timeline shows, in the order of names."""
    states = f'(scp_gpu_node_state{{{SCP}, gpu_node_id=~"$worst_node"}} == 1)'
    codes = coded(GPU_NODES.newest(states))
    called = f'label_join({codes}, "called", " ", "gpu_node_name", "region")'
    return f"max by (called, gpu_node_id) ({called})"


def entered() -> str:
    """Return by how many each count of members has grown since the point before."""
    counts = f"scp_cluster_fabric_nodes{{{WORST}}}"
    grown = f"(clamp_min({counts} - ({counts} offset $__interval), 0) > 0)"
    return f"sum by (state) ({FABRICS.newest(grown)})"


NOW = Row(
    "Now",
    [
        stat(
            "Fabrics chosen",
            "The cluster fabrics that were chosen.",
            f"count({FABRICS.newest(INFO)})",
        ),
        stat(
            "Members", "Nodes that the fabrics list as members, in any state.", f"sum({members()})"
        ),
        stat(
            "Running",
            "Members that are RUNNING.",
            f"sum({members(RUNNING)})",
            steps=((None, GOOD),),
        ),
        stat(
            "Failed",
            "Members in ERROR or UNKNOWN.",
            f"sum({members(FAILING)})",
            steps=ALARMING,
            links=[_TO_NODES],
        ),
        stat(
            "Not running",
            "Members in any state but RUNNING.",
            f"sum({members()}) - sum({members(RUNNING)})",
            steps=DOUBTFUL,
            links=[_TO_NODES],
        ),
        stat(
            "Used servers",
            "The servers in use, as the fabrics themselves count them.",
            f"sum({used_servers()})",
        ),
        stat(
            "Nodes seen",
            "Nodes of the fabrics in the list of nodes.",
            f"sum({nodes_seen()})",
            links=[_TO_NODES],
        ),
        stat(
            "Unaccounted for",
            "Fabrics whose count of used servers is not the number of nodes seen.",
            f"sum({gap()} != bool 0)",
            steps=DOUBTFUL,
        ),
    ],
)

_FABRIC_STATES = FABRICS.newest(f"(scp_cluster_fabric_state{{{WORST}}} == 1)")
_FABRICS_CALLED = (
    f'max by (called, cluster_fabric_id) (label_join({coded(_FABRIC_STATES)}, "called", " ",'
    ' "cluster_fabric_name", "region"))'
)
HISTORY = Row(
    "Over time",
    [
        timeline(
            "States of members",
            f"The state of each member: of more than {LIMIT}, those that are gone since the start"
            " of the range, then those in the worst states.",
            Query(worst_states(), "{{called}}"),
            height=20,
            links=[links.to("gpu-node", "This node", f"var-node={links.label('gpu_node_id')}")],
        ),
        timeline(
            "States of fabrics",
            f"The state of each fabric itself: of more than {LIMIT}, the worst.",
            Query(_FABRICS_CALLED, "{{called}}"),
            width=12,
            height=9,
        ),
        states_over_time(
            "Members by state",
            "Members of all chosen fabrics.",
            Query(f"sum by (state) ({members()}) > 0", "{{state}}"),
            height=9,
        ),
    ],
)

_MODIFIED = GPU_NODES.newest(
    f"(scp_gpu_node_modified_timestamp_seconds{{{SCP}}}\n"
    f"    and on ({KEY}) scp_gpu_node_info{{{CHOSEN}}})"
)
CHANGES = Row(
    "Changes",
    [
        lines(
            "Used servers against nodes seen",
            "What the fabrics count, what they list, and what the list of nodes shows: these"
            " differ where the cloud lost track of a node, and for a moment after a change.",
            Query(f"sum({used_servers()})", "used servers"),
            Query(f"sum({members()})", "members"),
            Query(f"sum({nodes_seen()})", "nodes seen"),
            width=8,
        ),
        states_over_time(
            "Members that entered a state",
            "By how many the members in each state have grown from one point to the next, in the"
            " fabrics whose states are shown above.",
            Query(entered(), "{{state}}"),
            width=8,
            style="bars",
            calcs=["sum"],
        ),
        table(
            "Last changed nodes",
            "The nodes that the cloud modified last.",
            [
                Column("gpu_node_name", "Node", links=[_NODE_LINK]),
                Column("region", "Region", width=90),
                Column("Value", "Changed", "dateTimeFromNow", 120),
                Column("gpu_node_id", "Node id", hidden=True),
            ],
            Query(f"topk(20, 1000 * {_MODIFIED})"),
            width=8,
            sort="-Changed",
        ),
    ],
)

_SHOWN = f'{SCP}, gpu_node_id=~"$worst_node"'
_NODES = GPU_NODES.newest(
    f"(scp_gpu_node_info{{{_SHOWN}}}\n"
    f"    * on ({KEY}) group_left (state) (scp_gpu_node_state{{{_SHOWN}}} == 1))"
)
_LOCKS = GPU_NODES.newest(f"scp_gpu_node_lock_enabled{{{_SHOWN}}}")
TABLES = Row(
    "Members",
    [
        table(
            "Nodes",
            f"The nodes of the chosen fabrics: of more than {LIMIT}, the worst.",
            [
                Column("gpu_node_name", "Node", width=130, links=[_NODE_LINK]),
                Column("state", "State", width=120, state=True),
                Column("policy_ip", "Address", width=120, links=[links.DCGM, links.NODE_EXPORTER]),
                Column("cluster_fabric_name", "Fabric", width=110, links=[_FABRIC_LINK]),
                Column("region", "Region", width=90),
                Column("server_type", "Server type", width=130),
                Column("image_version", "Image"),
                Column("Value #B", "Lock", "bool_on_off", 70),
                Column("gpu_node_id", "Node id", hidden=True),
                Column("cluster_fabric_id", "Fabric id", hidden=True),
            ],
            Query(f"topk({LIMIT}, {_NODES})"),
            Query(_LOCKS),
            width=16,
            height=12,
            sort="Node",
        ),
        table(
            "Fabrics",
            f"Each fabric's state, and used servers beyond the nodes seen: of more than {LIMIT},"
            " the worst.",
            [
                Column("cluster_fabric_name", "Fabric", links=[_FABRIC_LINK]),
                Column("region", "Region", width=90),
                Column("state", "State", width=110, state=True),
                Column("Value #B", "Gap", "short", 60, steps=((None, WARN), (0, GOOD), (1, WARN))),
                Column("cluster_fabric_id", "Fabric id", hidden=True),
            ],
            Query(f"topk({LIMIT}, {_FABRIC_STATES})"),
            Query(gap(WORST)),
            width=8,
            height=12,
            sort="Fabric",
        ),
    ],
)

FABRIC_BOARD = Board(
    uid="gpu-fabric",
    title="GPU clusters / Cluster fabric",
    description="The members of cluster fabrics, their states, and what changed.",
    variables=[
        variables.datasource(),
        *variables.places("scp"),
        variables.fabric(),
        variables.worst_fabrics(),
        variables.worst_nodes(),
    ],
    rows=[NOW, HISTORY, CHANGES, TABLES],
    alerts=f'provider=~"scp|", {CHOSEN}',
)
