"""The HTTP server: which page is answered by what."""

from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from exporter.app import Application
from exporter.web import lifecycle, status
from exporter.web.scrapes import Scrapes
from exporter.web.sending import cut_off

_MAX_REQUEST_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """What the flags say of the server."""

    addresses: Sequence[str]
    telemetry_path: str = "/metrics"
    max_requests: int = 40
    reload: lifecycle.Reload | None = None


class Server:
    """Answer HTTP for one application."""

    def __init__(self, application: Application, options: Options) -> None:
        self.scrapes = Scrapes(application, options.max_requests)
        self._application = application
        self._options = options

    def web_application(self) -> web.Application:
        """Return the aiohttp application with all routes."""
        path = self._options.telemetry_path
        server = web.Application(middlewares=[cut_off], client_max_size=_MAX_REQUEST_BYTES)
        server.add_routes([web.get(path, self.scrapes.metrics)])
        server.add_routes(lifecycle.routes(self._application, self._options.reload))
        if path != "/":
            server.add_routes(status.routes(path))
        return server
