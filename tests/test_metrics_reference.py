"""The metrics reference is written from the code, and the code keeps to the names promised."""

import runpy
from pathlib import Path

import pytest

from exporter.clouds.fields import NOT_REPORTED
from exporter.clouds.nsml import families as nsml
from exporter.clouds.scp import families as scp
from exporter.families import State, StateCounts
from exporter.sites import FAMILIES, vocabularies
from exporter.telemetry import OWN, PREFIX

ROOT = Path(__file__).parent.parent

Labels = dict[str, tuple[str, ...]]

NODE = ("gpu_node_id", "gpu_node_name")
FABRIC = ("cluster_fabric_id", "cluster_fabric_name")
RUN = ("project_id", "run_name")
RUN_NODE = (*RUN, "node_id", "rank")
REGION = ("provider", "account", "environment", "region")
TARGET = (*REGION, "collector")

# What dashboards, alerts and users rely on: names and labels are not to change. The labels of
# the target stand beside these: account, environment and region for SCP, account for NSML.
SCP: Labels = {
    "scp_gpu_node_info": (
        *NODE, "account_id", *FABRIC, "node_pool_id", "server_type", "product_type_id",
        "gpu_model", "image_id", "image_version", "os_type", "vpc_id", "network_id", "policy_ip",
        "policy_nat",
    ),
    "scp_gpu_node_state": (*NODE, "state"),
    "scp_gpu_node_gpus": NODE,
    "scp_gpu_node_lock_enabled": NODE,
    "scp_gpu_node_public_nat_enabled": NODE,
    "scp_gpu_node_pfs_addresses": NODE,
    "scp_gpu_node_created_timestamp_seconds": NODE,
    "scp_gpu_node_modified_timestamp_seconds": NODE,
    "scp_gpu_nodes": (*FABRIC, "node_pool_id", "server_type", "state"),
    "scp_cluster_fabric_info": (
        *FABRIC, "account_id", "node_pool_id", "server_type", "product_id", "pirp_id",
    ),
    "scp_cluster_fabric_state": (*FABRIC, "state"),
    "scp_cluster_fabric_used_servers": FABRIC,
    "scp_cluster_fabric_nodes": (*FABRIC, "state"),
    "scp_cluster_fabric_created_timestamp_seconds": FABRIC,
    "scp_cluster_fabric_modified_timestamp_seconds": FABRIC,
    "scp_node_pool_info": ("node_pool_id",),
    "scp_node_pool_cluster_fabrics": ("node_pool_id",),
    "scp_node_pool_cluster_fabric_info": ("node_pool_id", *FABRIC, "product_id"),
    "scp_gpu_product_info": (
        "product_id", "product_name", "type", "gpu_model", "compute_class", "vcpus", "memory",
        "disk", "disk_unit",
    ),
    "scp_gpu_product_available": ("product_id", "product_name"),
    "scp_gpu_image_info": ("image_id", "image_name", "os_distro", "os_version", "image_type"),
    "scp_gpu_image_created_timestamp_seconds": ("image_id",),
    "scp_api_version_info": ("version", "status", "requested"),
    "scp_api_version_not_before_timestamp_seconds": ("version",),
}  # fmt: skip

NSML: Labels = {
    "nsml_project_info": ("project_id", "project_name"),
    "nsml_project_state": ("project_id", "state"),
    "nsml_project_runs": ("project_id",),
    "nsml_project_nodes": ("project_id",),
    "nsml_run_info": (*RUN, "project_name", "run_type"),
    "nsml_run_state": (*RUN, "state"),
    "nsml_run_created_timestamp_seconds": RUN,
    "nsml_run_updated_timestamp_seconds": RUN,
    "nsml_run_nodes": (*RUN, "state"),
    "nsml_run_node_info": (
        *RUN_NODE, "project_name", "resource_type", "container_image", "host",
    ),
    "nsml_run_node_state": (*RUN_NODE, "state"),
    "nsml_run_node_exit_code": RUN_NODE,
    "nsml_run_node_created_timestamp_seconds": RUN_NODE,
    "nsml_run_node_updated_timestamp_seconds": RUN_NODE,
}  # fmt: skip

# Type and labels; the names have the exporter's prefix.
EXPORTER: dict[str, tuple[str, tuple[str, ...]]] = {
    "build_info": ("gauge", ("version", "revision", "python_version")),
    "target_up": ("gauge", TARGET),
    "target_interval_seconds": ("gauge", TARGET),
    "target_consecutive_failures": ("gauge", TARGET),
    "target_last_attempt_timestamp_seconds": ("gauge", TARGET),
    "target_last_success_timestamp_seconds": ("gauge", TARGET),
    "target_last_update_timestamp_seconds": ("gauge", TARGET),
    "target_objects": ("gauge", TARGET),
    "target_reported_objects": ("gauge", TARGET),
    "polls_total": ("counter", TARGET),
    "poll_failures_total": ("counter", (*TARGET, "reason")),
    "poll_duration_seconds": ("histogram", ("provider", "collector")),
    "api_requests_total": ("counter", (*REGION, "path", "code")),
    "api_request_duration_seconds": ("histogram", (*REGION, "path")),
    "credentials_expire_timestamp_seconds": ("gauge", ("provider", "account", "environment")),
    "api_clock_skew_seconds": ("gauge", REGION),
    "invalid_records_total": ("counter", TARGET),
    "duplicate_records_total": ("counter", TARGET),
    "unrecognized_values_total": ("counter", TARGET),
    "config_last_reload_successful": ("gauge", ()),
    "config_last_reload_success_timestamp_seconds": ("gauge", ()),
    "event_loop_lag_seconds": ("histogram", ()),
    "exposition_samples": ("gauge", ()),
    "exposition_bytes": ("gauge", ()),
}

NODE_STATES = {
    "CREATING", "RUNNING", "STARTING", "STOPPING", "STOPPED", "EDITING", "TERMINATING",
    "TERMINATED", "ERROR", "UNKNOWN",
}  # fmt: skip
STATES: dict[str, set[str]] = {
    "scp_gpu_node_state": NODE_STATES,
    "scp_gpu_nodes": NODE_STATES,
    "scp_cluster_fabric_nodes": NODE_STATES,
    "scp_cluster_fabric_state": {
        "CREATING", "ACTIVE", "RUNNING", "EDITING", "DELETING", "ERROR", "UNKNOWN",
    },
    "nsml_run_state": {"IN_PROGRESS", "COMPLETED", "UNKNOWN"},
    "nsml_run_nodes": {"RUNNING", "UNKNOWN"},
    "nsml_run_node_state": {"RUNNING", "UNKNOWN"},
    "nsml_project_state": {"CREATING", "CREATED", "CHANGING", "DELETING", "DELETED", "UNKNOWN"},
}  # fmt: skip


@pytest.fixture
def reference() -> str:
    """Give the reference as the script would write it."""
    page: str = runpy.run_path(str(ROOT / "scripts" / "metrics_reference.py"))["render"]()
    return page


def test_reference_is_that_of_the_code(reference: str) -> None:
    """docs/metrics.md is what the script writes: `make docs` was run after the last change."""
    assert (ROOT / "docs" / "metrics.md").read_text() == reference


def test_script_prints_the_reference(reference: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run as a program, the script prints the page and nothing else."""
    runpy.run_path(str(ROOT / "scripts" / "metrics_reference.py"), run_name="__main__")

    assert capsys.readouterr().out == reference


def rows(reference: str) -> dict[str, list[str]]:
    """Return the cells of the reference's rows by the name of the metric."""
    lines = [line for line in reference.splitlines() if line.startswith("| `")]
    cells = [line.strip("| ").split(" | ") for line in lines]
    return {name.strip("`"): rest for name, *rest in cells}


def listed(cell: str) -> list[str]:
    """Return the names of a cell that lists some."""
    return [name.strip("`") for name in cell.split(", ") if name]


@pytest.mark.parametrize(
    ("promised", "target"),
    [(SCP, ("account", "environment", "region")), (NSML, ("account",))],
    ids=["scp", "nsml"],
)
def test_reference_has_every_promised_family(
    reference: str, promised: Labels, target: tuple[str, ...]
) -> None:
    """Each family stands in the reference as a gauge, with its target's and its own labels."""
    found = rows(reference)
    for name, labels in promised.items():
        kind, names, *texts = found[name]
        assert kind == "gauge"
        assert sorted(listed(names)) == sorted((*target, *labels)), name
        assert all(texts), name


def test_reference_has_every_metric_of_the_exporter(reference: str) -> None:
    """Each of the exporter's own metrics stands in the reference, with type and labels."""
    found = rows(reference)
    for name, (kind, labels) in EXPORTER.items():
        type_, names, *_ = found[PREFIX + name]
        assert (type_, sorted(listed(names))) == (kind, sorted(labels)), name


def test_reference_has_nothing_else(reference: str) -> None:
    """What stands in the reference is promised, each name once."""
    lines = [line for line in reference.splitlines() if line.startswith("| `")]

    assert len(lines) == len(rows(reference))
    assert rows(reference).keys() == {*SCP, *NSML, *(PREFIX + name for name in EXPORTER)}


def test_families_are_those_promised() -> None:
    """The tables of the code have every family of the contract, with its labels, and no more."""
    found = {family.name: sorted((*family.labels, *family.own_labels)) for family in FAMILIES}

    assert found == {name: sorted(labels) for name, labels in (SCP | NSML).items()}
    assert len(found) == len(FAMILIES)


def test_own_metrics_are_those_promised() -> None:
    """The exporter's own table has every metric of the contract, with type and labels."""
    found = {own.full_name: (own.kind.__name__.lower(), sorted(own.labels)) for own in OWN}

    assert found == {
        PREFIX + name: (kind, sorted(labels)) for name, (kind, labels) in EXPORTER.items()
    }


def test_listed_states_are_those_promised(reference: str) -> None:
    """Each family with states lists those of the contract, and NOT_REPORTED, here and there."""
    known = vocabularies()
    found = {
        family.name: known[family.kind].listed
        for table in (*scp.TABLES, *nsml.TABLES)
        for family in table.families
        if isinstance(family, State | StateCounts)
    }

    assert {name: set(states) for name, states in found.items()} == {
        name: {*states, NOT_REPORTED} for name, states in STATES.items()
    }
    for name, states in found.items():
        if name.endswith("_state"):
            text = ", ".join(f"`{state}`" for state in states)
            assert f"Listed states of `{name}`: {text}.\n" in reference


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_help_names_where_a_value_comes_from(family: object) -> None:
    """Each HELP line says which call, polled in the background, gave the value."""
    assert hasattr(family, "header")
    help_line = family.header.splitlines()[0]

    assert "Polled in the background from GET /" in help_line
    assert help_line.endswith(".")


@pytest.mark.parametrize(
    "secret",
    ["init_script", "root_account", "created_by", "modified_by", "description", "password",
     "command", "envs", "creator", "ssh", "tcp"],
)  # fmt: skip
def test_what_is_not_exported_is_no_label(secret: str) -> None:
    """Scripts, people, commands, environments and ports are labels of no family."""
    labels = {label for family in FAMILIES for label in (*family.labels, *family.own_labels)}

    assert [label for label in labels if secret in label] == []
