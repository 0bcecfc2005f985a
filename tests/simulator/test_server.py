"""The simulator as a server."""

import asyncio
import time
from unittest.mock import Mock

import aiohttp
import pytest
from aiohttp import web

from exporter.simulator.faults import Hang
from exporter.simulator.fleet import PLACES
from exporter.simulator.server import REQUESTS_KEPT, Simulator
from exporter.simulator.sockets import cut
from tests.simulator.cloud_client import START, Client, SetClock, digest, until_asked

NODES = "/v1/gpu-nodes"


async def test_it_says_where_it_is_and_what_opens_it(client: Client) -> None:
    """Addresses and credentials come one NAME=value a line; the page at / has no credentials."""
    lines = dict(line.split("=", 1) for line in client.simulator.environment())
    assert lines["SIMULATOR_URL"] == client.simulator.url
    assert lines["SCP_ENDPOINT"] == client.simulator.url + "/scp/{environment}/{region}"
    assert lines["NSML_ENDPOINT"] == client.simulator.url + "/nsml/v1"
    assert {name: lines[name] for name in client.simulator.credentials} == dict(
        client.simulator.credentials
    )
    assert set(client.simulator.credentials) == {
        "SCP_ACCESS_KEY", "SCP_SECRET_KEY", "NCP_ACCESS_KEY", "NCP_SECRET_KEY", "NCP_API_KEY",
    }  # fmt: skip
    page = (await client.own("/")).text
    assert "SCP_ENDPOINT" in page
    assert "KEY" not in page


async def test_secrets_are_in_no_representation(client: Client) -> None:
    """Neither keys nor their pairs print a secret."""
    keys = client.simulator.world.keys
    shown = f"{keys!r} {keys.scp!r} {keys.nsml!r}"
    assert not any(secret in shown for secret in client.simulator.credentials.values())


async def test_requests_are_noted(client: Client) -> None:
    """What was asked is kept: where, what, when, and the status it got."""
    await client.scp(f"{NODES}?size=2")
    await client.scp(f"{NODES}/unknown", place="s/kr-east1")
    await client.nsml("/projects")
    first, second, third = client.simulator.requests
    assert (first.cloud, first.environment, first.region) == ("scp", "e", "kr-west1")
    assert (first.method, first.path, first.query) == ("GET", NODES, {"size": "2"})
    assert (first.time, first.status, first.template) == (START, 200, NODES)
    assert (second.region, second.status) == ("kr-east1", 404)
    assert second.template == "/v1/gpu-nodes/{gpu_node_id}"
    assert (third.cloud, third.region, third.path) == ("nsml", None, "/projects")
    assert client.simulator.requests.maxlen == REQUESTS_KEPT


async def test_two_simulators_of_one_seed_answer_the_same_bytes(clock: SetClock) -> None:
    """With a seed, a set clock and speed 0 every answer is the same, whatever was asked before."""
    paths = (NODES, f"{NODES}/x", "/v1/cluster-fabrics")
    texts: list[list[str]] = []
    for warm_up in (0, 3):
        async with (
            Simulator(64, seed=5, clock=clock, speed=0.0) as simulator,
            aiohttp.ClientSession() as session,
        ):
            client = Client(simulator, clock, session)
            for _ in range(warm_up):
                await client.nsml("/projects")
            replies = [await client.scp(path) for path in paths]
            replies += [await client.nsml("/projects/runs"), await client.own("/_truth")]
            texts.append([reply.text for reply in replies])
    assert texts[0] == texts[1]


async def test_a_hanging_client_does_not_hold_up_the_stop(clock: SetClock) -> None:
    """Stop ends within a second though a request hangs."""
    simulator = Simulator(14, clock=clock, alive=False)
    await simulator.start()
    simulator.faults.add(Hang())
    async with aiohttp.ClientSession() as session:
        hanging = asyncio.ensure_future(Client(simulator, clock, session).scp(NODES))
        await until_asked(simulator)
        began = time.perf_counter()
        await simulator.stop()
        assert time.perf_counter() - began < 2
        with pytest.raises(aiohttp.ClientError):
            await hanging


async def test_it_can_be_stopped_twice_and_started_again(clock: SetClock) -> None:
    """Stop is safe at any time; the state outlives the socket."""
    simulator = Simulator(14, clock=clock, alive=False)
    await simulator.stop()
    for _ in range(2):
        async with simulator, aiohttp.ClientSession() as session:
            assert (await Client(simulator, clock, session).scp(NODES)).status == 200
    await simulator.stop()


async def test_a_taken_port_is_an_os_error(simulator: Simulator, clock: SetClock) -> None:
    """Where the port is taken, start fails with OSError and leaves nothing behind."""
    other = Simulator(14, clock=clock, alive=False)
    with pytest.raises(OSError, match="address already in use"):
        await other.start("127.0.0.1", int(simulator.url.rpartition(":")[2]))
    async with other:
        assert other.url.startswith("http://127.0.0.1:")


async def test_a_request_line_with_a_whole_url_is_understood(client: Client) -> None:
    """What a proxy sends, an absolute URL as the target, is served, and signed as it stands."""
    host = "cloud.example"
    url = f"http://{host}/scp/e/kr-west1{NODES}?size=1"
    lines = [f"GET {url} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in client.scp_headers("GET", url).items()]
    port = int(client.simulator.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 200")
    assert '"count":10' in answer.replace(" ", "")


async def test_a_target_that_is_no_path_is_not_found(client: Client) -> None:
    """`OPTIONS *` and the like are answered, and not with a 500."""
    port = int(client.simulator.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 404")


def test_to_cut_a_line_that_is_cut_already_is_harmless() -> None:
    """A client that hung up while a fault was about to cut its line breaks nothing."""
    gone = Mock(spec=web.BaseRequest, transport=None)
    assert cut(gone).status == 200


@pytest.mark.parametrize(
    ("path", "status"), [("/unknown", 404), ("/_faults/x", 405), ("/_truth/", 404), ("//", 404)]
)
async def test_other_paths_are_not_found(client: Client, path: str, status: int) -> None:
    """What is neither cloud nor the simulator's own is refused."""
    assert (await client.own(path)).status == status


@pytest.mark.parametrize(("nodes", "speed"), [(-1, 1.0), (100_001, 1.0), (14, -1.0)])
def test_impossible_fleets_are_refused(nodes: int, speed: float) -> None:
    """Negative numbers, and more nodes than there are addresses for, are a ValueError."""
    with pytest.raises(ValueError, match="nodes are 0 to 100000"):
        Simulator(nodes, speed=speed)


def test_an_ipv6_address_stands_in_brackets(clock: SetClock) -> None:
    """The URL of an IPv6 address is one that clients understand."""
    simulator = Simulator(0, clock=clock, alive=False)
    simulator._host, simulator._port = "::1", 8080
    assert simulator.url == "http://[::1]:8080"


@pytest.mark.parametrize("query", ["", "&sort=created_at%3Adesc", "&state=RUNNING"])
async def test_ten_thousand_nodes_come_in_pages(clock: SetClock, query: str) -> None:
    """Every page of 100 out of 10,000 nodes is full, however they are asked for."""
    simulator = Simulator(10_000, clock=clock, alive=False, places=PLACES[:1])
    async with simulator, aiohttp.ClientSession() as session:
        client = Client(simulator, clock, session)
        for page in range(5):
            reply = await client.scp(f"{NODES}?size=100&page={page}{query}")
            assert len(reply.json["gpu_nodes"]) == 100


def test_the_test_client_signs_as_the_documentation_says() -> None:
    """The client of these tests is checked against a known signature too."""
    text = (
        "GEThttps://multinodegpucluster.kr-west1.e.samsungsdscloud.com/v1/gpu-nodes"
        "1605290625682AKTESTACCESSKEYOpenapi"
    )
    assert digest("sk-test-secret", text) == "IfoQghr+v9AEzmpBd49D+pAqBmjqeVbjIKVCchUfUDk="
