"""How requests to Samsung Cloud Platform are authenticated."""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exporter.clouds.http import Refusal
from exporter.clouds.scp.errors import refusal

CLIENT_TYPE = "Openapi"


def signature(  # noqa: PLR0913, PLR0917 - the parts of the formula, none of them optional
    secret_key: str, access_key: str, account_id: str, method: str, url: str, timestamp: str
) -> str:
    """Return the value of Scp-Signature for a request with this very URL.

    The timestamp is Unix milliseconds, the text that Scp-Timestamp holds; the account id
    is empty where no Scp-AccountId is sent.
    """
    message = method + url + timestamp + access_key + account_id + CLIENT_TYPE
    digest = hmac.digest(secret_key.encode(), message.encode(), hashlib.sha256)
    return base64.b64encode(digest).decode()


@dataclass(frozen=True, slots=True)
class ScpDialect:
    """Sign with the keys of one account; `keys` gives the present ones at each request."""

    keys: Callable[[], Mapping[str, str]]
    api_version: str
    account_id: str = ""
    request_id_header: str = "scp-request-id"

    def headers(self, method: str, url: str, timestamp_ms: int) -> Mapping[str, str]:
        """Return the headers that authenticate a request for exactly this URL."""
        keys, timestamp = self.keys(), str(timestamp_ms)
        headers = {
            "Accept-Language": "en-US",
            "Scp-Accesskey": keys["access_key"],
            "Scp-Api-Version": f"multinodegpucluster {self.api_version}",
            "Scp-ClientType": CLIENT_TYPE,
            "Scp-Timestamp": timestamp,
            "Scp-Signature": signature(
                keys["secret_key"], keys["access_key"], self.account_id, method, url, timestamp
            ),
        }
        if self.account_id:
            headers["Scp-AccountId"] = self.account_id
        return headers

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Read an error answer of the service or of its gateway."""
        return refusal(status, body)
