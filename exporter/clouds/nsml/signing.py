"""How requests to CLOVA NSML are authenticated: NAVER Cloud's API gateway, signature v2."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from exporter.clouds.http import Refusal
from exporter.clouds.nsml.errors import refusal


def signature(secret_key: str, access_key: str, method: str, target: str, timestamp: str) -> str:
    """Return the value of x-ncp-apigw-signature-v2.

    The target is the percent-encoded path with its query exactly as sent; the timestamp is
    Unix milliseconds, the text that x-ncp-apigw-timestamp holds.
    """
    message = f"{method} {target}\n{timestamp}\n{access_key}"
    digest = hmac.digest(secret_key.encode(), message.encode(), hashlib.sha256)
    return base64.b64encode(digest).decode()


def target_of(url: str) -> str:
    """Return the path and query of a URL, untouched."""
    parts = urlsplit(url)
    return parts.path + ("?" + parts.query if parts.query else "")


@dataclass(frozen=True, slots=True)
class NsmlDialect:
    """Sign with the keys of one account; `keys` gives the present ones at each request."""

    keys: Callable[[], Mapping[str, str]]
    request_id_header: str = "x-ncp-trace-id"

    def headers(self, method: str, url: str, timestamp_ms: int) -> Mapping[str, str]:
        """Return the headers that authenticate a request for exactly this URL."""
        keys, timestamp = self.keys(), str(timestamp_ms)
        return {
            "x-ncp-apigw-timestamp": timestamp,
            "x-ncp-iam-access-key": keys["access_key"],
            "x-ncp-apigw-signature-v2": signature(
                keys["secret_key"], keys["access_key"], method, target_of(url), timestamp
            ),
            "x-ncp-apigw-api-key": keys["api_key"],
        }

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Read an error answer of the service or of its gateway."""
        return refusal(status, body)
