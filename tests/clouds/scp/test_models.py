"""What the rows of Samsung Cloud Platform mean."""

from typing import Any

import pytest

from exporter.clouds.rows import Row, read_row
from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    GpuNode,
    NodePool,
    Product,
    gpu_model_of,
    gpus_of,
)


def read(model: type[Row], raw: bytes) -> Any:  # noqa: ANN401 - of the given model
    """Read a row that has to be readable."""
    record = read_row(model, raw)
    assert record is not None
    return record.item


@pytest.mark.parametrize(
    ("server_type", "gpus", "model"),
    [
        ("g2c96h8_metal", 8, "H100"),
        ("g3c128b8_metal", 8, "B300"),
        ("g10c1x16_metal", 16, ""),
        ("s1v8m32_metal", None, ""),
        ("g2c96h8_metal ", None, ""),
        ("g2c96h8", None, ""),
        ("G2C96H8_METAL", None, ""),
        ("g2c96h99999_metal", None, ""),
        ("", None, ""),
        (None, None, ""),
    ],
)
def test_a_server_type_may_tell_its_gpus(
    server_type: str | None, gpus: int | None, model: str
) -> None:
    """Number and model of the GPUs stand in some names, and are not guessed from others."""
    assert gpus_of(server_type) == gpus
    assert gpu_model_of(server_type) == model


@pytest.mark.parametrize(
    ("written", "version"), [("v1.2", "1.2"), ("1.2", "1.2"), ("V1.2", "1.2"), (" v1.2 ", "1.2")]
)
def test_a_version_is_a_number_however_it_is_written(written: str, version: str) -> None:
    """The page writes 1.2, the API v1.2."""
    assert read(ApiVersion, b'{"id": "%s"}' % written.encode()).key == (version,)


def test_a_version_without_a_number_is_none() -> None:
    """A mere `v` names nothing."""
    assert read_row(ApiVersion, b'{"id": "v"}') is None


@pytest.mark.parametrize(
    ("written", "time"),
    [
        (b'"20260331"', 1774915200.0),
        (b'"2026-03-31"', 1774915200.0),
        (b'" 2026-03-31 "', 1774915200.0),
        (b'"-"', None),
        (b'""', None),
        (b"null", None),
        (b'"soon"', None),
        (b'"00010101"', None),
        (b'"0001-01-01"', None),
    ],
)
def test_not_before_is_a_day_or_nothing(written: bytes, time: float | None) -> None:
    """Both spellings are midnight in UTC; a dash, or a day that nobody can mean, is none."""
    assert read(ApiVersion, b'{"id": "v1", "not_before": %s}' % written).not_before_time == time


@pytest.mark.parametrize(
    ("state", "available"),
    [(b'"AVAILABLE"', True), (b'"active "', True), (b'"SOLD_OUT"', False), (b'" "', None)],
)
def test_a_product_is_available_or_not(state: bytes, available: bool | None) -> None:  # noqa: FBT001
    """AVAILABLE and ACTIVE are; without a state nothing is said."""
    assert read(Product, b'{"id": "p", "state": %s}' % state).available is available


def test_a_fabric_counts_its_members_by_state() -> None:
    """A member without a state is one, and a list that is null tells nothing."""
    raw = b'{"id": "f", "gpu_node_details": [{"state": "Running"}, {}]}'
    assert read(ClusterFabric, raw).member_states == ("RUNNING", "NOT_REPORTED")
    assert read(ClusterFabric, b'{"id": "f", "gpu_node_details": null}').member_states is None
    assert read(ClusterFabric, b'{"id": "f", "gpu_node_details": []}').member_states == ()


def test_a_pool_has_each_fabric_once() -> None:
    """Equal ids are one fabric, and a fabric without an id is none."""
    raw = (
        b'{"node_pool_id": "p", "cluster_fabric_details": [{"cluster_fabric_id": "a"},'
        b' {"cluster_fabric_id": "a"}, {"cluster_fabric_name": "nameless"}]}'
    )
    assert read(NodePool, raw).fabric_count == 1
    assert read(NodePool, b'{"node_pool_id": "p", "cluster_fabric_details": null}').fabrics == []
    assert read(NodePool, b'{"node_pool_id": "p"}').fabric_count is None


def test_a_null_where_the_api_may_give_one_is_not_counted() -> None:
    """What the page calls optional may be null; what it calls required may not."""
    optional = (
        b'{"id": "n", "cluster_fabric_id": null, "pfs_ip": null, "policy_nat": null,'
        b' "lock_enabled": null, "policy_use_nat": null}'
    )
    record = read_row(GpuNode, optional)
    assert record is not None
    assert not record.invalid
    required = read_row(GpuNode, b'{"id": "n", "gpu_node_name": null, "vpc_id": null}')
    assert required is not None
    assert sorted(name for name, _ in required.invalid) == ["gpu_node_name", "vpc_id"]
