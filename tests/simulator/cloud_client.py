"""A client of the simulated clouds that signs as the vendors' documentation says.

It shares no code with the exporter or the simulator, so that an error in one shows in the other.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import yarl

from exporter.simulator.server import Simulator

START = 1_800_000_000.0


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> float:
        """Return the time it is set to."""
        return self.time


def digest(secret: str, text: str) -> str:
    """Sign a text with HMAC-SHA256, in base64."""
    return base64.b64encode(hmac.digest(secret.encode(), text.encode(), hashlib.sha256)).decode()


async def until_asked(simulator: Simulator) -> None:
    """Wait until the simulator has got a request."""
    while not simulator.requests:  # noqa: ASYNC110  # it has no event for that
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Reply:
    """An answer that was read whole."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:  # noqa: ANN401  # a document of whatever shape
        """Return the body as JSON."""
        return json.loads(self.text)

    @property
    def detail(self) -> str:
        """Return the reasons in an error of the SCP service."""
        return "; ".join(self.json["errors"][0]["detail"])


@dataclass
class Client:
    """Calls both clouds with valid signatures, which a test can spoil by `headers`."""

    simulator: Simulator
    clock: Callable[[], float]
    session: aiohttp.ClientSession | None = None
    place: str = "e/kr-west1"

    def scp_headers(self, method: str, url: str, account_id: str = "") -> dict[str, str]:
        """Return the headers that authenticate a request to SCP."""
        keys, at = self.simulator.credentials, str(int(self.clock() * 1000))
        text = method + url + at + keys["SCP_ACCESS_KEY"] + account_id + "Openapi"
        return {
            "Scp-Accesskey": keys["SCP_ACCESS_KEY"],
            "Scp-Signature": digest(keys["SCP_SECRET_KEY"], text),
            "Scp-Timestamp": at,
            "Scp-ClientType": "Openapi",
            "Scp-Api-Version": "multinodegpucluster 1.2",
            **({"Scp-AccountId": account_id} if account_id else {}),
        }

    def nsml_headers(self, method: str, target: str) -> dict[str, str]:
        """Return the headers that authenticate a request to NSML."""
        keys, at = self.simulator.credentials, str(int(self.clock() * 1000))
        text = f"{method} {target}\n{at}\n{keys['NCP_ACCESS_KEY']}"
        return {
            "x-ncp-iam-access-key": keys["NCP_ACCESS_KEY"],
            "x-ncp-apigw-signature-v2": digest(keys["NCP_SECRET_KEY"], text),
            "x-ncp-apigw-timestamp": at,
            "x-ncp-apigw-api-key": keys["NCP_API_KEY"],
        }

    async def scp(
        self, path: str, method: str = "GET", body: object = None, place: str | None = None
    ) -> Reply:
        """Call SCP: `path` is the one below the region, with its query."""
        url = f"{self.simulator.url}/scp/{place or self.place}{path}"
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = self.scp_headers(method, url)
        return await self.send(method, url, headers, None if body is None else data)

    async def nsml(self, path: str) -> Reply:
        """Read from NSML: `path` is the one below `/nsml/v1`, with its query."""
        target = f"/nsml/v1{path}"
        return await self.send("GET", self.simulator.url + target, self.nsml_headers("GET", target))

    async def own(self, path: str, method: str = "GET", body: object = None) -> Reply:
        """Call the simulator's own interface."""
        data = None if body is None else json.dumps(body).encode()
        return await self.send(method, self.simulator.url + path, {}, data)

    async def send(
        self, method: str, url: str, headers: Mapping[str, str], data: bytes | None = None
    ) -> Reply:
        """Send a request as it stands, byte for byte."""
        assert self.session is not None, "a client that only signs"
        async with self.session.request(
            method, yarl.URL(url, encoded=True), headers=headers, data=data
        ) as response:
            text = (await response.read()).decode()
            return Reply(response.status, response.headers.copy(), text)
