"""Alerts labelled as the rules label them: who gets them, and what silences what."""

from collections.abc import Mapping, Sequence

Alert = Mapping[str, str]

# As the rules label them.
ACCOUNT = {"provider": "scp", "account": "prod", "environment": "e"}
RESEARCH = {"provider": "nsml", "account": "research"}
WEST = {**ACCOUNT, "region": "kr-west1"}
EAST = {**WEST, "region": "kr-east1"}
OTHER_ACCOUNT = {**WEST, "account": "test"}
FABRIC = {"cluster_fabric_id": "f1", "cluster_fabric_name": "aurora01"}
OTHER_FABRIC = {"cluster_fabric_id": "f2", "cluster_fabric_name": "basalt01"}
NODE = {"gpu_node_id": "n1", "gpu_node_name": "aurora01-001"}
RUN = {**RESEARCH, "project_id": "p1", "project_name": "speech", "run_name": "2"}
OTHER_RUN = {**RUN, "run_name": "3"}
RANK = {"node_id": "r1", "rank": "1", "host": "h1"}


def alert(name: str, severity: str, *labels: Alert, **more: str) -> dict[str, str]:
    """Return an alert's labels; … stands for the prefix of the exporter's own."""
    made = {"alertname": name.replace("…", "GpuClusterExporter"), "severity": severity}
    for each in (*labels, more):
        made.update(each)
    return made


STRANGER = alert("SomethingElse", "of-the-sites-own")

ROUTES: list[tuple[Alert, str]] = [
    (alert("ScpGpuNodeFailed", "critical", WEST, FABRIC, NODE), "pager"),
    (alert("ScpClusterFabricDown", "critical", WEST, FABRIC), "pager"),
    (alert("ScpApiVersionUnsupported", "critical", ACCOUNT), "pager"),
    (alert("NsmlRunDegraded", "critical", RUN), "pager"),
    (alert("…Down", "critical"), "pager"),
    (alert("…Blind", "critical", provider="scp", scope="cloud"), "pager"),
    (alert("ScpGpuNodeStopped", "warning", WEST, FABRIC, NODE), "office-hours"),
    (alert("NsmlRunFailed", "warning", RUN), "office-hours"),
    (alert("…TargetDown", "warning", WEST, collector="images"), "office-hours"),
    (alert("…ReloadFailed", "warning"), "office-hours"),
    (alert("ScpGpuNodesUnlocked", "info", WEST, FABRIC), "reading"),
    (STRANGER, "office-hours"),
]

FABRIC_DOWN = alert("ScpClusterFabricDown", "critical", WEST, FABRIC)
NODE_FAILED = alert("ScpGpuNodeFailed", "critical", WEST, FABRIC, NODE)
NODE_VANISHED = alert("ScpGpuNodeVanished", "critical", WEST, FABRIC, NODE)
DEGRADED = alert("ScpClusterFabricDegraded", "warning", WEST, FABRIC)
STOPPED = alert("ScpGpuNodeStopped", "warning", WEST, FABRIC, NODE)
UNLOCKED = alert("ScpGpuNodesUnlocked", "info", WEST, FABRIC)
DEPRECATED = alert("ScpApiVersionDeprecated", "warning", ACCOUNT, version="1.2")
EXPIRE = alert("…CredentialsExpire", "warning", ACCOUNT)
SKEW = alert("…ClockSkew", "warning", WEST)
TARGET_DOWN = alert("…TargetDown", "warning", WEST, collector="gpu_nodes")
PARTIAL = alert("…PartialPolls", "warning", WEST, collector="gpu_nodes")
RUN_DEGRADED = alert("NsmlRunDegraded", "critical", RUN)
RUN_NODE_FAILED = alert("NsmlRunNodeFailed", "critical", RUN, RANK)
RUN_FAILED = alert("NsmlRunFailed", "warning", RUN)
RUNS_DOWN = alert("…TargetDown", "warning", provider="nsml", account="research", collector="runs")
BLIND_REGION = alert("…Blind", "critical", WEST, scope="region")
BLIND_ACCOUNT = alert("…Blind", "critical", ACCOUNT, scope="account")
BLIND_CLOUD = alert("…Blind", "critical", provider="scp", scope="cloud")
BLIND_RESEARCH = alert("…Blind", "critical", RESEARCH, scope="account")
DOWN = alert("…Down", "critical")
REFUSED = alert("…CredentialsRefused", "critical", ACCOUNT)
REFUSED_RESEARCH = alert("…CredentialsRefused", "critical", RESEARCH)


def at(labels: Alert, place: Alert) -> dict[str, str]:
    """Return an alert elsewhere."""
    return {**labels, **place}


# What fires, what it silences, and what it must not silence.
INHIBITIONS: dict[str, tuple[Alert, Sequence[Alert], Sequence[Alert]]] = {
    "a fabric that is down": (
        FABRIC_DOWN,
        [NODE_FAILED, NODE_VANISHED, DEGRADED],
        [
            at(NODE_FAILED, OTHER_FABRIC),
            at(NODE_FAILED, EAST),
            at(NODE_FAILED, OTHER_ACCOUNT),
            at(NODE_FAILED, {"environment": "s"}),
            {key: text for key, text in NODE_FAILED.items() if not key.startswith("cluster_")},
            STOPPED,
            RUN_NODE_FAILED,
        ],
    ),
    "a fabric that is degraded": (DEGRADED, [], [NODE_FAILED, STOPPED]),
    "a run that hangs": (
        RUN_DEGRADED,
        [RUN_NODE_FAILED],
        [
            at(RUN_NODE_FAILED, OTHER_RUN),
            at(RUN_NODE_FAILED, {"project_id": "p2"}),
            at(RUN_NODE_FAILED, {"account": "other"}),
            RUN_FAILED,
        ],
    ),
    "no exporter": (
        DOWN,
        [BLIND_REGION, BLIND_ACCOUNT, BLIND_CLOUD, BLIND_RESEARCH, TARGET_DOWN, RUNS_DOWN],
        [NODE_FAILED, FABRIC_DOWN, RUN_DEGRADED, REFUSED, STOPPED],
    ),
    "refused keys": (
        REFUSED,
        [BLIND_REGION, BLIND_ACCOUNT, TARGET_DOWN],
        [
            at(BLIND_REGION, OTHER_ACCOUNT),
            at(BLIND_REGION, {"environment": "s"}),
            BLIND_CLOUD,
            BLIND_RESEARCH,
            NODE_FAILED,
            FABRIC_DOWN,
            EXPIRE,
        ],
    ),
    "refused keys of NSML": (
        REFUSED_RESEARCH,
        [BLIND_RESEARCH, RUNS_DOWN],
        [BLIND_ACCOUNT, at(BLIND_RESEARCH, {"account": "other"}), RUN_NODE_FAILED],
    ),
    "a blind region": (
        BLIND_REGION,
        [STOPPED, DEGRADED, UNLOCKED, TARGET_DOWN, PARTIAL],
        [
            NODE_FAILED,
            NODE_VANISHED,
            FABRIC_DOWN,
            DEPRECATED,
            EXPIRE,
            SKEW,
            at(STOPPED, EAST),
            at(STOPPED, OTHER_ACCOUNT),
            at(STOPPED, {"environment": "s"}),
            at(TARGET_DOWN, EAST),
            RUN_FAILED,
        ],
    ),
    "a blind account": (
        BLIND_ACCOUNT,
        [STOPPED, at(STOPPED, EAST), UNLOCKED, TARGET_DOWN],
        [
            NODE_FAILED,
            FABRIC_DOWN,
            at(STOPPED, OTHER_ACCOUNT),
            at(STOPPED, {"environment": "s"}),
            DEPRECATED,
            EXPIRE,
            RUN_FAILED,
        ],
    ),
    "a blind cloud": (
        BLIND_CLOUD,
        [STOPPED, at(STOPPED, EAST), at(STOPPED, OTHER_ACCOUNT), TARGET_DOWN],
        [NODE_FAILED, FABRIC_DOWN, RUN_FAILED, RUNS_DOWN, EXPIRE],
    ),
    "a blind account of NSML": (
        BLIND_RESEARCH,
        [RUN_FAILED, RUNS_DOWN],
        [RUN_DEGRADED, RUN_NODE_FAILED, at(RUN_FAILED, {"account": "other"}), STOPPED],
    ),
}

# Each is one notification.
GROUPS: list[Sequence[Alert]] = [
    [NODE_FAILED, at(NODE_FAILED, {"gpu_node_id": "n2"}), NODE_VANISHED, FABRIC_DOWN],
    [STOPPED, DEGRADED],
    [UNLOCKED],
    [at(NODE_FAILED, OTHER_FABRIC)],
    [at(NODE_FAILED, EAST)],
    [at(NODE_FAILED, OTHER_ACCOUNT)],
    [at(NODE_FAILED, {"environment": "s"})],
    [BLIND_REGION],
    [BLIND_ACCOUNT, REFUSED],
    [BLIND_CLOUD],
    [TARGET_DOWN, PARTIAL, SKEW],
    [RUN_DEGRADED, RUN_NODE_FAILED],
    [at(RUN_NODE_FAILED, OTHER_RUN)],
    [at(RUN_NODE_FAILED, {"project_id": "p2"})],
    [DOWN],
]
