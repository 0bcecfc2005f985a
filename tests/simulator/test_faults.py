"""Faults: each does what it says, to the requests it is meant for, and to no others."""

import asyncio
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
import pytest

from exporter.simulator import faults
from exporter.simulator.faults import AnyFault, Fault
from tests.simulator.cloud_client import START, Client, until_asked

NODES = "/v1/gpu-nodes"
POOLS = "/v1/cluster-fabrics/node-pools"


async def rows(client: Client, path: str = NODES) -> list[dict[str, object]]:
    """Return the rows of the list of nodes."""
    listed: list[dict[str, object]] = (await client.scp(path)).json["gpu_nodes"]
    return listed


@pytest.mark.parametrize(
    ("limits", "hit"),
    [
        (Fault(), {"nodes", "show", "other region", "nsml"}),
        (Fault(cloud="scp"), {"nodes", "show", "other region"}),
        (Fault(cloud="nsml"), {"nsml"}),
        (Fault(environment="e", region="kr-west1"), {"nodes", "show"}),
        (Fault(environment="s"), set()),
        (Fault(path="/v1/gpu-nodes"), {"nodes", "show", "other region"}),
        (Fault(path="/v1/gpu-nodes$"), {"nodes", "other region"}),
        (Fault(path="/v1/gpu-nodes/{gpu_node_id}"), {"show"}),
        (Fault(path="/projects"), {"nsml"}),
        (Fault(page=0), {"nodes"}),
        (Fault(page=1), set()),
        (Fault(method="POST"), set()),
        (Fault(requests=2), {"nodes", "show"}),
        (Fault(skip=1, requests=1), {"show"}),
        (Fault(skip=1, region="kr-west1"), {"show"}),
    ],
)
async def test_a_fault_befalls_what_it_is_limited_to(
    client: Client, limits: Fault, hit: set[str]
) -> None:
    """Cloud, region, method, path, page and number of requests limit a fault."""
    node_id = (await rows(client))[0]["id"]
    client.simulator.faults.add(faults.Status(**limits.model_dump(), status=418))
    replies = {
        "nodes": await client.scp(f"{NODES}?page=0"),
        "show": await client.scp(f"{NODES}/{node_id}"),
        "other region": await client.scp(NODES, place="e/kr-east1"),
        "nsml": await client.nsml("/projects"),
    }
    assert {name for name, reply in replies.items() if reply.status == 418} == hit
    assert client.simulator.faults.clear()
    assert (await client.scp(NODES)).status == 200


async def test_faults_are_set_and_lifted_over_http(client: Client) -> None:
    """A fault is added, listed with what it did, and lifted by its number, or all are."""
    added = await client.own("/_faults", "POST", {"kind": "status", "status": 503, "requests": 1})
    assert (added.status, added.json["fault"]["status"]) == (201, 503)
    assert [(await client.scp(NODES)).status for _ in range(2)] == [503, 200]
    (listed,) = (await client.own("/_faults")).json["faults"]
    assert (listed["id"], listed["struck"]) == (added.json["id"], 1)
    assert (await client.own(f"/_faults/{listed['id']}", "DELETE")).json == {"faults": []}
    assert (await client.own(f"/_faults/{listed['id']}", "DELETE")).status == 404
    await client.own("/_faults", "POST", {"kind": "html"})
    assert (await client.own("/_faults", "DELETE")).json == {"faults": []}
    assert (await client.scp(NODES)).json["count"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kind": "unknown"},
        {"kind": "status", "status": 42},
        {"kind": "html", "unknown": 1},
        {"kind": "delay"},
        [],
    ],
)
async def test_what_is_no_fault_is_refused(client: Client, body: object) -> None:
    """An unknown kind, field or value is refused, and nothing is put in force."""
    reply = await client.own("/_faults", "POST", body)
    assert (reply.status, "error" in reply.json) == (400, True)
    assert list(client.simulator.faults) == []


async def test_status_comes_with_any_body_and_headers(client: Client) -> None:
    """The answer is the one that was set, to the letter."""
    client.simulator.faults.add(
        faults.Status(status=502, body="<b>", content_type="text/html", headers={"X-A": "b"})
    )
    reply = await client.scp(NODES)
    assert (reply.status, reply.text) == (502, "<b>")
    assert (reply.headers["X-A"], reply.headers["Content-Type"]) == ("b", "text/html")


async def test_delay_lets_others_go_first(client: Client) -> None:
    """A delayed answer comes, and what was asked meanwhile is answered before."""
    client.simulator.faults.add(faults.Delay(seconds=0.2, region="kr-west1"))
    late = asyncio.ensure_future(client.scp(NODES))
    assert (await client.scp(NODES, place="e/kr-east1")).status == 200
    assert not late.done()
    assert (await late).status == 200


async def test_hang_ends_when_it_is_cleared(client: Client) -> None:
    """A hanging request gets nothing; when the fault is lifted the line is cut."""
    client.simulator.faults.add(faults.Hang())
    hanging = asyncio.ensure_future(client.scp(NODES))
    await until_asked(client.simulator)
    assert not hanging.done()
    client.simulator.faults.clear()
    with pytest.raises(aiohttp.ClientConnectionError):
        await hanging
    assert client.simulator.requests[-1].status is None


async def test_reset_breaks_the_connection(client: Client) -> None:
    """The client sees a broken connection, not an answer."""
    client.simulator.faults.add(faults.Reset())
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.scp(NODES)


async def test_truncate_sends_a_part(client: Client) -> None:
    """The body ends before the length that was announced."""
    client.simulator.faults.add(faults.Truncate())
    with pytest.raises(aiohttp.ClientPayloadError):
        await client.scp(NODES)


async def test_oversize_is_large_and_still_json(client: Client) -> None:
    """The body has the size that was set."""
    client.simulator.faults.add(faults.Oversize(size=100_000))
    reply = await client.scp(NODES)
    assert len(reply.text) == 100_000
    assert reply.json["gpu_nodes"]


async def test_html_and_error_bodies_come_with_200(client: Client) -> None:
    """A portal's page, and each cloud's own error, under a status that says all is well."""
    client.simulator.faults.add(faults.Html(requests=1))
    reply = await client.scp(NODES)
    assert (reply.status, reply.text[:9]) == (200, "<!doctype")
    client.simulator.faults.add(faults.ErrorBody())
    scp, nsml = await client.scp(NODES), await client.nsml("/projects")
    assert (scp.status, nsml.status) == (200, 200)
    assert scp.json["errors"][0]["status"] == 500
    assert nsml.json["error"]["errorCode"] == "900"


@pytest.mark.parametrize(
    ("fault", "field", "value"),
    [
        (faults.NullList(), "gpu_nodes", None),
        (faults.Count(mode="null"), "count", None),
        (faults.Count(mode="text"), "count", "10"),
        (faults.Count(by=5), "count", 15),
        (faults.Count(by=-3), "count", 7),
    ],
)
async def test_a_field_of_the_document_is_spoilt(
    client: Client, fault: Fault, field: str, value: object
) -> None:
    """The list, or its count, is not what it should be; the rest is."""
    good = (await client.scp(NODES)).json
    assert good["count"] == 10
    client.simulator.faults.add(fault)
    assert (await client.scp(NODES)).json == {**good, field: value}


async def test_what_has_no_list_or_field_is_left_as_it_is(client: Client) -> None:
    """Faults of lists and fields do nothing to a single object, nor to rows without the field."""
    path = f"{NODES}/{(await rows(client))[0]['id']}"
    good = await client.scp(path)
    for fault in (
        faults.NullList(),
        faults.Count(),
        faults.Rename(field="unknown", to="x"),
        faults.FieldMissing(field="unknown"),
        faults.FieldValue(field="id", values=["x"], rows=[1]),
    ):
        client.simulator.faults.add(fault)
    assert (await client.scp(path)).json == good.json


async def test_a_missing_count(client: Client) -> None:
    """Both clouds leave the total out; where there is none, nothing happens."""
    client.simulator.faults.add(faults.Count(mode="missing"))
    assert set((await client.scp(NODES)).json) == {"gpu_nodes"}
    assert set((await client.nsml("/projects")).json) == {"projects"}
    assert set((await client.scp(f"{NODES}/products")).json) == {"products"}


@pytest.mark.parametrize(
    ("fault", "path", "sizes"),
    [
        (faults.SizeFault(mode="ignored"), "?size=3", 10),
        (faults.SizeFault(mode="capped", limit=2), "?size=3", 2),
        (faults.SizeFault(mode="everything"), "?size=3&page=2", 10),
        (faults.SizeFault(mode="refused", limit=2), "?size=2", 2),
    ],
)
async def test_sizes(client: Client, fault: Fault, path: str, sizes: int) -> None:
    """The size is ignored, capped, or all rows come."""
    client.simulator.faults.add(fault)
    assert len(await rows(client, f"{NODES}{path}")) == sizes


async def test_a_size_is_refused(client: Client) -> None:
    """A size above the limit gets 400."""
    client.simulator.faults.add(faults.SizeFault(mode="refused", limit=2))
    assert (await client.scp(f"{NODES}?size=3")).status == 400


async def test_rename_hits_every_row(client: Client) -> None:
    """The field has another name everywhere, and the value it had."""
    good = await rows(client)
    client.simulator.faults.add(faults.Rename(field="id", to="node_id"))
    spoilt = await rows(client)
    assert [row["node_id"] for row in spoilt] == [row["id"] for row in good]
    assert all("id" not in row for row in spoilt)


async def test_children_gone(client: Client) -> None:
    """A run's nodes and a fabric's pool are 404, while their parents are listed."""
    client.simulator.faults.add(faults.ChildrenGone())
    run = (await client.nsml("/projects/runs")).json["runList"][0]
    path = f"/projects/{run['projectId']}/runs/{run['runName']}"
    assert (await client.nsml(f"{path}/nodes")).status == 404
    assert (await client.nsml(path)).status == 200
    fabric = (await client.scp("/v1/cluster-fabrics")).json["cluster_fabrics"][0]["id"]
    assert (await client.scp(f"{POOLS}?cluster_fabric_id={fabric}")).status == 404
    assert (await client.scp(POOLS)).status == 200


async def test_moving_rows_are_missed_and_seen_twice(client: Client) -> None:
    """A walk in which rows move forward misses some and finds others twice."""
    client.simulator.faults.add(faults.MovingRows())
    pages = [await rows(client, f"{NODES}?size=3&page={page}") for page in range(4)]
    seen = [row["id"] for page in pages for row in page]
    assert len(seen) == 10
    assert len(set(seen)) < 10


async def test_overlapping_pages_repeat_a_row(client: Client) -> None:
    """Each page after the first begins with the last row before it; none is missed."""
    client.simulator.faults.add(faults.OverlappingPages())
    pages = [await rows(client, f"{NODES}?size=4&page={page}") for page in range(3)]
    assert pages[1][0] == pages[0][-1]
    assert pages[2][0] == pages[1][-1]
    assert len({row["id"] for page in pages for row in page}) == 10


async def test_states_are_given_in_turn(client: Client) -> None:
    """The values go round over all rows, or over those that are chosen, on both clouds."""
    client.simulator.faults.add(faults.States(values=["MAINTENANCE", None]))
    states = [row["state"] for row in await rows(client)]
    assert states[:3] == ["MAINTENANCE", None, "MAINTENANCE"]
    projects = (await client.nsml("/projects")).json["projects"]
    assert [row["status"] for row in projects] == ["MAINTENANCE", None]
    client.simulator.faults.clear()
    client.simulator.faults.add(faults.States(values=["Running "], rows=[1]))
    assert [row["state"] == "Running " for row in await rows(client)][:3] == [False, True, False]


async def test_fields_are_mistyped_or_missing_in_chosen_rows(client: Client) -> None:
    """One row of many has nulls or other types; a single object is spoilt too."""
    good = await rows(client)
    client.simulator.faults.add(faults.FieldValue(field="pfs_ip", values=[7], rows=[2]))
    client.simulator.faults.add(faults.FieldMissing(field="vpc_id", rows=[2, 3]))
    spoilt = await rows(client)
    assert spoilt[:2] + spoilt[4:] == good[:2] + good[4:]
    assert spoilt[2]["pfs_ip"] == 7
    assert [set(good[2]) - set(row) for row in spoilt[2:4]] == [{"vpc_id"}, {"vpc_id"}]
    client.simulator.faults.clear()
    client.simulator.faults.add(faults.FieldValue(field="state"))
    assert (await client.scp(f"{NODES}/{good[0]['id']}")).json["state"] is None


@pytest.mark.parametrize(
    ("form", "seconds", "expected"),
    [
        ("seconds", 7, "7"),
        ("seconds", 99_999, "99999"),
        ("nonsense", 0, "in a while"),
        ("none", 0, None),
    ],
)
async def test_rate_limit(client: Client, form: str, seconds: int, expected: str | None) -> None:
    """A 429 comes with every form of Retry-After, in each cloud's own shape."""
    fault = faults.FAULTS.validate_python(
        {"kind": "rate_limit", "retry_after": form, "seconds": seconds}
    )
    client.simulator.faults.add(fault)
    scp, nsml = await client.scp(NODES), await client.nsml("/projects")
    assert (scp.status, nsml.status) == (429, 429)
    assert scp.headers.get("Retry-After") == nsml.headers.get("Retry-After") == expected
    assert (scp.json["errors"][0]["status"], nsml.json["error"]["errorCode"]) == (429, "420")


async def test_rate_limit_with_a_date(client: Client) -> None:
    """Retry-After is a date, counted from the simulator's clock."""
    client.simulator.faults.add(faults.RateLimit(retry_after="date", seconds=30))
    date = parsedate_to_datetime((await client.scp(NODES)).headers["Retry-After"])
    assert date == datetime.fromtimestamp(START + 30, UTC)


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [("signature", 401, "200"), ("not_entitled", 401, "210"), ("forbidden", 403, "230")],
)
async def test_refusals(client: Client, reason: str, status: int, code: str) -> None:
    """Bad keys, a missing subscription and a missing permission look as they do in the field."""
    client.simulator.faults.add(faults.FAULTS.validate_python({"kind": "refuse", "reason": reason}))
    scp, nsml = await client.scp(NODES), await client.nsml("/projects")
    assert (scp.status, nsml.status) == (status, status)
    assert nsml.json["error"]["errorCode"] == code
    telling = {
        "signature": "HmacValidFail",
        "not_entitled": "Request was rejected by gateway",
        "forbidden": "action_name",
    }
    assert telling[reason] in scp.text


async def test_401_once(client: Client) -> None:
    """A fault of one request is over after it."""
    client.simulator.faults.add(faults.Refuse(requests=1))
    assert [(await client.scp(NODES)).status for _ in range(3)] == [401, 200, 200]


async def test_date_skew(client: Client) -> None:
    """The Date header is off by what was set, and right without."""
    for skew in (0.0, 600.0, -600.0):
        client.simulator.faults.clear()
        client.simulator.faults.add(faults.DateSkew(seconds=skew))
        date = parsedate_to_datetime((await client.scp(NODES)).headers["Date"])
        assert date == datetime.fromtimestamp(START + skew, UTC)


async def test_node_pools_are_refused_in_one_region(client: Client) -> None:
    """One region behaves as the live API, another as documented."""
    client.simulator.faults.add(faults.NodePoolsRefused(region="kr-west1"))
    assert (await client.scp(POOLS)).status == 400
    assert (await client.scp(POOLS, place="e/kr-east1")).status == 200


async def test_several_faults_at_once(client: Client) -> None:
    """Faults that don't exclude each other all strike."""
    both: list[AnyFault] = [faults.Count(by=1), faults.Rename(field="id", to="x")]
    for fault in both:
        client.simulator.faults.add(fault)
    reply = (await client.scp(NODES)).json
    assert reply["count"] == 11
    assert "x" in reply["gpu_nodes"][0]
