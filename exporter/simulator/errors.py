"""The error answers of both clouds, in the shapes that each part of them really uses.

SCP has a gateway before the service, and the two speak differently; NSML has one way of speaking
that comes spelt in several.
"""

import datetime as dt

from exporter.simulator.calls import Answer, Call, as_json
from exporter.simulator.facts import Facts

SERVICE_CODES = {
    400: "ValidationError",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    429: "TooManyRequests",
    500: "InternalServerError",
}
NSML_CODES = {
    400: ("100", "Bad Request Exception"),
    401: ("200", "Authentication Failed"),
    403: ("230", "Forbidden"),
    404: ("300", "Not Found Exception"),
    405: ("100", "Bad Request Exception"),
    413: ("430", "Request Entity Too Large"),
    429: ("420", "Rate Limited"),
    500: ("900", "Unexpected Error"),
    503: ("500", "Endpoint Error"),
    504: ("510", "Endpoint Timeout"),
}
NOT_ENTITLED = (
    "The account is not entitled to this service. Subscribe to it in the service catalog."
)


class Refused(Exception):  # noqa: N818  # it is an answer, not a fault of the program
    """A request that gets an error answer: status, reasons and, for a 405, what is allowed."""

    def __init__(self, status: int, *reasons: str, allow: str = "") -> None:
        super().__init__(status, *reasons)
        self.status = status
        self.reasons = reasons
        self.allow = allow

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that go with the answer."""
        return {"Allow": self.allow} if self.allow else {}


def scp_service(call: Call, refused: Refused, action: str | None = None) -> Answer:
    """Answer as the SCP service behind the gateway; `action` names a missing permission."""
    code = SERVICE_CODES.get(refused.status, "Error")
    error = {
        "code": code,
        "title": code,
        "detail": list(refused.reasons),
        "status": refused.status,
        "request_id": f"req-{call.id}",
        "global_request_id": f"req-{call.id}",
        "links": [],
        "related_resources": [],
        "response": {"action_name": action} if action else None,
    }
    answer = as_json(refused.status, {"errors": [error]})
    answer.headers.update(refused.headers)
    return answer


def scp_not_found(call: Call, wall: float) -> Answer:
    """Answer as the SCP gateway to what it can't route: no authentication headers, no such API."""
    at = dt.datetime.fromtimestamp(wall, dt.UTC).isoformat(timespec="milliseconds")
    return as_json(
        404,
        {
            "timestamp": at,
            "path": call.path,
            "status": 404,
            "error": "Not Found",
            "requestId": call.id[:8],
        },
    )


def scp_unauthorized(name: str, message: str) -> Answer:
    """Answer as the SCP gateway to a request that it does not let through."""
    return as_json(401, {"status": "UNAUTHORIZED", "name": name, "message": message})


def scp_bad_signature(facts: Facts, message: str) -> Answer:
    """Answer as the SCP gateway to a signature that does not hold."""
    if facts.scp_bad_signature == "text":
        return Answer(401, b"HmacValidFail", "text/plain")
    return scp_unauthorized("HmacValidFail", message)


def scp_not_entitled() -> Answer:
    """Answer as the SCP gateway to an account that has not subscribed to the service."""
    return scp_unauthorized("Request was rejected by gateway", NOT_ENTITLED)


def nsml(facts: Facts, refused: Refused, code: str = "") -> Answer:
    """Answer as NSML and its gateway do."""
    usual, message = NSML_CODES.get(refused.status, ("900", "Unexpected Error"))
    details = "; ".join(refused.reasons)
    error: dict[str, object] = {
        "errorCode": code or usual,
        "message": message,
        "details": details,
    }
    if facts.nsml_errors == "flat_number":
        error["errorCode"] = int(code or usual)
    document = {"error": error} if facts.nsml_errors == "nested" else error
    answer = as_json(refused.status, document)
    answer.headers.update(refused.headers)
    return answer
