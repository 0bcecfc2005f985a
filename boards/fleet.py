"""Fleet overview: is anything wrong anywhere, and where to look."""

from boards import links, variables
from boards.board import Board, Row
from boards.kinds import bars, lines, stat, states_over_time, table
from boards.panels import Column, Query
from boards.queries import FABRIC_LABELS, FABRICS, GPU_NODES, NSML, OWN, RUNS, SCP, UPDATED
from boards.states import FAILED, GOOD, NOTE
from boards.steps import AGES, ALARMING, DOUBTFUL
from boards.trouble import in_trouble

LIMIT = 100
PLACE = "provider, account, environment, region"

FAILING = f', state=~"{FAILED}"'
STATE_OF_RUNS = f"(nsml_run_state{{{NSML}}} == 1)"
RUNNING = ', state="RUNNING"'
NOT_RUNNING = ', state!="RUNNING"'

TO_NODES = links.to("gpu-node", "GPU nodes")
TO_FABRICS = links.to("gpu-fabric", "Cluster fabrics")
TO_RUNS = links.to("gpu-nsml-runs", "NSML runs")
TO_EXPORTER = links.to("gpu-exporter", "Exporter health")


def nodes(matchers: str = "") -> str:
    """Return the counts of GPU nodes by place, server type and state."""
    counts = f"scp_gpu_nodes{{{SCP}{matchers}}}"
    return GPU_NODES.newest(f"(sum without ({FABRIC_LABELS}, node_pool_id) ({counts}))")


def server_types(matchers: str) -> str:
    """Return the GPUs of a node of each server type and model, at the end of the range.

    One node of each tells, looked up once for a whole graph: nodes are many.
    """
    info = f"scp_gpu_node_info{{{SCP}{matchers}}} @ end()"
    return (
        f"max by (server_type, gpu_model) (topk by (server_type, gpu_model) (1, {info})\n"
        f"  * on ({GPU_NODES.key}) group_left () scp_gpu_node_gpus{{{SCP}}} @ end())"
    )


def gpus(matchers: str) -> str:
    """Return the GPUs of all nodes in some states by model, also of no known one."""
    # Of a type that has a model in one region and none in another, the model counts.
    known, unknown = server_types(', gpu_model!=""'), server_types(', gpu_model=""')
    types = f"topk by (server_type) (1, {known})\nor on (server_type) {unknown}"
    away = f"{FABRIC_LABELS}, node_pool_id, state"
    counts = GPU_NODES.newest(f"(sum without ({away}) (scp_gpu_nodes{{{SCP}{matchers}}}))")
    by_type = f"sum by (server_type) ({counts}) * on (server_type) group_left (gpu_model)"
    by_model = f"sum by (gpu_model) ({by_type} ({types}))"
    return f'label_replace({by_model}, "gpu_model", "unknown model", "gpu_model", "")'


def not_running(chosen: str = SCP) -> str:
    """Return the number of members that are not RUNNING of each fabric."""
    members = f'scp_cluster_fabric_nodes{{{chosen}, state!="RUNNING"}}'
    return FABRICS.newest(f"(sum without (state) ({members}))")


def age(collectors: str) -> str:
    """Return how old the values of each account and region are, in seconds."""
    updated = f'{UPDATED}{{collector=~"{collectors}", {SCP}}}'
    return f"time() - min by ({PLACE}) (max by ({PLACE}, collector) ({updated}))"


def out_of_sight() -> str:
    """Return the accounts and regions whose main lists are not fresh, or never were."""
    of = f'collector=~"gpu_nodes|run_nodes", {SCP}'
    interval = f"max by ({PLACE}) ({OWN}target_interval_seconds{{{of}}})"
    fresh = f"({age('gpu_nodes|run_nodes')}) < clamp_min(3 * {interval}, 300)"
    return f"group by ({PLACE}) ({OWN}target_up{{{of}}}) unless {fresh}"


def _counted(found: str, among: str) -> str:
    """Return how many were found; none is 0 only where there are any to look at."""
    return f"count({found})\nor 0 * count({among})"


HEALTH = Row(
    "Now",
    [
        stat(
            "Regions out of sight",
            "Accounts and regions whose nodes or runs were not read for 5 minutes (or three"
            " intervals): what the other numbers say does not count them.",
            _counted(out_of_sight(), f"{OWN}target_up{{{SCP}}}"),
            steps=ALARMING,
            links=[TO_EXPORTER],
        ),
        stat(
            "GPU nodes",
            "All nodes that the regions in sight list, in any state.",
            f"sum({nodes()})",
            steps=((None, NOTE),),
            links=[TO_NODES],
        ),
        stat(
            "Failed nodes",
            "Nodes in the states ERROR and UNKNOWN.",
            f"sum({nodes(FAILING)})",
            steps=ALARMING,
            links=[TO_NODES],
        ),
        stat(
            "GPUs in service",
            "GPUs of nodes that are RUNNING, as the names of their server types count them.",
            f"sum({gpus(RUNNING)})",
            steps=((None, GOOD),),
            links=[TO_NODES],
        ),
        stat(
            "GPUs out of service",
            "GPUs of nodes in any other state, stopped on purpose or not.",
            f"sum({gpus(NOT_RUNNING)})",
            steps=DOUBTFUL,
            links=[TO_NODES],
        ),
        stat(
            "Degraded fabrics",
            "Cluster fabrics with members that are not RUNNING.",
            f"sum({not_running()} > bool 0)",
            steps=DOUBTFUL,
            links=[TO_FABRICS],
        ),
        stat(
            "Runs in trouble",
            "NSML runs that ended in a state other than COMPLETED, lost ranks while others run,"
            " or have no running node 15 minutes after they were created.",
            _counted(in_trouble(), f"nsml_run_info{{{NSML}}}"),
            steps=ALARMING,
            links=[TO_RUNS],
        ),
        stat(
            "Oldest values",
            "How long ago the list of nodes or runs was read of the region where that is longest.",
            f"max({age('gpu_nodes|run_nodes')})",
            unit="s",
            steps=AGES,
            links=[TO_EXPORTER],
        ),
    ],
)

_REGION_LINK = links.to(
    "gpu-fabric",
    "Fabrics of this region",
    f"var-account={links.field('Account')}",
    f"var-environment={links.field('Env')}",
    f"var-region={links.field('Region')}",
)
_BY_PLACE = "sum by (account, environment, region)"
REGIONS = Row(
    "Regions",
    [
        table(
            "Regions",
            "Nodes of each account and region, and how old that is. A region without numbers"
            " is out of sight.",
            [
                Column("account", "Account", width=130),
                Column("environment", "Env", width=60),
                Column("region", "Region", links=[_REGION_LINK]),
                Column("Value #A", "Nodes", "short", 80),
                Column("Value #B", "Running", "short", 90),
                Column("Value #C", "Failed", "short", 80, steps=ALARMING),
                Column("Value #D", "Age", "s", 90, steps=AGES),
            ],
            Query(f"{_BY_PLACE} ({nodes()})"),
            Query(f"{_BY_PLACE} ({nodes(RUNNING)})"),
            Query(f"{_BY_PLACE} ({nodes(FAILING)})"),
            Query(f"max by (account, environment, region) ({age('gpu_nodes')})"),
            width=14,
            height=9,
            sort="Account",
        ),
        bars(
            "Freshness",
            "How long ago the nodes or runs of each account and region were read.",
            Query(age("gpu_nodes|run_nodes"), "{{account}} {{environment}} {{region}}"),
            unit="s",
            width=10,
            height=9,
            steps=AGES,
            defaults={"min": 0, "max": 600},
            links=[
                links.to(
                    "gpu-exporter",
                    "Targets of this account",
                    f"var-account={links.label('account')}",
                )
            ],
        ),
    ],
)

HISTORY = Row(
    "Over time",
    [
        states_over_time(
            "GPU nodes by state",
            "All nodes of the chosen regions. A region out of sight is missing from the sum.",
            Query(f"sum by (state) ({nodes()}) > 0", "{{state}}"),
            width=9,
            links=[TO_NODES],
        ),
        lines(
            "GPUs by model",
            "GPUs of RUNNING nodes, and of all other nodes, by the models that are known at the end"
            " of the range.",
            Query(gpus(RUNNING), "{{gpu_model}} in service"),
            Query(gpus(NOT_RUNNING), "{{gpu_model}} out of service"),
            width=8,
            links=[TO_NODES],
        ),
        states_over_time(
            "NSML runs by state",
            "All runs of the chosen accounts.",
            Query(
                f"count by (state) ({RUNS.newest(STATE_OF_RUNS)})",
                "{{state}}",
            ),
            width=7,
            links=[TO_RUNS],
        ),
    ],
)

_NODE_LINK = links.to("gpu-node", "This node", f"var-node={links.field('Node id')}")
_FABRIC_LINK = links.to("gpu-fabric", "This fabric", f"var-fabric={links.field('Fabric id')}")
_RUN_LINK = links.to(
    "gpu-nsml-runs",
    "This run",
    f"var-account={links.field('Account')}",
    f"var-project={links.field('Project id')}",
    f"var-run={links.field('Run')}",
)
_FAILED_NODES = GPU_NODES.newest(
    f"(scp_gpu_node_info{{{SCP}}} * on ({GPU_NODES.key}) group_left (state)\n"
    f'    (scp_gpu_node_state{{{SCP}, state=~"{FAILED}"}} == 1))'
)
TROUBLE = Row(
    "Trouble",
    [
        table(
            "Failed nodes now",
            f"Nodes in ERROR or UNKNOWN, {LIMIT} at most.",
            [
                Column("gpu_node_name", "Node", width=130, links=[_NODE_LINK]),
                Column("state", "State", width=90, state=True),
                Column("region", "Region", width=90),
                Column("cluster_fabric_name", "Fabric", width=100, links=[_FABRIC_LINK]),
                Column("policy_ip", "Address"),
                Column("gpu_node_id", "Node id", hidden=True),
                Column("cluster_fabric_id", "Fabric id", hidden=True),
            ],
            Query(f"topk({LIMIT}, {_FAILED_NODES})"),
            width=9,
            sort="Node",
        ),
        table(
            "Degraded fabrics now",
            f"Fabrics with members that are not RUNNING, the {LIMIT} with the most of them.",
            [
                Column("cluster_fabric_name", "Fabric", links=[_FABRIC_LINK]),
                Column("region", "Region", width=90),
                Column("Value", "Not running", "short", 110, steps=DOUBTFUL),
                Column("cluster_fabric_id", "Fabric id", hidden=True),
            ],
            Query(f"topk({LIMIT}, {not_running()} > 0)"),
            width=7,
            sort="-Not running",
        ),
        table(
            "Runs in trouble now",
            f"What is the matter with each run, {LIMIT} at most.",
            [
                Column("project_name", "Project"),
                Column("run_name", "Run", width=60, links=[_RUN_LINK]),
                Column("trouble", "Trouble", width=110),
                Column("account", "Account", width=130),
                Column("project_id", "Project id", hidden=True),
            ],
            Query(f"topk({LIMIT}, {in_trouble()})"),
            width=8,
            sort="Project",
        ),
    ],
)

FLEET = Board(
    uid="gpu-fleet",
    title="GPU clusters / Fleet overview",
    description="Nodes, GPUs, cluster fabrics and runs of all accounts and regions.",
    variables=[variables.datasource(), *variables.places()],
    rows=[HEALTH, REGIONS, HISTORY, TROUBLE],
    alerts=SCP,
)
