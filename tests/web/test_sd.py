"""HTTP service discovery, over real sockets."""

import asyncio
import io
import json
import threading
from collections.abc import AsyncIterator, Iterable

import pytest

from exporter.app import Application
from exporter.config import Config
from exporter.discovery import Group
from exporter.web import documents, sd
from tests.clocks import FakeClock, settle
from tests.seen import (
    gpu_node,
    gpu_node_target,
    run_node,
    run_node_target,
    run_nodes,
    sighting,
)
from tests.simulated import PATIENCE_SECONDS, until
from tests.web.serving import Served, serving


@pytest.fixture
async def app() -> AsyncIterator[Application]:
    """Give an application with one node of each cloud, which polls nothing."""
    async with Application(environ={}, clock=FakeClock()) as application:
        application.config = Config()
        nodes, runs = gpu_node_target(), run_node_target()
        nodes.update(sighting(gpu_node("a")), 0.0)
        runs.update(run_nodes({"1": [run_node("b", tcpPorts=[15001])]}), 0.0)
        application.snapshots.replace([nodes, runs])
        yield application


@pytest.fixture
async def served(app: Application) -> AsyncIterator[Served]:
    """Give a server of the application."""
    async with serving(app) as made:
        yield made


@pytest.mark.parametrize(
    ("path", "target", "label"),
    [
        ("/sd/gpu-nodes?port=9400", "10.0.0.1:9400", ("__meta_scp_gpu_node_id", "a")),
        ("/sd/run-nodes?port=tcp0", "203.0.113.1:15001", ("__meta_nsml_node_id", "b")),
    ],
)
async def test_nodes_are_listed(
    served: Served, path: str, target: str, label: tuple[str, str]
) -> None:
    """As Prometheus wants it: 200, JSON by that very name, a list of targets and labels."""
    answer = await served.ask(path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    [group] = json.loads(answer.body)
    assert group["targets"] == [target]
    assert label in group["labels"].items()


async def test_an_empty_list_is_a_list(served: Served) -> None:
    """Nobody is in this state."""
    assert (await served.ask("/sd/gpu-nodes?port=9400&state=ERROR")).body == b"[]"


async def test_parameters_are_decoded(served: Served, app: Application) -> None:
    """A name may have a space, an ampersand or a letter beyond ASCII."""
    nodes = gpu_node_target("R&D 연구")
    nodes.update(sighting(gpu_node("a", cluster_fabric_name="a+b c")), 0.0)
    app.snapshots.replace([nodes])
    query = "account=R%26D+%EC%97%B0%EA%B5%AC&cluster_fabric_name=a%2Bb%20c"
    answer = await served.ask(f"/sd/gpu-nodes?port=9400&{query}")
    [group] = json.loads(answer.body)
    assert group["labels"]["__meta_scp_account"] == "R&D 연구"


async def test_a_bad_question_is_answered_in_words(served: Served) -> None:
    """400, as text, and what was asked for stands in it harmlessly."""
    answer = await served.ask("/sd/gpu-nodes?port=1&region=%3Cscript%3E%0A%00")
    assert answer.status == 400
    assert answer.headers["Content-Type"].startswith("text/plain")
    assert answer.text == (
        "unknown region '<script>\\n\\x00' among those whose gpu_nodes are polled; known: kr-west1"
    )


async def test_what_is_not_known_yet_is_unavailable(served: Served, app: Application) -> None:
    """503, on which Prometheus keeps what it has; the target that is waited for is named."""
    app.snapshots.replace([gpu_node_target()])
    answer = await served.ask("/sd/gpu-nodes?port=9400")
    assert (answer.status, answer.text) == (
        503,
        "no whole list yet: scp/prod/e/kr-west1/gpu_nodes",
    )


async def test_before_the_configuration_nothing_is_refused(
    served: Served, app: Application
) -> None:
    """A daemon that has just begun to listen can't say what is not configured."""
    app.config = None
    answer = await served.ask("/sd/gpu-nodes?port=9400&account=prod")
    assert (answer.status, answer.text) == (503, "there is no configuration yet")


async def test_shared_addresses_are_logged_once(
    served: Served, app: Application, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each once, however often it is asked for, and not without end."""
    monkeypatch.setattr(sd, "_MOST_TOLD", 3)
    runs = run_node_target()
    runs.update(run_nodes({"1": [run_node("a"), run_node("b")]}), 0.0)
    app.snapshots.replace([runs])
    for _ in range(3):
        assert (await served.ask("/sd/run-nodes?port=9400&port=9100")).body == b"[]"
    assert log.getvalue().count("left out an address that several nodes share") == 2
    assert "address=203.0.113.1:9100 nodes=2" in log.getvalue()
    for port in range(1, 5):
        await served.ask(f"/sd/run-nodes?port={port}")
    assert log.getvalue().count("\n") == 3


async def test_a_crowd_waits_its_turn(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """One answer is written at a time, however many are asked for; all are answered."""
    begun, go_on = threading.Event(), threading.Event()
    numbers: list[int] = []

    def held(groups: Iterable[Group]) -> bytes:
        numbers.append(len(numbers))
        begun.set()
        go_on.wait(PATIENCE_SECONDS)
        return documents.json_list(groups)

    monkeypatch.setattr("exporter.web.sd.json_list", held)
    asked = [asyncio.ensure_future(served.ask("/sd/gpu-nodes?port=9400")) for _ in range(20)]
    await until(begun.is_set)
    await until(lambda: served.runner.server and len(served.runner.server.connections) == 20)
    await settle()
    assert len(numbers) == 1
    go_on.set()
    assert {answer.status for answer in await asyncio.gather(*asked)} == {200}
    assert len(numbers) == 20
