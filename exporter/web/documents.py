"""Longer answers: written in a thread, one at a time, compressed where that is accepted."""

import asyncio
import gzip
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from aiohttp import web

from exporter.negotiation import accepts_gzip
from exporter.web.sending import send

JSON: Final = "application/json"

_LEAST_COMPRESSED_BYTES: Final = 1024
_FAST: Final = 1


def json_list(objects: Iterable[Any]) -> bytes:
    """Write objects as a JSON list; one by one, so that other threads get their turn."""
    encode = msgspec.json.Encoder().encode
    return b"[" + b",\n".join([encode(each) for each in objects]) + b"]"


def json_document(name: str, objects: Iterable[Any]) -> bytes:
    """Write a JSON object with one field, the list of the objects."""
    return b"{%b:%b}" % (msgspec.json.encode(name), json_list(objects))


class Documents:
    """Answers that take long to write.

    Of one set one is written at a time, so that a crowd of readers takes one thread at most
    from those that polls need; and so many are held at once, for who reads them may be slow.
    """

    def __init__(self, most: int = 40) -> None:
        self._writing = asyncio.Lock()
        self._held = asyncio.Semaphore(most)

    async def answer(
        self, request: web.Request, content_type: str, write: Callable[[], bytes]
    ) -> web.Response:
        """Send what `write` writes, which nobody may keep; what it raises is raised."""
        packed = accepts_gzip(",".join(request.headers.getall("Accept-Encoding", ())))
        headers = {
            "Content-Type": content_type,
            "Cache-Control": "no-store",
            "Vary": "Accept-Encoding",
        }
        async with self._held:
            async with self._writing:
                body = await asyncio.to_thread(write)
                if packed and len(body) >= _LEAST_COMPRESSED_BYTES:
                    headers["Content-Encoding"] = "gzip"
                    body = await asyncio.to_thread(gzip.compress, body, _FAST, mtime=0)
            response = web.Response(body=body, headers=headers)
            await send(request, response)
        return response
