"""The OpenAPI 3.1 document of both clouds and of the simulator itself, made of their tables."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic.json_schema import JsonSchemaMode, models_json_schema

from exporter.simulator import control, nsml, scp_routes
from exporter.simulator.auth import NSML_HEADERS, SCP_HEADERS
from exporter.simulator.fleet import PLACES
from exporter.simulator.routes import AnyRoute, Nothing
from exporter.simulator.scp_models import VersionsResponse

Document = dict[str, Any]
Models = dict[tuple[Any, JsonSchemaMode], Document]
REFERENCE = "#/components/schemas/{model}"
SCP_ROOT = "/scp/{environment}/{region}"
NSML_ROOT = "/nsml/v1"
SCP_ERRORS = {
    400: "the service refuses the request",
    401: "the gateway does not accept the signature, or the account has no such service",
    403: "the account lacks the permission",
    404: "there is no such object; or the authentication headers are missing",
    405: "there is no such operation here",
}
NSML_ERRORS = {
    400: "the parameters are wrong",
    401: "the authentication does not hold",
    403: "this is not allowed",
    404: "there is no such object",
    405: "there is no such operation here",
}
OWN_ERRORS = {400: "the request is wrong", 404: "there is no such thing", 405: "not this way"}
INFO = {
    "title": "Simulated Samsung Cloud Platform Multi-node GPU Cluster and CLOVA NSML",
    "version": "1.2",
    "description": "Both clouds as they answer by their documentation, and, under paths that begin"
    " with an underscore, what goes wrong in them.",
}


def document(url: str) -> Document:
    """Write the document for a simulator at that address."""
    routes: list[AnyRoute[Any]] = [*scp_routes.ROUTES, *nsml.ROUTES, *control.ROUTES]
    models, schemas = _schemas(routes)
    return {
        "openapi": "3.1.0",
        "info": INFO,
        "servers": [{"url": url}],
        "paths": {
            f"{SCP_ROOT}/": {"parameters": _place(), "get": _versions(models)},
            **_paths(SCP_ROOT, scp_routes.ROUTES, models, SCP_ERRORS),
            **_paths(NSML_ROOT, nsml.ROUTES, models, NSML_ERRORS),
            **_paths("", control.ROUTES, models, OWN_ERRORS),
        },
        "components": {"schemas": schemas, "securitySchemes": _security_schemes()},
    }


def _schemas(routes: Iterable[AnyRoute[Any]]) -> tuple[Models, Document]:
    wanted: dict[tuple[Any, JsonSchemaMode], None] = {(VersionsResponse, "serialization"): None}
    for route in routes:
        wanted[route.answer, "serialization"] = None
        if route.body is not Nothing:
            wanted[route.body, "validation"] = None
    models, definitions = models_json_schema(list(wanted), ref_template=REFERENCE)
    return dict(models), definitions.get("$defs", {})


def _paths(
    root: str, routes: Sequence[AnyRoute[Any]], models: Models, errors: dict[int, str]
) -> Document:
    paths: Document = {}
    for route in routes:
        shared = {"parameters": _place()} if root == SCP_ROOT else {}
        item = paths.setdefault(root + route.path, shared)
        item[route.method.lower()] = _operation(root, route, models, errors)
    return paths


def _operation(root: str, route: AnyRoute[Any], models: Models, errors: dict[int, str]) -> Document:
    operation: Document = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": [*_variables(route), *_parameters(route), *_headers(root)],
        "responses": _responses(route, models, errors),
        "security": _security(root),
    }
    if route.body is not Nothing:
        schema = models[route.body, "validation"]
        operation["requestBody"] = {"required": True, "content": _json(schema)}
    return operation


def _responses(route: AnyRoute[Any], models: Models, errors: dict[int, str]) -> Document:
    schema = models[route.answer, "serialization"]
    good = {"description": route.summary, "content": _json(schema)}
    bad = {
        str(status): {"description": text, "content": _json({"type": "object"})}
        for status, text in errors.items()
    }
    return {str(route.status): good, **bad}


def _versions(models: Models) -> Document:
    return {
        "operationId": "list_versions",
        "summary": "List the versions of the API; without authentication",
        "responses": {
            "200": {
                "description": "the versions",
                "content": _json(models[VersionsResponse, "serialization"]),
            },
            "404": {"description": SCP_ERRORS[404], "content": _json({"type": "object"})},
        },
    }


def _place() -> list[Document]:
    environments = sorted({place.environment for place in PLACES})
    regions = sorted({place.region for place in PLACES})
    return [
        _path_variable("environment", {"type": "string", "enum": environments}),
        _path_variable("region", {"type": "string", "enum": regions}),
    ]


def _variables(route: AnyRoute[Any]) -> list[Document]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    return [_path_variable(name, {"type": "string", "minLength": 1}) for name in names]


def _path_variable(name: str, schema: Document) -> Document:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _parameters(route: AnyRoute[Any]) -> list[Document]:
    schema = route.query.model_json_schema()
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": field}
        for name, field in schema.get("properties", {}).items()
    ]


def _headers(root: str) -> list[Document]:
    if root != SCP_ROOT:
        return []
    schema = {"type": "string", "enum": ["multinodegpucluster 1.2"]}
    return [{"name": "Scp-Api-Version", "in": "header", "required": False, "schema": schema}]


def _security(root: str) -> list[Document]:
    names = {SCP_ROOT: SCP_HEADERS, NSML_ROOT: NSML_HEADERS}.get(root, ())
    return [{name: [] for name in names}] if names else []


def _security_schemes() -> Document:
    names = (*SCP_HEADERS, *NSML_HEADERS)
    return {name: {"type": "apiKey", "in": "header", "name": name} for name in names}


def _json(schema: Document) -> Document:
    return {"application/json": {"schema": schema}}
