"""Whether a request is signed as the vendors demand: checked over its raw URL."""

import base64
import hashlib
import hmac

from exporter.simulator.calls import Call
from exporter.simulator.keys import Keys

MOST_SKEW_SECONDS = 300.0
SCP_HEADERS = ("Scp-Accesskey", "Scp-Signature", "Scp-Timestamp", "Scp-ClientType")
NSML_HEADERS = (
    "x-ncp-iam-access-key",
    "x-ncp-apigw-signature-v2",
    "x-ncp-apigw-timestamp",
    "x-ncp-apigw-api-key",
)


class BadSignature(Exception):  # noqa: N818  # what the caller got wrong, in a sentence
    """Authentication that does not hold; its text says why, without any secret."""


def check_scp(call: Call, keys: Keys, wall: float) -> None:
    """Check the signature of a request to SCP; raise BadSignature where it does not hold."""
    access, given, timestamp, client = (call.headers.get(name, "") for name in SCP_HEADERS)
    _check_time(timestamp, wall)
    account = call.headers.get("Scp-AccountId", "")
    text = call.method + call.origin + call.target + timestamp + access + account + client
    _check(access, keys.scp.access, given, _signature(keys.scp.secret, text))


def check_nsml(call: Call, keys: Keys, wall: float) -> None:
    """Check signature and API key of a request to NSML; raise BadSignature where they fail."""
    access, given, timestamp, api_key = (call.headers.get(name, "") for name in NSML_HEADERS)
    _check_time(timestamp, wall)
    text = f"{call.method} {call.target}\n{timestamp}\n{access}"
    _check(access, keys.nsml.access, given, _signature(keys.nsml.secret, text))
    if not _equal(api_key, keys.api_key):
        raise BadSignature("The API key is not valid")


def is_scp_anonymous(call: Call) -> bool:
    """Say whether a header that the SCP gateway routes by is missing."""
    return any(name not in call.headers for name in SCP_HEADERS)


def _check_time(timestamp: str, wall: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < len("1" * 16)):
        raise BadSignature("The timestamp is not a number of milliseconds")
    if abs(int(timestamp) / 1000 - wall) >= MOST_SKEW_SECONDS:
        raise BadSignature("The timestamp is more than five minutes off")


def _check(access: str, known: str, given: str, due: str) -> None:
    if not _equal(access, known):
        raise BadSignature("The access key is not known")
    if not _equal(given, due):
        raise BadSignature("The signature does not match the request")


def _signature(secret: str, text: str) -> str:
    digest = hmac.new(secret.encode(), _bytes(text), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(_bytes(one), _bytes(other))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
