"""Faults that can be set while the simulator runs: what goes wrong, and for which requests."""

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter


class Fault(BaseModel):
    """The limits that every fault has; without any it befalls every request to both clouds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cloud: Literal["scp", "nsml"] | None = None
    environment: str | None = Field(default=None, examples=["e"])
    region: str | None = Field(default=None, examples=["kr-west1"])
    method: str | None = Field(default=None, examples=["GET"])
    path: str | None = Field(
        default=None,
        description="a template (`/v1/gpu-nodes/{gpu_node_id}`), or the start of a path, below"
        " the cloud's root; with a `$` at its end that path alone",
        examples=["/v1/gpu-nodes", "/projects/{project_id}/runs/{run_name}/nodes"],
    )
    page: int | None = Field(default=None, description="only requests with this `page` parameter")
    skip: int = Field(default=0, ge=0, description="so many requests get through first")
    requests: int | None = Field(default=None, ge=1, description="it befalls so many, then ends")

    def befalls(self, aim: "Aim") -> bool:
        """Say whether a request is within the limits."""
        return (
            self.cloud in {None, aim.cloud}
            and self.environment in {None, aim.environment}
            and self.region in {None, aim.region}
            and self.method in {None, aim.method}
            and self.page in {None, aim.page}
            and self._is_path(aim)
        )

    def _is_path(self, aim: "Aim") -> bool:
        if self.path is None or self.path == aim.template:
            return True
        if self.path.endswith("$"):
            return aim.path == self.path[:-1]
        return aim.path.startswith(self.path)


class Status(Fault):
    """Answer with this status, body and headers instead."""

    kind: Literal["status"] = "status"
    status: int = Field(default=500, ge=200, le=599)
    body: str = "upstream connect error or disconnect/reset before headers"
    content_type: str = "text/plain"
    headers: dict[str, str] = {}


class Delay(Fault):
    """Answer so many seconds later."""

    kind: Literal["delay"] = "delay"
    seconds: float = Field(gt=0)


class Hang(Fault):
    """Take the request and never answer, until the fault is cleared: then hang up."""

    kind: Literal["hang"] = "hang"


class Reset(Fault):
    """Break the connection instead of answering."""

    kind: Literal["reset"] = "reset"


class Truncate(Fault):
    """Send a part of the body, then break the connection."""

    kind: Literal["truncate"] = "truncate"
    fraction: float = Field(default=0.5, ge=0, lt=1)


class Oversize(Fault):
    """Blow the body up to this many bytes with white space."""

    kind: Literal["oversize"] = "oversize"
    size: int = Field(default=65 * 2**20, ge=1)


class Html(Fault):
    """Answer 200 with a web page, as a portal before the API would."""

    kind: Literal["html"] = "html"


class ErrorBody(Fault):
    """Answer 200 with a body that is an error."""

    kind: Literal["error_body"] = "error_body"


class NullList(Fault):
    """Give null where the list should be."""

    kind: Literal["null_list"] = "null_list"


class Count(Fault):
    """Leave the total out, give it as null or text, or off by so many."""

    kind: Literal["count"] = "count"
    mode: Literal["missing", "null", "text", "off"] = "off"
    by: int = 1


class SizeFault(Fault):
    """Ignore the page size, cap it, refuse it with 400, or give every row on every page."""

    kind: Literal["size"] = "size"
    mode: Literal["ignored", "capped", "refused", "everything"] = "capped"
    limit: int = Field(default=100, ge=1)


class Rename(Fault):
    """Give a field another name in every row."""

    kind: Literal["rename"] = "rename"
    field: str
    to: str


class ChildrenGone(Fault):
    """Answer 404 for the members of something: a run's nodes, a fabric's node pool."""

    kind: Literal["children_gone"] = "children_gone"


class MovingRows(Fault):
    """Move all rows forward by `step` with every request, the first ones to the end."""

    kind: Literal["moving_rows"] = "moving_rows"
    step: int = Field(default=1, ge=1)


class OverlappingPages(Fault):
    """Begin every page after the first with the last row of the page before."""

    kind: Literal["overlapping_pages"] = "overlapping_pages"


class States(Fault):
    """Give these states, in turn, to the rows."""

    kind: Literal["states"] = "states"
    values: list[JsonValue] = Field(default=["MAINTENANCE", "Running ", "RUNNING*"], min_length=1)
    rows: list[int] | None = Field(default=None, description="counted from 0; all without it")


class FieldValue(Fault):
    """Give a field these values, in turn, in the rows: nulls, other types, whatever."""

    kind: Literal["field"] = "field"
    field: str
    values: list[JsonValue] = Field(default=[None], min_length=1)
    rows: list[int] | None = Field(default=None, description="counted from 0; all without it")


class FieldMissing(Fault):
    """Leave a field out of the rows."""

    kind: Literal["field_missing"] = "field_missing"
    field: str
    rows: list[int] | None = Field(default=None, description="counted from 0; all without it")


class RateLimit(Fault):
    """Answer 429, with a Retry-After in seconds, as a date, of nonsense, or with none."""

    kind: Literal["rate_limit"] = "rate_limit"
    retry_after: Literal["seconds", "date", "nonsense", "none"] = "seconds"
    seconds: int = Field(default=1, description="99999 is a way to say: never")


class Refuse(Fault):
    """Answer as to bad keys (401), an account without the service (401), or without leave (403)."""

    kind: Literal["refuse"] = "refuse"
    reason: Literal["signature", "not_entitled", "forbidden"] = "signature"


class DateSkew(Fault):
    """Let the Date header be so many seconds off."""

    kind: Literal["date_skew"] = "date_skew"
    seconds: float


class NodePoolsRefused(Fault):
    """Refuse with 400 to list node pools without a parameter, as the live API does."""

    kind: Literal["node_pools_refused"] = "node_pools_refused"


AnyFault = Annotated[
    Status | Delay | Hang | Reset | Truncate | Oversize | Html | ErrorBody | NullList | Count
    | SizeFault | Rename | ChildrenGone | MovingRows | OverlappingPages | States | FieldValue
    | FieldMissing | RateLimit | Refuse | DateSkew | NodePoolsRefused,
    Field(discriminator="kind"),
]  # fmt: skip
FAULTS: TypeAdapter[AnyFault] = TypeAdapter(AnyFault)


@dataclass(frozen=True, slots=True)
class Aim:
    """What a request is aimed at: all that a fault's limits look at."""

    cloud: str
    environment: str | None
    region: str | None
    method: str
    path: str
    template: str | None
    page: int | None


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault that befalls a request, for the `number`-th time."""

    fault: Fault
    number: int
    lifted: asyncio.Event


class Standing:
    """A fault in force, and how many requests it met."""

    def __init__(self, number: int, fault: Fault) -> None:
        self.id = number
        self.fault = fault
        self.met = 0
        self.lifted = asyncio.Event()

    @property
    def struck(self) -> int:
        """Return how many requests it befell."""
        return max(0, self.met - self.fault.skip)

    @property
    def spent(self) -> bool:
        """Say whether it has befallen as many requests as it was set for."""
        return self.fault.requests is not None and self.struck >= self.fault.requests


class Faults:
    """The faults in force."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._standing: dict[int, Standing] = {}

    def __iter__(self) -> Iterator[Standing]:
        return iter(self._standing.values())

    def add(self, fault: Fault) -> Standing:
        """Put a fault in force; what is returned tells its number and what it did."""
        number = next(self._numbers)
        standing = self._standing[number] = Standing(number, fault)
        return standing

    def clear(self, number: int | None = None) -> bool:
        """Lift one fault, or all; say whether there was anything to lift."""
        lifted = [one for one in self._standing.values() if number in {None, one.id}]
        for standing in lifted:
            del self._standing[standing.id]
            standing.lifted.set()
        return bool(lifted)

    def befall(self, aim: Aim) -> tuple[Strike, ...]:
        """Return the faults that befall a request, and count it against their limits."""
        return tuple(
            Strike(standing.fault, standing.struck, standing.lifted)
            for standing in self._standing.values()
            if self._meets(standing, aim)
        )

    @staticmethod
    def _meets(standing: Standing, aim: Aim) -> bool:
        if standing.spent or not standing.fault.befalls(aim):
            return False
        standing.met += 1
        return standing.struck > 0
