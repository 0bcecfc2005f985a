"""The variables of the dashboards: what a viewer chooses, each from what the last allows."""

from typing import Any

from boards.panels import DATASOURCE, LIMIT
from boards.queries import FABRICS, GPU_NODES, NSML, OWN, RUN_NODES, RUNS, SCP
from boards.states import FAILED

Json = dict[str, Any]

ALL = ".*"
"""What All stands for: it matches what lacks the label too, and does not grow with the fleet."""

_LABEL_VALUES = 1
_QUERY_RESULT = 3
_HIDDEN = 2
_UP = OWN + "target_up"


def datasource() -> Json:
    """Return the choice of a Prometheus."""
    return {
        "type": "datasource",
        "name": "datasource",
        "label": "Data source",
        "description": "The Prometheus that scrapes the exporter.",
        "query": "prometheus",
        "regex": "",
        "refresh": 1,
        "multi": False,
        "includeAll": False,
        "hide": 0,
        "options": [],
    }


def places(provider: str = "scp|nsml") -> list[Json]:
    """Return the choices of accounts, and of environments and regions where there are any."""
    of, chosen = f'provider=~"{provider}"', 'account=~"$account"'
    accounts = _labels("account", "Account", f"{_UP}{{{of}}}")
    if provider == "nsml":
        return [accounts]
    return [
        accounts,
        _labels("environment", "Environment", f"{_UP}{{{of}, {chosen}}}"),
        _labels("region", "Region", f'{_UP}{{{of}, {chosen}, environment=~"$environment"}}'),
    ]


def fabric() -> Json:
    """Return the choice of cluster fabrics by id, shown by name and place."""
    return _named("fabric", "Fabric", f"scp_cluster_fabric_info{{{SCP}}}", "cluster_fabric")


def node() -> Json:
    """Return the choice of GPU nodes of the chosen fabrics by id, shown by name and place."""
    info = f'scp_gpu_node_info{{{SCP}, cluster_fabric_id=~"$fabric"}}'
    return _named("node", "Node", info, "gpu_node")


def project() -> Json:
    """Return the choice of NSML projects by id, shown by name and account."""
    return _named("project", "Project", f"nsml_run_info{{{NSML}}}", "project", "account")


def run() -> Json:
    """Return the choice of runs; a run's name tells it from the others of its project only."""
    runs = f'nsml_run_info{{{NSML}, project_id=~"$project"}}'
    return _labels("run", "Run", runs, label="run_name")


def job() -> Json:
    """Return the choice of scrape jobs."""
    return _labels("job", "Job", OWN + "build_info")


def instance() -> Json:
    """Return the choice of replicas of the exporter."""
    return _labels("instance", "Instance", OWN + 'build_info{job=~"$job"}')


def worst_fabrics() -> Json:
    """Return the fabrics of the choice that a timeline shows."""
    info = f'scp_cluster_fabric_info{{{SCP}, cluster_fabric_id=~"$fabric"}}'
    states = ranked(info, FABRICS.key, "scp_cluster_fabric_state", SCP, "RUNNING|ACTIVE")
    return _worst("worst_fabric", "cluster_fabric_id", f"{states}\nor {gone(info, FABRICS.ids)}")


def worst_nodes(chosen: str = "") -> Json:
    """Return the nodes of the choice that timelines and tables show."""
    info = f'scp_gpu_node_info{{{SCP}, cluster_fabric_id=~"$fabric"{chosen}}}'
    states = ranked(info, GPU_NODES.key, "scp_gpu_node_state", SCP, "RUNNING")
    return _worst("worst_node", "gpu_node_id", f"{states}\nor {gone(info, GPU_NODES.ids)}")


def worst_run_nodes() -> Json:
    """Return the nodes of the chosen runs that a timeline shows, those of runs in progress first.

    Nodes that are gone are not among them, for each run that is over leaves some.
    """
    chosen = f'{NSML}, project_id=~"$project", run_name=~"$run"'
    info, key = f"nsml_run_node_info{{{chosen}}}", RUN_NODES.key
    states = ranked(info, key, "nsml_run_node_state", chosen, "RUNNING")
    started = f'nsml_run_state{{{chosen}, state="IN_PROGRESS"}} == 1'
    first = f"10 * ({info} and on ({RUNS.key}) ({started}))"
    return _worst("worst_rank", "node_id", f"({states}) + on ({key}) {first}\nor {states}")


def ranked(info: str, key: str, states: str, scope: str, good: str) -> str:
    """Return a rank of each object: 3 where it failed, 2 where it is not well, else 1.

    It reads only the series of those states: of a large fleet, all of them are too many.
    """
    failed = f'{states}{{{scope}, state=~"{FAILED}|FAILED"}} == 1'
    well = f'{states}{{{scope}, state=~"{good}"}} == 1'
    return (
        f"3 * ({info} and on ({key}) ({failed}))\n"
        f"or 2 * ({info} unless on ({key}) ({well}))\nor 1 * {info}"
    )


def gone(info: str, ids: str) -> str:
    """Return the rank 4 of each object that was there at the start of the range, and is not now."""
    return f"4 * ({info} offset $__range unless on ({ids}) {info})"


def _labels(name: str, title: str, series: str, label: str = "") -> Json:
    query = f"label_values({series}, {label or name})"
    return _choice(name, title, f"The values of the label {label or name}.", query)


def _named(name: str, title: str, info: str, kind: str, *more: str) -> Json:
    """Return a choice of ids that are shown by name; equal names are told apart by their place."""
    shown = (f"{kind}_name", *(more or ("account", "region")))
    by = ", ".join((f"{kind}_id", *shown))
    text = f'label_join(group by ({by}) ({info}), "text", " · ", {", ".join(map(_quoted, shown))})'
    return _choice(
        name,
        title,
        f"Chosen by {kind}_id, shown by name.",
        f"query_result({text})",
        regex=f'/{kind}_id="(?<value>[^"]+)".*text="(?<text>[^"]*)"/',
    )


def _worst(name: str, label: str, ranks: str) -> Json:
    """Return a hidden choice of the objects that there is room for, worst first.

    A query over time then reads the series of these alone, however large the fleet is.
    """
    return _choice(
        name,
        name.replace("_", " ").capitalize(),
        f"The {LIMIT} of the choice that timelines show.",
        f"query_result(topk({LIMIT}, max by ({label}) (\n{ranks}\n)))",
        regex=f'/{label}="(?<value>[^"]+)"/',
        allValue=None,
        hide=_HIDDEN,
        sort=0,
    )


def _choice(name: str, label: str, description: str, query: str, **more: Any) -> Json:  # noqa: ANN401
    """Return a choice of several values, or All, read again when the time range changes."""
    kind = _LABEL_VALUES if query.startswith("label_values") else _QUERY_RESULT
    found = {
        "type": "query",
        "name": name,
        "label": label,
        "description": description,
        "datasource": DATASOURCE,
        "query": {"qryType": kind, "query": query, "refId": "variable"},
        "regex": "",
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ALL,
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "options": [],
        "hide": 0,
    } | more
    return {key: value for key, value in found.items() if value is not None}


def _quoted(text: str) -> str:
    return f'"{text}"'
