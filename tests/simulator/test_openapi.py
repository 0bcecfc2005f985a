"""The OpenAPI document, and the server held against it."""

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from exporter.simulator import openapi
from exporter.simulator.server import Simulator
from tests.simulator.cloud_client import Client

SCHEMA = schemathesis.openapi.from_dict(openapi.document("http://127.0.0.1"))
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


async def test_the_document_describes_every_operation(client: Client) -> None:
    """All 16 operations of SCP, the version document, NSML and the controls are in it."""
    document = (await client.own("/openapi.json")).json
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": client.simulator.url}]
    operations = [
        (path, method)
        for path, item in document["paths"].items()
        for method in item
        if method != "parameters"
    ]
    scp = [path for path, _ in operations if path.startswith("/scp/{environment}/{region}/v1/")]
    nsml = [path for path, _ in operations if path.startswith("/nsml/v1/")]
    own = [path for path, _ in operations if path.startswith("/_")]
    assert (len(scp), len(nsml), len(own)) == (16, 4, 8)
    assert len(operations) == 16 + 4 + 8 + 1
    ids = [document["paths"][path][method]["operationId"] for path, method in operations]
    assert len(set(ids)) == len(ids)


async def test_references_lead_somewhere(client: Client) -> None:
    """Every `$ref` of the document names a schema that is in it."""
    document = (await client.own("/openapi.json")).json

    def references(part: object) -> Iterator[str]:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                yield part["$ref"]
            for each in part.values():
                yield from references(each)
        if isinstance(part, list):
            for each in part:
                yield from references(each)

    names = {name.removeprefix("#/components/schemas/") for name in references(document)}
    assert names
    assert names <= set(document["components"]["schemas"])


async def test_each_kind_of_fault_is_described(client: Client) -> None:
    """The body of a fault is one of many, told apart by `kind`, each with its fields."""
    schemas = (await client.own("/openapi.json")).json["components"]["schemas"]
    kinds = schemas["FaultBody"]["discriminator"]["mapping"]
    assert {"status", "hang", "rate_limit", "moving_rows", "children_gone"} <= set(kinds)
    for reference in kinds.values():
        schema = schemas[reference.rpartition("/")[2]]
        assert schema["description"]
        assert {"region", "path", "requests"} <= set(schema["properties"])


class Signed(requests.auth.AuthBase):
    """Signs what is about to be sent, whatever it has become."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the headers of the cloud that the request goes to."""
        url, method = str(request.url), str(request.method)
        client = Client(self.simulator, clock=time.time)
        if "/scp/" in url:
            request.headers.update(client.scp_headers(method, url))
        if "/nsml/" in url:
            request.headers.update(client.nsml_headers(method, str(request.path_url)))
        return request


@pytest.fixture(scope="module")
def served() -> Iterator[Simulator]:
    """Give a simulator that is served in a thread of its own."""
    simulator, loop = Simulator(64, alive=False), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(simulator.start(), loop).result()
    yield simulator
    asyncio.run_coroutine_threadsafe(simulator.stop(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_generated_requests_get_documented_answers(
    case: schemathesis.Case[Any], served: Simulator
) -> None:
    """Whatever fits the document, or just doesn't, gets an answer that the document knows."""
    region = next(iter(served.world.regions.values()))
    known = {
        "environment": region.place.environment,
        "region": region.place.region,
        "gpu_node_id": next(iter(region.nodes)),
        "cluster_fabric_id": next(iter(region.fabrics)),
    }
    # Things that exist, so that more than a 404 is put to the test.
    for name in known.keys() & case.path_parameters.keys():
        case.path_parameters[name] = known[name]
    with requests.Session() as session:
        response = case.call(base_url=served.url, session=session, auth=Signed(served))
        case.validate_response(response, checks=CHECKS)
    served.faults.clear()
