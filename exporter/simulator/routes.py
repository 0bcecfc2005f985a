"""How an operation of a simulated cloud is declared, found and carried out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from exporter.simulator.calls import Answer, Call
from exporter.simulator.errors import Refused
from exporter.simulator.world import World

S = TypeVar("S")
Q = TypeVar("Q", bound=BaseModel)
B = TypeVar("B", bound=BaseModel)


class Nothing(BaseModel):
    """The query or body of an operation that has none."""


@dataclass(frozen=True)
class Asked(Generic[Q, B]):
    """A request whose parameters have been read: `ids` are the variables of the path."""

    world: World
    call: Call
    query: Q
    body: B
    ids: dict[str, str]


@dataclass(frozen=True)
class Route(Generic[S, Q, B]):
    """One operation: the row of a cloud's table that both the server and its OpenAPI are made of.

    `path` is the template below the cloud's root; `S` is what the handler works on.
    """

    name: str
    summary: str
    method: str
    path: str
    query: type[Q]
    body: type[B]
    status: int
    answer: type[BaseModel]
    handler: Callable[[S, Asked[Q, B]], Answer]

    def ids(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the variables of the path, or None where it is another path."""
        parts = self.path.split("/")[1:]
        if len(parts) != len(segments):
            return None
        ids = {}
        for part, segment in zip(parts, segments, strict=True):
            if part.startswith("{") and segment:
                ids[part[1:-1]] = segment
            elif part != segment:
                return None
        return ids

    def run(self, scope: S, world: World, call: Call, ids: dict[str, str]) -> Answer:
        """Read the parameters and carry the operation out."""
        query = _read_query(self.query, call)
        body = _read_body(self.body, call)
        return self.handler(scope, Asked(world, call, query, body, ids))


AnyRoute = Route[S, Any, Any]


def find(
    routes: Sequence[AnyRoute[S]], method: str, segments: Sequence[str]
) -> tuple[AnyRoute[S], dict[str, str]] | Refused:
    """Return the operation with its path variables, or the 404 or 405 that is due."""
    allowed = []
    for route in routes:
        ids = route.ids(segments)
        if ids is not None and route.method == method:
            return route, ids
        if ids is not None:
            allowed.append(route.method)
    if not allowed:
        return Refused(404, "There is no such path")
    return Refused(405, "Method Not Allowed", allow=", ".join(sorted(set(allowed))))


def _read_query(model: type[Q], call: Call) -> Q:
    try:
        return model.model_validate(call.query)
    except ValidationError as error:
        raise Refused(400, *_reasons(error)) from error


def _read_body(model: type[B], call: Call) -> B:
    if model is Nothing:
        return model()
    try:
        return model.model_validate_json(call.body)
    except ValidationError as error:
        raise Refused(400, *_reasons(error)) from error


def _reasons(error: ValidationError) -> list[str]:
    """Say what is wrong in the words of the framework that the real service is built with."""
    return [item["msg"] for item in error.errors(include_url=False, include_input=False)]
