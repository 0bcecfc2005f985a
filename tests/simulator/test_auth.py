"""Authentication as the vendors do it."""

import random
from collections.abc import Mapping

import pytest

from exporter.simulator.auth import BadSignature, check_nsml, check_scp
from exporter.simulator.calls import Call
from exporter.simulator.keys import Keys, Pair
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import START, Client, SetClock

SCP_HOST = "https://multinodegpucluster.kr-west1.e.samsungsdscloud.com"
SCP_TIME = 1_605_290_625.682
NSML_TIME = 1_725_327_591.0
RUN_NODES = "/nsml/v1/projects/abcdeygz0iujnfghij01/runs/2/nodes"
ACCOUNT = "f5c8e56a4d9b49a8bd89e14758a32d53"
NODES = "/v1/gpu-nodes"


def keys() -> Keys:
    """Give the keys that the reference signatures were made with."""
    made = Keys(random.Random(0))  # noqa: S311  # made-up keys
    made.scp = Pair("AKTESTACCESSKEY", "sk-test-secret")
    made.nsml = Pair("ncp_iam_BPAEXAMPLE0000000001", "ncp_iam_BPKEXAMPLESECRET0000000000000001")
    made.api_key = "api-key"
    return made


def call(target: str, headers: Mapping[str, str]) -> Call:
    """Give a GET of that target."""
    return Call("GET", target, SCP_HOST, headers, id="0")


def scp_headers(signature: str, account_id: str = "") -> dict[str, str]:
    """Give the headers of the reference requests to SCP."""
    return {
        "Scp-Accesskey": "AKTESTACCESSKEY",
        "Scp-Signature": signature,
        "Scp-Timestamp": "1605290625682",
        "Scp-ClientType": "Openapi",
        "Scp-AccountId": account_id,
    }


def nsml_headers(signature: str) -> dict[str, str]:
    """Give the headers of the reference requests to NSML."""
    return {
        "x-ncp-iam-access-key": "ncp_iam_BPAEXAMPLE0000000001",
        "x-ncp-apigw-signature-v2": signature,
        "x-ncp-apigw-timestamp": "1725327591000",
        "x-ncp-apigw-api-key": "api-key",
    }


@pytest.mark.parametrize(
    ("target", "account_id", "signature"),
    [
        ("/v1/gpu-nodes", "", "IfoQghr+v9AEzmpBd49D+pAqBmjqeVbjIKVCchUfUDk="),
        ("/v1/gpu-nodes?page=0&size=20", "", "J8CvSxa6yti3BC9TKRGErieMn7sPep9K/pvf6+GgZZ0="),
        (
            "/v1/gpu-nodes?page=0&size=20&sort=created_at%3Adesc",
            "",
            "/X1tIq3lBhHMuX4Yd68GrFZVTHmNY2zBoKoimjQWPso=",
        ),
        ("/v1/gpu-nodes?page=0&size=20", ACCOUNT, "epzAt+xQu82uPs9Venf8Kg/N2+ZlJJDRIDIfJPkXYrU="),
    ],
)
def test_reference_signatures_of_scp_hold(target: str, account_id: str, signature: str) -> None:
    """The known signatures pass, and none of them passes for another URL."""
    check_scp(call(target, scp_headers(signature, account_id)), keys(), SCP_TIME)
    with pytest.raises(BadSignature, match="does not match"):
        check_scp(call(target + "&", scp_headers(signature, account_id)), keys(), SCP_TIME)


@pytest.mark.parametrize(
    ("target", "signature"),
    [
        (RUN_NODES, "jnnZ/N6IpPEwR5SzHNUaEMZWzzFE/Kw3GAWC+VgbOlw="),
        (RUN_NODES + "?page=1&pageSize=100", "UjQsJOLMb0rFmnLB+QrzKTvjN5ZuwDyK7fDO1inVt0s="),
        (
            "/nsml/v1/projects/runs?page=1&pageSize=100",
            "5SKRDCYpdkurgUhjz3lWMvnVl0lsbjzFDAn5YkaWqdM=",
        ),
    ],
)
def test_reference_signatures_of_nsml_hold(target: str, signature: str) -> None:
    """The known signatures pass, and none of them passes for another path."""
    check_nsml(call(target, nsml_headers(signature)), keys(), NSML_TIME)
    with pytest.raises(BadSignature, match="does not match"):
        check_nsml(call(target.lower() + "x", nsml_headers(signature)), keys(), NSML_TIME)


@pytest.mark.parametrize("skew", [-299.0, 299.0])
async def test_five_minutes_of_skew_are_tolerated(
    client: Client, clock: SetClock, skew: float
) -> None:
    """A timestamp less than five minutes off is good on both clouds."""
    client.clock = lambda: clock.time + skew
    assert (await client.scp(NODES)).status == 200
    assert (await client.nsml("/projects")).status == 200


@pytest.mark.parametrize("skew", [-300.0, 300.0])
async def test_more_skew_is_refused(client: Client, clock: SetClock, skew: float) -> None:
    """A timestamp five minutes off gets a 401 in the gateway's own shape."""
    client.clock = lambda: clock.time + skew
    scp, nsml = await client.scp(NODES), await client.nsml("/projects")
    assert (scp.status, scp.json["status"], scp.json["name"]) == (
        401,
        "UNAUTHORIZED",
        "HmacValidFail",
    )
    assert (nsml.status, nsml.json["error"]["errorCode"]) == (401, "200")


async def test_a_timestamp_follows_the_wall_clock_whatever_the_speed(clock: SetClock) -> None:
    """An hour of simulated time does not make a signature old."""
    async with Simulator(14, speed=0.0, clock=clock, alive=False) as simulator:
        simulator.advance(3600)
        assert simulator.timeline.wall == START
        assert simulator.truth().now == START


@pytest.mark.parametrize("missing", ["Scp-Accesskey", "Scp-Signature", "Scp-Timestamp"])
async def test_scp_routes_nothing_without_authentication_headers(
    client: Client, missing: str
) -> None:
    """A request without one of the headers gets the gateway's 404, not a 401."""
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    headers = client.scp_headers("GET", url)
    del headers[missing]
    reply = await client.send("GET", url, headers)
    assert reply.status == 404
    assert set(reply.json) == {"timestamp", "path", "status", "error", "requestId"}
    assert reply.json["path"] == f"/scp/e/kr-west1{NODES}"


@pytest.mark.parametrize(
    "spoilt",
    [
        {"Scp-Accesskey": "other"},
        {"Scp-Signature": "AAAA"},
        {"Scp-Signature": "ünicode"},
        {"Scp-Timestamp": "1800000000001"},
        {"Scp-Timestamp": "now"},
        {"Scp-Timestamp": "9" * 5000},
        {"Scp-ClientType": "Other"},
        {"Scp-AccountId": ACCOUNT},
    ],
)
async def test_whatever_is_signed_can_not_be_changed(
    client: Client, spoilt: dict[str, str]
) -> None:
    """A request of which any signed part was changed gets 401, and no secret is told."""
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    reply = await client.send("GET", url, {**client.scp_headers("GET", url), **spoilt})
    assert reply.status == 401
    assert client.simulator.credentials["SCP_SECRET_KEY"] not in reply.text


async def test_the_account_id_is_signed_and_has_to_be_the_own(client: Client) -> None:
    """With the own account's id a request is served; with another one's it is forbidden."""
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    own = (await client.scp(NODES)).json["gpu_nodes"][0]["account_id"]
    assert (await client.send("GET", url, client.scp_headers("GET", url, own))).status == 200
    reply = await client.send("GET", url, client.scp_headers("GET", url, ACCOUNT))
    assert (reply.status, reply.json["errors"][0]["code"]) == (403, "Forbidden")


async def test_the_signature_is_over_the_url_as_it_was_sent(client: Client) -> None:
    """Another spelling of the same query is another request."""
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}?sort=created_at%3Adesc"
    headers = client.scp_headers("GET", url)
    assert (await client.send("GET", url, headers)).status == 200
    assert (await client.send("GET", url.replace("%3A", ":"), headers)).status == 401
    assert (await client.send("GET", url.replace("%3A", "%3a"), headers)).status == 401


@pytest.mark.parametrize(
    "spoilt",
    [
        {"x-ncp-iam-access-key": "other"},
        {"x-ncp-apigw-signature-v2": ""},
        {"x-ncp-apigw-timestamp": ""},
        {"x-ncp-apigw-api-key": "other"},
    ],
)
async def test_nsml_wants_every_header(client: Client, spoilt: dict[str, str]) -> None:
    """A wrong key, signature, time or API key gets 401 with the code for authentication."""
    headers = {**client.nsml_headers("GET", "/nsml/v1/projects"), **spoilt}
    reply = await client.send("GET", f"{client.simulator.url}/nsml/v1/projects", headers)
    assert (reply.status, reply.json["error"]["errorCode"]) == (401, "200")
    assert "x-ncp-trace-id" in reply.headers


async def test_the_version_document_is_public(client: Client) -> None:
    """The versions are listed without authentication, with and without a slash."""
    for path in ("/scp/g/kr-south3/", "/scp/g/kr-south3"):
        reply = await client.own(path)
        assert (reply.status, reply.json["versions"][0]["id"]) == (200, "v1.2")


async def test_a_version_that_is_not_served_is_refused(client: Client) -> None:
    """Only a version that is listed and not past its day answers."""
    url = f"{client.simulator.url}/scp/e/kr-west1{NODES}"
    headers = client.scp_headers("GET", url)
    for version in ("multinodegpucluster 1.0", "multinodegpucluster 9", "other 1.2", ""):
        reply = await client.send("GET", url, {**headers, "Scp-Api-Version": version})
        assert (reply.status, reply.detail) == (400, "The API version is not supported")
    del headers["Scp-Api-Version"]
    assert (await client.send("GET", url, headers)).status == 200
