"""The ways a call to a cloud can fail, as classes.

The class decides what follows: the reason label it is counted under, and whether the
same request may be sent again within the poll. Every failure of a call is raised as one
of these, so that nothing above this layer reads a status code.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar


class Failure(Exception):  # noqa: N818 - a way to end, which is not always an error
    """A call, or a whole poll, that did not give its answer.

    `wait` is the time in seconds that the server asked for before the next request, and
    `request_id` what its support asks for. What is `for_all` would be answered to every other
    request of the round as well, which then need not be made.
    """

    reason: ClassVar[str]
    retried: ClassVar[bool] = False
    for_all: ClassVar[bool] = False

    def __init__(self, message: str, *, wait: float | None = None, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.wait = wait
        self.request_id = request_id


class AuthFailed(Failure):
    """The credentials or the signature were refused."""

    reason = "auth"
    for_all = True


class Forbidden(Failure):
    """The credentials are good but lack a permission or a subscription."""

    reason = "forbidden"


class NotFound(Failure):
    """There is no such thing: of a listed object's children, evidence that it is gone.

    That is said by the service itself; one that says so of all is not believed.
    """

    reason = "not_found"


class NoSuchPath(Failure):
    """A 404 that is not the service's own: of a gateway or proxy that knows no such path."""

    reason = "not_found"


class RateLimited(Failure):
    """Too many requests."""

    reason = "rate_limited"
    retried = True
    for_all = True


class TimedOut(Failure):
    """A request or a whole poll took longer than it may."""

    reason = "timeout"
    retried = True


class ConnectionFailed(Failure):
    """The server, or the proxy before it, could not be reached or hung up."""

    reason = "connection"
    retried = True


class TlsFailed(Failure):
    """The server's certificate was not trusted, or the handshake failed."""

    reason = "tls"


class BadRequest(Failure):
    """The server refused the request as such."""

    reason = "bad_request"

    def __init__(
        self, message: str, *, status: int, wait: float | None = None, request_id: str = ""
    ) -> None:
        super().__init__(message, wait=wait, request_id=request_id)
        self.status = status


class ServerError(Failure):
    """The server failed."""

    reason = "server_error"
    retried = True


class BadResponse(Failure):
    """An answer that is not the documented one."""

    reason = "bad_response"


class Truncated(BadResponse):
    """An answer that ended too early; the next one may be whole."""

    retried = True


class Partial(Failure):
    """A poll that saw some of what it asked for."""

    reason = "partial"


class InternalError(Failure):
    """A defect of the exporter itself."""

    reason = "internal"


def raise_where_nothing_answered(
    answered: int, failures: Sequence[Failure], missing: Sequence[NotFound]
) -> None:
    """Raise the first failure of a round of calls, of which not one had an answer.

    That one thing is missing is evidence that it is gone; that all are that were just listed
    tells of an API that changed.
    """
    if not answered and (failures or len(missing) > 1):
        raise (*failures, *missing)[0]


def longest_wait(failures: Iterable[Failure]) -> float | None:
    """Return the longest wait, in seconds, that was asked for of all requests, not of one."""
    waits = (failure.wait for failure in failures if failure.for_all)
    return max((wait for wait in waits if wait is not None), default=None)


def first_problem(failures: Iterable[Failure]) -> str:
    """Return what the first of several failures was, for people."""
    return next((f"{failure.reason}: {failure.message}" for failure in failures), "")


REASONS: tuple[str, ...] = tuple(
    kind.reason
    for kind in (
        AuthFailed,
        Forbidden,
        NotFound,
        RateLimited,
        TimedOut,
        ConnectionFailed,
        TlsFailed,
        BadRequest,
        ServerError,
        BadResponse,
        Partial,
        InternalError,
    )
)
"""Every value of the label `reason`, in the order of the documentation."""
