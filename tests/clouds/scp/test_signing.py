"""Authentication at Samsung Cloud Platform, against the vectors of its formula."""

import base64
import hashlib
import hmac

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.clouds.http import request
from exporter.clouds.scp import api
from exporter.clouds.scp.signing import ScpDialect, signature
from exporter.simulator.server import Simulator
from tests.clouds.calls import NOW, SteppedClock, client_of
from tests.clouds.loopback import answer, in_turn, loopback

ACCESS, SECRET = "AKTESTACCESSKEY", "sk-test-secret"
TIMESTAMP = "1605290625682"
HOST = "https://multinodegpucluster.kr-west1.e.samsungsdscloud.com"
ACCOUNT = "f5c8e56a4d9b49a8bd89e14758a32d53"


def dialect(account_id: str = "") -> ScpDialect:
    """Return the dialect of the vectors' account."""
    keys = {"access_key": ACCESS, "secret_key": SECRET}
    return ScpDialect(lambda: keys, "1.2", account_id)


@pytest.mark.parametrize(
    ("target", "account_id", "expected"),
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
def test_signatures_are_those_of_the_vectors(target: str, account_id: str, expected: str) -> None:
    """Method, URL, timestamp, access key, account and client type are signed, in this order."""
    assert signature(SECRET, ACCESS, account_id, "GET", HOST + target, TIMESTAMP) == expected
    headers = dialect(account_id).headers("GET", HOST + target, int(TIMESTAMP))
    assert headers["Scp-Signature"] == expected


def test_the_request_of_a_vector_is_built_as_it_stands_there() -> None:
    """A query is encoded once, reserved characters too."""
    built = request("/v1/gpu-nodes", {"page": 0, "size": 20, "sort": "created_at:desc"})
    assert built.target == "/v1/gpu-nodes?page=0&size=20&sort=created_at%3Adesc"


def test_all_headers_are_sent() -> None:
    """An unset account is no header at all, for an empty one would have to be signed."""
    headers = dict(dialect().headers("GET", HOST + "/v1/gpu-nodes", int(TIMESTAMP)))
    headers.pop("Scp-Signature")
    assert headers == {
        "Scp-Accesskey": ACCESS,
        "Scp-Timestamp": TIMESTAMP,
        "Scp-ClientType": "Openapi",
        "Accept-Language": "en-US",
        "Scp-Api-Version": "multinodegpucluster 1.2",
    }
    assert dialect(ACCOUNT).headers("GET", HOST, 0)["Scp-AccountId"] == ACCOUNT


def test_each_request_is_signed_with_the_keys_of_that_moment() -> None:
    """Keys that were replaced are used from the next request on."""
    keys = [
        {"access_key": "old", "secret_key": "one"},
        {"access_key": "new", "secret_key": "two"},
    ]
    signing = ScpDialect(lambda: keys.pop(0), "1.2")
    assert signing.headers("GET", HOST, 0)["Scp-Accesskey"] == "old"
    assert signing.headers("GET", HOST, 0)["Scp-Accesskey"] == "new"


def verify(url: str, headers: dict[str, str]) -> None:
    """Check a signature over the URL as it arrived."""
    text = "GET" + url + headers["scp-timestamp"] + ACCESS + headers.get("scp-accountid", "")
    digest = hmac.new(SECRET.encode(), (text + "Openapi").encode(), hashlib.sha256).digest()
    assert headers["scp-signature"] == base64.b64encode(digest).decode()


@pytest.mark.parametrize("account_id", ["", ACCOUNT])
@pytest.mark.parametrize("prefix", ["", "/a/path", "/with%20escapes/%EA%B0%80", "/tilde~/+plus/@"])
async def test_what_is_signed_is_what_is_sent(
    session: aiohttp.ClientSession, prefix: str, account_id: str
) -> None:
    """Byte for byte, whatever the endpoint's path and the query are made of."""
    values = ["a b", "a+b", "a&b=c", "100%", "%41", "가/나", "é", "'();:@", "~-._", "#", "?"]
    async with loopback(lambda _head, _writer: answer({})) as server:
        client = client_of(session, server.url + prefix, dialect(account_id))
        for value in values:
            await client.attempt(request("/v1/gpu-nodes", {"name": value, "page": 0}))
        for head, value in zip(server.heads, values, strict=True):
            assert head.target.startswith(prefix + "/v1/gpu-nodes?name=")
            assert head.query["name"] == value
            assert head.headers["accept"] == "application/json"
            assert head.headers["scp-timestamp"] == str(int(NOW * 1000))
            verify(server.url + head.target, head.headers)


async def test_what_takes_no_authentication_gets_none(session: aiohttp.ClientSession) -> None:
    """The version document is asked for without keys or signature."""
    async with loopback(in_turn([answer({"versions": []})])) as server:
        caller = client_of(session, server.url, dialect(ACCOUNT)).until(100.0)
        await api.api_versions().all(caller)
        assert server.targets == ["/"]
        assert not [name for name in server.heads[0].headers if name.startswith("scp-")]


async def test_the_simulated_cloud_accepts_every_list_call(session: aiohttp.ClientSession) -> None:
    """Each list of the API is answered to a request that the exporter has signed."""
    clock = SteppedClock()
    async with Simulator(16, clock=clock.wall, alive=False, speed=0) as simulator:
        keys = {
            name: simulator.credentials[f"SCP_{name.upper()}"]
            for name in ("access_key", "secret_key")
        }
        url = simulator.url + "/scp/e/kr-west1"
        client = client_of(session, url, ScpDialect(lambda: keys, "1.2"), clock)
        caller = client.until(1000.0)
        nodes = (await api.gpu_nodes(5).all(caller)).records.values()
        account_id = next(iter(nodes)).item.account_id
        client.dialect = ScpDialect(lambda: keys, "1.2", account_id)
        for listed in (
            api.gpu_nodes(5),
            api.cluster_fabrics(1000),
            api.products(),
            api.images("kr-west1"),
            api.api_versions(),
        ):
            assert (await listed.all(caller)).records
        assert {request.status for request in simulator.requests} == {200}


@given(st.text(), st.text(), st.text(st.characters(codec="utf-8")))
def test_any_keys_can_be_signed_with(secret: str, access: str, url: str) -> None:
    """A key is a text of any characters that UTF-8 holds."""
    digest = base64.b64decode(signature(secret, access, "", "GET", url, "0"))
    assert len(digest) == 32
