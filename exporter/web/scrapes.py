"""The page for Prometheus."""

import asyncio
from collections.abc import AsyncIterator, Iterable

from aiohttp import web

from exporter.app import Application
from exporter.negotiation import accepts_gzip, content_type
from exporter.web.sending import send


class Scrapes:
    """Serve the exposition, to so many readers at once at most; 0 is no limit.

    `now` is the number of readers that are being served.
    """

    def __init__(self, application: Application, most: int) -> None:
        self.now = 0
        self._application = application
        self._most = most

    async def metrics(self, request: web.Request) -> web.StreamResponse:
        """Serve the exposition."""
        if self._most and self.now >= self._most:
            raise web.HTTPServiceUnavailable(text=f"more than {self._most} scrapes at once\n")
        self.now += 1
        try:
            response = self._page(request)
            await send(request, response)
        finally:
            self.now -= 1
        return response

    def _page(self, request: web.Request) -> web.Response:
        page = self._application.page(content_type(_joined(request, "Accept")))
        self._application.note_served(page)
        headers = {"Content-Type": page.content_type, "Vary": "Accept, Accept-Encoding"}
        if accepts_gzip(_joined(request, "Accept-Encoding")):
            parts = page.gzipped()
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(sum(map(len, parts)))
            return web.Response(body=_sent(parts), headers=headers)
        headers["Content-Length"] = str(page.size)
        return web.Response(body=_sent(page.chunks()), headers=headers)


async def _sent(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """Yield chunk after chunk; a reader that takes them all at once holds nobody else up."""
    for number, chunk in enumerate(chunks):
        if number:
            await asyncio.sleep(0)
        yield chunk


def _joined(request: web.Request, header: str) -> str:
    return ",".join(request.headers.getall(header, ()))
