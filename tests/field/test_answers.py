"""Answers of 200 that are no answer, and those that are, though they say that there is nothing."""

import pytest

from exporter.clouds.outcomes import BadResponse
from exporter.simulator.faults import (
    ErrorBody,
    Fault,
    Html,
    NullList,
    Oversize,
    Rename,
    Status,
    Truncate,
)
from tests.field.conftest import Open
from tests.field.rig import NODES, PREFIX, Field, label_values, node_ids, object_lines
from tests.simulated import value, values

JSON = "application/json"
RUNS = {"provider": "nsml", "collector": "runs"}


def said(body: str, status: int = 200) -> Status:
    """Return the fault of a server that says just this."""
    return Status(status=status, body=body, content_type=JSON)


NO_ANSWERS: dict[str, Fault] = {
    "an error": ErrorBody(),
    "a web page": Html(),
    "null for the list": NullList(),
    "half of the answer": Truncate(),
    "half of the answer, whole by its length": said('{"count": 8, "gpu_nodes": [{"id": "a'),
    "nothing": said(""),
    "white space": said(" \n"),
    "null": said("null"),
    "a bare list": said("[]"),
    "an empty object": said("{}"),
    "a text": said('"gpu_nodes"'),
    "another list": said('{"count": 0, "servers": []}'),
    "a list that is an object": said('{"gpu_nodes": {}, "runList": {}}'),
    "no rows of many": said('{"count": 8, "totalCount": 8, "gpu_nodes": [], "runList": []}'),
    "no content": said("", 204),
    "a redirect": said("", 302),
    "lists within lists": said("[" * 200_000),
    "objects within objects": said('{"gpu_nodes":' * 100_000),
    "a deep list for the rows": said('{"gpu_nodes":' + "[" * 50_000 + "]" * 50_000 + "}"),
}


@pytest.mark.parametrize("what", NO_ANSWERS)
@pytest.mark.parametrize("cloud", ["scp", "nsml"])
async def test_what_is_no_answer_is_a_failure_and_never_zero(
    field: Field, what: str, cloud: str
) -> None:
    """The poll failed, as `bad_response`; every value stays what it was."""
    await field.start(nsml=cloud == "nsml")
    before = await field.page()
    labels = NODES if cloud == "scp" else RUNS
    path = "/v1/gpu-nodes$" if cloud == "scp" else "/projects/runs$"
    field.simulator.faults.add(NO_ANSWERS[what].model_copy(update={"cloud": cloud, "path": path}))
    await field.next_poll(**labels)
    page = await field.page()
    assert await field.outcome(**labels) == (0.0, BadResponse.reason)
    assert object_lines(page) == object_lines(before)
    known = value(before, f"{PREFIX}target_objects", **labels)
    assert known
    assert value(page, f"{PREFIX}target_objects", **labels) == known


async def test_an_answer_beyond_64_mib_is_refused(field: Field) -> None:
    """It is not read to its end, and what was known stays."""
    await field.start()
    before = await field.objects()
    field.simulator.faults.add(Oversize(path="/v1/gpu-nodes$", size=200 * 2**20))
    await field.next_poll()
    assert await field.outcome() == (0.0, "bad_response")
    assert "more than 67108864 bytes" in field.poller().snapshot.health.error_message
    assert await field.objects() == before


async def test_a_list_that_is_truly_empty_is_zero_and_a_success(field: Field) -> None:
    """When the last node has gone, so has the last of its lines."""
    await field.start()
    for node in node_ids(field.simulator):
        field.simulator.drills.vanish_node(node)
    await field.next_poll()
    assert await field.outcome() == (1.0, "")
    assert await field.own("target_objects") == 0.0
    assert [line for line in await field.objects() if line.startswith("scp_gpu_node")] == []


async def test_a_region_without_nodes_is_no_outage(field_of: Open) -> None:
    """From the first poll on it is up, and has nothing."""
    async with field_of(0) as field:
        await field.start()
        page = await field.page()
        assert values(page, f"{PREFIX}target_up") == [1.0] * 6
        assert value(page, f"{PREFIX}target_objects", **NODES) == 0.0


RENAMED = [
    ("/v1/gpu-nodes$", "id", NODES),
    ("/v1/gpu-nodes$", "state", NODES),
    ("/v1/cluster-fabrics$", "id", {"collector": "cluster_fabrics"}),
    ("/v1/cluster-fabrics$", "state", {"collector": "cluster_fabrics"}),
    ("/projects/runs$", "runName", RUNS),
    ("/projects/runs$", "status", RUNS),
    ("/projects$", "projectId", {"collector": "projects"}),
    ("/projects$", "status", {"collector": "projects"}),
]


@pytest.mark.parametrize(("path", "name", "labels"), RENAMED)
async def test_a_field_that_has_another_name_in_every_row_is_no_mass_extinction(
    field: Field, path: str, name: str, labels: dict[str, str]
) -> None:
    """The API changed: the poll failed; nothing vanishes, and nothing turns unknown."""
    await field.start(nsml=True)
    before = await field.objects()
    field.simulator.faults.add(Rename(path=path, field=name, to=f"{name}_v2"))
    await field.next_poll(**labels)
    assert await field.outcome(**labels) == (0.0, "bad_response")
    assert await field.objects() == before
    assert label_values(before, "scp_gpu_node_info", "gpu_node_id") == node_ids(field.simulator)


@pytest.mark.parametrize("name", ["nodeId", "state"])
async def test_a_renamed_field_of_run_nodes_leaves_them_as_they_were(
    field: Field, name: str
) -> None:
    """Lists of one node can't tell a change of the API from one bad row: those alone may."""
    await field.start(nsml=True)
    before = await field.objects()
    path = "/projects/{project_id}/runs/{run_name}/nodes"
    field.simulator.faults.add(Rename(path=path, field=name, to="other"))
    await field.next_poll(collector="run_nodes")
    up, reason = await field.outcome(collector="run_nodes")
    assert (up, reason) in {(0.0, "bad_response"), (0.0, "partial")}
    after = await field.objects()
    ids = label_values(before, "nsml_run_node_info", "node_id")
    assert label_values(after, "nsml_run_node_info", "node_id") == ids
