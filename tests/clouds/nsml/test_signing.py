"""Authentication at CLOVA NSML, against the vectors of its formula."""

import base64
import hashlib
import hmac

import aiohttp
import pytest

from exporter.clouds.http import request
from exporter.clouds.nsml import api
from exporter.clouds.nsml.signing import NsmlDialect, signature, target_of
from exporter.clouds.paging import PageSize
from exporter.simulator.server import Simulator
from tests.clouds.calls import NOW, SteppedClock, client_of
from tests.clouds.loopback import answer, loopback

ACCESS = "ncp_iam_BPAEXAMPLE0000000001"
SECRET = "ncp_iam_BPKEXAMPLESECRET0000000000000001"
API_KEY = "made-up-api-key"
TIMESTAMP = "1725327591000"
HOST = "https://nsml.apigw.ntruss.com"
KEYS = {"access_key": ACCESS, "secret_key": SECRET, "api_key": API_KEY}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "/nsml/v1/projects/abcdeygz0iujnfghij01/runs/2/nodes",
            "jnnZ/N6IpPEwR5SzHNUaEMZWzzFE/Kw3GAWC+VgbOlw=",
        ),
        (
            "/nsml/v1/projects/abcdeygz0iujnfghij01/runs/2/nodes?page=1&pageSize=100",
            "UjQsJOLMb0rFmnLB+QrzKTvjN5ZuwDyK7fDO1inVt0s=",
        ),
        (
            "/nsml/v1/projects/runs?page=1&pageSize=100",
            "5SKRDCYpdkurgUhjz3lWMvnVl0lsbjzFDAn5YkaWqdM=",
        ),
    ],
)
def test_signatures_are_those_of_the_vectors(target: str, expected: str) -> None:
    """Method, path with query, timestamp and access key are signed, on three lines."""
    assert signature(SECRET, ACCESS, "GET", target, TIMESTAMP) == expected
    headers = NsmlDialect(lambda: KEYS).headers("GET", HOST + target, int(TIMESTAMP))
    assert headers == {
        "x-ncp-apigw-timestamp": TIMESTAMP,
        "x-ncp-iam-access-key": ACCESS,
        "x-ncp-apigw-signature-v2": expected,
        "x-ncp-apigw-api-key": API_KEY,
    }


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://host/a%2Fb/%EA?x=%20&y=+", "/a%2Fb/%EA?x=%20&y=+"),
        ("https://host:8443/a", "/a"),
        ("http://[::1]:80/a/../b;c?d=/?e", "/a/../b;c?d=/?e"),
    ],
)
def test_the_target_is_cut_out_untouched(url: str, target: str) -> None:
    """What follows the host is signed as it is."""
    assert target_of(url) == target


def verify(target: str, headers: dict[str, str]) -> None:
    """Check a signature over the request target as it arrived."""
    text = f"GET {target}\n{headers['x-ncp-apigw-timestamp']}\n{ACCESS}"
    digest = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
    assert headers["x-ncp-apigw-signature-v2"] == base64.b64encode(digest).decode()


NAMES = ["2", "a/b", "a%2Fb", "100%", "가나", "a b+c", "?x=1#y", "é~", "..", "'\"<>{}|\\^`"]


@pytest.mark.parametrize("prefix", ["", "/nsml/v1", "/proxy%20path/~x"])
async def test_what_is_signed_is_what_is_sent(session: aiohttp.ClientSession, prefix: str) -> None:
    """Byte for byte, whatever the names of projects and runs are made of."""
    async with loopback(lambda _head, _writer: answer({})) as server:
        client = client_of(session, server.url + prefix, NsmlDialect(lambda: KEYS))
        for name in NAMES:
            parts = {"project_id": name, "run_name": name}
            await client.attempt(request(api.NODES_PATH, {"page": 1, "q": name}, parts))
        assert len(server.heads) == len(NAMES)
        for head in server.heads:
            assert head.path.removeprefix(prefix).count("/") == 5
            assert head.headers["x-ncp-apigw-timestamp"] == str(int(NOW * 1000))
            verify(head.target, head.headers)


async def test_the_simulated_cloud_accepts_every_call(session: aiohttp.ClientSession) -> None:
    """Each call is answered to a request that the exporter has signed."""
    clock = SteppedClock()
    async with Simulator(64, clock=clock.wall, alive=False, speed=0) as simulator:
        keys = {
            name: simulator.credentials[f"NCP_{name.upper()}"]
            for name in ("access_key", "secret_key", "api_key")
        }
        client = client_of(session, simulator.url + "/nsml/v1", NsmlDialect(lambda: keys), clock)
        caller = client.until(1000.0)
        assert (await api.projects(100).all(caller)).records
        runs = await api.runs(3).all(caller)
        assert runs.records
        for project_id, run_name in runs.records:
            detail = await api.run(caller, project_id, run_name)
            assert detail.key == (project_id, run_name)
            await api.run_nodes(project_id, run_name, PageSize(2)).all(caller)
        assert {request.status for request in simulator.requests} == {200}
