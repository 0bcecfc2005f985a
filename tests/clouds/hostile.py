"""Rows as no service should write them: every model's good row, and values that fit nowhere."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import fields

from exporter.clouds.nsml.models import Project, Run, RunNode
from exporter.clouds.rows import Row
from exporter.clouds.scp.models import (
    ApiVersion,
    ClusterFabric,
    GpuNode,
    Image,
    NodePool,
    Product,
)

FIXTURES = Path(__file__).parent.parent / "fixtures" / "api"

Document = dict[str, Any]


def fixture(name: str) -> bytes:
    """Return an example answer of an API page, as it stands there."""
    return (FIXTURES / name).read_bytes()


@dataclass(frozen=True)
class Kind:
    """A kind of row: its model, the answer it stands in, and what must not be broken in it."""

    model: type[Row]
    file: str
    rows: str
    ids: tuple[str, ...]
    total: str = "count"

    def good(self) -> Document:
        """Return the first row of the example."""
        row: Document = json.loads(fixture(self.file))[self.rows][0]
        return row

    def other(self, number: int) -> Document:
        """Return a good row of another object."""
        return self.good() | dict.fromkeys(self.ids, f"v9.{number}")

    def __str__(self) -> str:
        return self.model.__name__


KINDS = (
    Kind(GpuNode, "scp/gpu-nodes.json", "gpu_nodes", ("id",)),
    Kind(ClusterFabric, "scp/cluster-fabrics.json", "cluster_fabrics", ("id",)),
    Kind(NodePool, "scp/node-pools.json", "node_pools", ("node_pool_id",)),
    Kind(Product, "scp/products.json", "products", ("id",)),
    Kind(Image, "scp/images.json", "images", ("id",)),
    Kind(ApiVersion, "scp/versions.json", "versions", ("id",)),
    Kind(Project, "nsml/projects.json", "projects", ("projectId",), "totalCount"),
    Kind(Run, "nsml/runs.json", "runList", ("projectId", "runName"), "totalCount"),
    Kind(RunNode, "nsml/run-nodes.json", "nodes", ("nodeId",), "totalCount"),
)


def nested(opening: bytes, closing: bytes, depth: int) -> bytes:
    """Return JSON within JSON, so many times."""
    return opening * depth + b"0" + closing * depth


HOSTILE: dict[str, bytes] = {
    "null": b"null",
    "empty text": b'""',
    "blank text": b'" \\t "',
    "zero": b"0",
    "negative": b"-1",
    "most negative": b"-9223372036854775809",
    "huge": b"1" + b"0" * 60,
    "5000 digits": b"9" * 5000,
    "5000 digits, negative": b"-" + b"9" * 5000,
    "fraction": b"1.5",
    "NaN": b"NaN",
    "infinite": b"Infinity",
    "infinite, negative": b"-Infinity",
    "beyond a float": b"1e999",
    "true": b"true",
    "text of a number": b'"20"',
    "year 1": b'"0001-01-01T00:00:00Z"',
    "empty list": b"[]",
    "list of nulls": b"[null, null]",
    "list of all kinds": b'[1, "a", null, {}, [], true, NaN]',
    "list of bad objects": b'[{"state": 5}, {"state": "RUNNING"}, {"cluster_fabric_id": null}]',
    "empty object": b"{}",
    "object": b'{"a": {"b": null}}',
    "lone surrogate": b'"a\\ud800b"',
    "lone surrogate as a key": b'{"\\udfff": 1}',
    "bad UTF-8": b'"a\xff\xfeb"',
    "overlong UTF-8": b'"\xc0\x80"',
    "surrogate as UTF-8": b'"\xed\xa0\x80"',
    "NUL": b'"\\u0000"',
    "deep list": nested(b"[", b"]", 150),
    "deeper list": nested(b"[", b"]", 700),
    "deepest list": nested(b"[", b"]", 5_000),
    "deep object": nested(b'{"a":', b"}", 300),
    "deepest object": nested(b'{"a":', b"}", 5_000),
}
"""Values as JSON, or as near to it as a careless service comes."""

FIT_NOWHERE = ("5000 digits", "5000 digits, negative", "NaN", "infinite", "beyond a float")


def breakable(kind: Kind) -> Iterator[str]:
    """Yield the names of the fields that the model reads, as the API writes them."""
    yield from (field.encode_name for field in fields(kind.model) if " " not in field.encode_name)


def raw_row(row: Document, **replaced: bytes) -> bytes:
    """Write a row with some fields in bytes of their own."""
    fields = {name: json.dumps(value).encode() for name, value in row.items()} | replaced
    pairs = (json.dumps(name).encode() + b": " + value for name, value in fields.items())
    return b"{" + b", ".join(pairs) + b"}"


def raw_answer(kind: Kind, rows: list[bytes], total: bytes = b"null") -> bytes:
    """Write an answer of rows that are already written."""
    head = json.dumps(kind.rows).encode()
    tail = json.dumps(kind.total).encode()
    return b"{" + head + b": [" + b", ".join(rows) + b"], " + tail + b": " + total + b"}"
