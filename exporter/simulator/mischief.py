"""What faults do to answers: put another in its place, or spoil what it says."""

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from email.utils import format_datetime
from typing import Any

from exporter.simulator import errors
from exporter.simulator import faults as kinds
from exporter.simulator.calls import Answer, Call, as_json
from exporter.simulator.errors import Refused
from exporter.simulator.faults import Fault
from exporter.simulator.world import World

Document = dict[str, Any]
PORTAL = b"<!doctype html><html><head><title>Sign in</title></head><body>Sign in</body></html>"
BAD_SIGNATURE = "The signature does not match the request"
NO_LEAVE = "The policy of the account does not allow this action"
TOTALS = ("count", "totalCount")
STATES = ("state", "status")


def answer_instead(world: World, call: Call) -> Answer | None:
    """Return the answer that a fault puts in the place of the real one, if any does."""
    for strike in call.strikes:
        answer = _replacement(strike.fault, world, call)
        if answer is not None:
            return answer
    return None


def _replacement(fault: Fault, world: World, call: Call) -> Answer | None:
    make = REPLACEMENTS.get(type(fault))
    return make(fault, world, call) if make else None


def _status(fault: kinds.Status, _world: World, _call: Call) -> Answer:
    return Answer(fault.status, fault.body.encode(), fault.content_type, dict(fault.headers))


def _html(_fault: kinds.Html, _world: World, _call: Call) -> Answer:
    return Answer(200, PORTAL, "text/html")


def _error_body(_fault: kinds.ErrorBody, world: World, call: Call) -> Answer:
    return replace(_error(world, call, Refused(500, "Something went wrong")), status=200)


def _children_gone(_fault: kinds.ChildrenGone, world: World, call: Call) -> Answer | None:
    return _error(world, call, Refused(404, "Not found")) if _is_child(call) else None


def _error(world: World, call: Call, refused: Refused) -> Answer:
    if call.segments[0] == "scp":
        return errors.scp_service(call, refused)
    return errors.nsml(world.facts, refused)


def _is_child(call: Call) -> bool:
    if call.segments[-1] == "node-pools":
        return "cluster_fabric_id" in call.query
    return call.segments[-1] == "nodes"


def _rate_limit(fault: kinds.RateLimit, world: World, call: Call) -> Answer:
    answer = _error(world, call, Refused(429, "Too Many Requests"))
    forms = {
        "seconds": str(fault.seconds),
        "date": http_date(world.timeline.wall + fault.seconds),
        "nonsense": "in a while",
    }
    if fault.retry_after in forms:
        answer.headers["Retry-After"] = forms[fault.retry_after]
    return answer


def _refusal(fault: kinds.Refuse, world: World, call: Call) -> Answer:
    return (_scp_refusal if call.segments[0] == "scp" else _nsml_refusal)(fault, world, call)


def _scp_refusal(fault: kinds.Refuse, world: World, call: Call) -> Answer:
    if fault.reason == "signature":
        return errors.scp_bad_signature(world.facts, BAD_SIGNATURE)
    if fault.reason == "not_entitled":
        return errors.scp_not_entitled()
    return errors.scp_service(call, Refused(403, NO_LEAVE), "multinodegpucluster:ListGpuNodes")


def _nsml_refusal(fault: kinds.Refuse, world: World, _call: Call) -> Answer:
    if fault.reason == "signature":
        return errors.nsml(world.facts, Refused(401, BAD_SIGNATURE))
    if fault.reason == "not_entitled":
        return errors.nsml(world.facts, Refused(401, "No subscription"), code="210")
    return errors.nsml(world.facts, Refused(403, NO_LEAVE))


REPLACEMENTS: dict[type[Fault], Callable[[Any, World, Call], Answer | None]] = {
    kinds.Status: _status,
    kinds.Html: _html,
    kinds.ErrorBody: _error_body,
    kinds.ChildrenGone: _children_gone,
    kinds.RateLimit: _rate_limit,
    kinds.Refuse: _refusal,
}


def http_date(unix: float) -> str:
    """Write a time as HTTP headers do."""
    return format_datetime(dt.datetime.fromtimestamp(int(unix), dt.UTC), usegmt=True)


def spoil(answer: Answer, call: Call) -> Answer:
    """Return the answer as the faults that befall the call leave it."""
    for strike in call.strikes:
        answer = _spoilt(strike.fault, answer)
    return answer


def _spoilt(fault: Fault, answer: Answer) -> Answer:
    match fault:
        case kinds.DateSkew():
            return replace(answer, date_skew=answer.date_skew + fault.seconds)
        case kinds.Oversize():
            return replace(answer, body=answer.body + b" " * (fault.size - len(answer.body)))
    change = CHANGES.get(type(fault))
    if change is None or answer.status != 200:  # noqa: PLR2004  # only a good answer has rows
        return answer
    document = json.loads(answer.body)
    change(document, fault)
    return replace(answer, body=as_json(answer.status, document).body)


def _list_name(document: Document) -> str | None:
    """Return the name of the document's list; None for a single object."""
    if "id" in document or "nodeId" in document:
        return None
    return next((name for name, value in document.items() if isinstance(value, list)), None)


def _rows(document: Document, wanted: list[int] | None = None) -> list[Document]:
    name = _list_name(document)
    rows: list[Document] = document[name] if name else [document]
    if wanted is None:
        return rows
    return [row for number, row in enumerate(rows) if number in wanted]


def _null_list(document: Document, _fault: kinds.NullList) -> None:
    name = _list_name(document)
    if name:
        document[name] = None


def _miscount(document: Document, fault: kinds.Count) -> None:
    for name in TOTALS:
        total = document.pop(name, None)
        if total is not None and fault.mode != "missing":
            wrong = {"null": None, "text": str(total), "off": total + fault.by}
            document[name] = wrong[fault.mode]


def _rename(document: Document, fault: kinds.Rename) -> None:
    for row in _rows(document):
        if fault.field in row:
            row[fault.to] = row.pop(fault.field)


def _set_states(document: Document, fault: kinds.States) -> None:
    for number, row in enumerate(_rows(document, fault.rows)):
        for name in STATES:
            if name in row:
                row[name] = fault.values[number % len(fault.values)]


def _set_field(document: Document, fault: kinds.FieldValue) -> None:
    for number, row in enumerate(_rows(document, fault.rows)):
        row[fault.field] = fault.values[number % len(fault.values)]


def _drop(document: Document, fault: kinds.FieldMissing) -> None:
    for row in _rows(document, fault.rows):
        row.pop(fault.field, None)


CHANGES: dict[type[Fault], Callable[[Document, Any], None]] = {
    kinds.NullList: _null_list,
    kinds.Count: _miscount,
    kinds.Rename: _rename,
    kinds.States: _set_states,
    kinds.FieldValue: _set_field,
    kinds.FieldMissing: _drop,
}
