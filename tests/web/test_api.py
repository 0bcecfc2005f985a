"""The JSON for programs and the status page, and the configuration, over real sockets."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exporter.app import Application
from exporter.simulator.faults import FieldValue, Status
from exporter.simulator.server import Simulator
from tests.clocks import START_WALL
from tests.seen import gpu_node, gpu_node_target, sighting
from tests.simulated import config_text, first_polls, read_config, write
from tests.web.serving import Served, serving

LISTS = ("targets", "nodes", "fabrics", "runs")
TARGET_KEYS = [
    "provider",
    "account",
    "environment",
    "region",
    "collector",
    "up",
    "last_attempt",
    "last_success",
    "interval_seconds",
    "consecutive_failures",
    "next_poll",
    "objects",
    "reported_objects",
    "last_error",
]


@pytest.fixture
async def served(app: Application) -> AsyncIterator[Served]:
    """Give a server of the application."""
    async with serving(app) as made:
        yield made


async def configure(app: Application, simulator: Simulator, directory: Path) -> None:
    """Put a configuration of both clouds in force, and wait until all was polled once."""
    text = config_text(simulator.url)
    await app.apply(read_config(directory, text, simulator.credentials))
    await first_polls(app)


@pytest.fixture
async def polled(app: Application, simulator: Simulator, tmp_path: Path) -> Application:
    """Give the application with both clouds polled."""
    await configure(app, simulator, tmp_path)
    return app


async def listed(served: Served, name: str) -> list[dict[str, Any]]:
    """Return what the answer of a name lists, which is all that it holds."""
    answer = await served.ask(f"/api/v1/{name}")
    assert answer.status == 200
    document = json.loads(answer.body)
    assert list(document) == [name]
    found: list[dict[str, Any]] = document[name]
    return found


@pytest.mark.parametrize("name", LISTS)
async def test_without_a_configuration_the_lists_are_empty(served: Served, name: str) -> None:
    """A daemon that has just begun to listen has no targets."""
    assert await listed(served, name) == []


@pytest.mark.usefixtures("polled")
async def test_targets_tell_how_their_polls_went(served: Served, simulator: Simulator) -> None:
    """In the order of the configuration, with these fields, times in Unix seconds."""
    targets = await listed(served, "targets")
    assert [list(each) for each in targets] == [TARGET_KEYS] * 15
    first = targets[0]
    identity = ("scp", "prod", "e", "kr-west1", "gpu_nodes")
    assert tuple(first[key] for key in TARGET_KEYS[:5]) == identity
    assert (first["up"], first["last_error"], first["consecutive_failures"]) == (True, None, 0)
    assert first["last_attempt"] == first["last_success"] == START_WALL
    assert START_WALL < first["next_poll"] <= START_WALL + first["interval_seconds"]
    true = next(each for each in simulator.truth().scp if each.region == "kr-west1")
    assert first["objects"] == first["reported_objects"] == len(true.gpu_nodes)
    products = next(each for each in targets if each["collector"] == "products")
    assert products["reported_objects"] is None


@pytest.mark.usefixtures("polled")
async def test_objects_are_those_of_the_clouds(served: Served, simulator: Simulator) -> None:
    """Every node, fabric and run with its state, and every run with its nodes."""
    truth = simulator.truth()
    regions = [each for each in truth.scp if each.environment == "e"]
    nodes = {each["gpu_node_id"]: each["state"] for each in await listed(served, "nodes")}
    assert nodes == {node.id: node.state for region in regions for node in region.gpu_nodes}
    fabrics = {each["cluster_fabric_id"]: each["state"] for each in await listed(served, "fabrics")}
    true = [fabric for region in regions for fabric in region.cluster_fabrics]
    assert fabrics == {fabric.id: fabric.state for fabric in true}
    runs = {
        f"{each['project_id']}/{each['run_name']}": [node["node_id"] for node in each["nodes"]]
        for each in await listed(served, "runs")
    }
    true_runs = [run for project in truth.nsml.projects for run in project.runs]
    shown = {run.id: [node.id for node in run.nodes] for run in true_runs if run.id in runs}
    assert runs == shown != {}


def test_the_documentation_shows_the_fields_that_there_are() -> None:
    """Its example has those of a target, in their order."""
    text = (Path(__file__).parent.parent.parent / "docs" / "http-api.md").read_text()
    example, *_ = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    [target] = json.loads(example)["targets"]
    assert list(target) == TARGET_KEYS
    assert list(target["last_error"]) == ["reason", "message", "at"]


async def test_a_failing_target_tells_why(
    served: Served, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """The reason, the words and the time; the number of its objects is not known, not 0."""
    simulator.faults.add(Status(region="kr-west1", status=404, body="out of order"))
    await configure(app, simulator, tmp_path)
    first = (await listed(served, "targets"))[0]
    assert (first["up"], first["objects"], first["last_success"]) == (False, None, None)
    assert first["consecutive_failures"] == 1
    assert first["last_error"]["reason"] == "not_found"
    assert "out of order" in first["last_error"]["message"]
    assert first["last_error"]["at"] == START_WALL


async def test_an_error_shows_no_secret(
    served: Served, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """A server may repeat in its answer what it was sent, or what it should never know."""
    secrets = list(simulator.credentials.values())
    simulator.faults.add(Status(status=400, body="bad keys: " + " ".join(secrets)[:250]))
    await configure(app, simulator, tmp_path)
    answer = await served.ask("/api/v1/targets")
    assert "bad keys: <secret>" in answer.text
    assert [secret for secret in secrets if secret in answer.text] == []


@pytest.mark.usefixtures("polled")
async def test_answers_are_compressed_where_that_is_accepted(served: Served) -> None:
    """Otherwise not; nobody may keep them, and HEAD has their headers alone."""
    for path in (*(f"/api/v1/{name}" for name in LISTS), "/config"):
        await check_compression(served, path)


async def check_compression(served: Served, path: str) -> None:
    """Hold that an answer says how it is encoded, and is the same in all encodings."""
    plain = await served.ask(path, headers={"Accept-Encoding": "gzip;q=0"})
    assert "Content-Encoding" not in plain.headers
    assert (plain.headers["Cache-Control"], plain.headers["Vary"]) == (
        "no-store",
        "Accept-Encoding",
    )
    async with served.session.get(
        f"http://127.0.0.1:{served.port}{path}", headers={"Accept-Encoding": "gzip"}
    ) as response:
        assert response.headers["Content-Encoding"] == "gzip"
        assert await response.read() == plain.body
    head = await served.ask(path, "HEAD", headers={"Accept-Encoding": "identity"})
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["Content-Length"]) == len(plain.body)


async def test_a_small_answer_is_not_compressed(served: Served) -> None:
    """It would only grow."""
    answer = await served.ask("/api/v1/nodes", headers={"Accept-Encoding": "gzip"})
    assert (answer.body, "Content-Encoding" in answer.headers) == (b'{"nodes":[]}', False)


async def test_a_bad_field_spoils_no_other(
    served: Served, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """What could not be read is the empty text, and never the text None."""
    field = FieldValue(path="/v1/gpu-nodes$", field="server_type", values=[None, {}], rows=[0, 1])
    simulator.faults.add(field)
    await configure(app, simulator, tmp_path)
    nodes = await listed(served, "nodes")
    types = [node["server_type"] for node in nodes if node["region"] == "kr-west1"]
    assert types.count("") == 2 < len(types)
    assert {type(value) for node in nodes for value in node.values()} == {str, float, bool}
    assert not any("None" in node.values() for node in nodes)


async def test_names_are_text_in_json(served: Served, app: Application) -> None:
    """Quotes, markup and letters beyond ASCII come through as they are."""
    name = '<img src=x onerror="1">\u2028 노드 \\'
    snapshot = gpu_node_target()
    snapshot.update(sighting(gpu_node("a", gpu_node_name=name)), 0.0)
    app.snapshots.replace([snapshot])
    [node] = await listed(served, "nodes")
    assert node["gpu_node_name"] == name


async def test_answers_of_many_objects_are_whole(served: Served, app: Application) -> None:
    """Thousands of nodes, as text and compressed."""
    snapshot = gpu_node_target()
    snapshot.update(sighting(*(gpu_node(f"{number:05}") for number in range(3000))), 0.0)
    app.snapshots.replace([snapshot])
    ids = [node["gpu_node_id"] for node in await listed(served, "nodes")]
    assert ids == [f"{number:05}" for number in range(3000)]


async def test_the_configuration_is_there_once_it_is_in_force(
    served: Served, app: Application, simulator: Simulator, tmp_path: Path
) -> None:
    """As text that a browser shows, complete, with every default in its place."""
    before = await served.ask("/config")
    assert (before.status, before.text) == (503, "there is no configuration yet")
    await configure(app, simulator, tmp_path)
    answer = await served.ask("/config")
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "state_series: all" in answer.text
    assert "  access_key_env: SCP_ACCESS_KEY" in answer.text


SECRETS = {
    "plain": "made-up-access-key-0001",
    "file": "made-up-secret-key-0002",
    "variable": "made-up-api-key-0003",
}


async def test_the_configuration_shows_no_secret(
    served: Served, app: Application, tmp_path: Path
) -> None:
    """In whichever way it is given, nor where it was pasted into another setting as well."""
    write(tmp_path / "secret-key", SECRETS["file"] + "\n")
    text = f"""\
scp:
  - account: prod
    environment: e
    regions: [kr-west1]
    access_key: {SECRETS["plain"]}
    secret_key_file: secret-key
    account_id: {SECRETS["file"]}
    endpoint: http://127.0.0.1:9/{SECRETS["plain"]}
nsml:
  - account: research
    access_key: {SECRETS["plain"]}
    secret_key_file: secret-key
    api_key_env: API_KEY
    endpoint: http://127.0.0.1:9
"""
    environ = {"API_KEY": SECRETS["variable"]}
    app.environ = environ
    await app.apply(read_config(tmp_path, text, environ), loops=False)
    answer = await served.ask("/config")
    assert [secret for secret in SECRETS.values() if secret in answer.text] == []
    assert answer.text.count("access_key: <secret>") == 2
    assert f"secret_key_file: {tmp_path / 'secret-key'}" in answer.text
    assert "api_key_env: API_KEY" in answer.text
    assert "endpoint: http://127.0.0.1:9/<secret>" in answer.text
