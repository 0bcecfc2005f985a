"""The HTTP server: which page is answered by what."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from exporter.app import Application
from exporter.web import api, files, headers, lifecycle, sd, status
from exporter.web.access import Access
from exporter.web.connections import timed
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
    web_config: Path | None = None


class Server:
    """Answer HTTP for one application.

    Raises WebConfigError where there is a web configuration file that can't be used.
    """

    def __init__(self, application: Application, options: Options) -> None:
        self.scrapes = Scrapes(application, options.max_requests)
        self._application = application
        self._options = options
        self._access = Access(options.web_config, application.clock.monotonic)

    @property
    def tls(self) -> ssl.SSLContext | None:
        """What to listen with, where the web configuration file has TLS."""
        return self._access.tls

    def web_application(self) -> web.Application:
        """Return the aiohttp application with all routes."""
        path = self._options.telemetry_path
        middlewares = [timed, cut_off, self._access.middleware()]
        server = web.Application(middlewares=middlewares, client_max_size=_MAX_REQUEST_BYTES)
        server.on_response_prepare.append(headers.completion(lambda: self._access.config))
        server.add_routes([web.get(path, self.scrapes.metrics)])
        server.add_routes(lifecycle.routes(self._application, self._options.reload))
        server.add_routes(api.routes(self._application))
        server.add_routes(sd.routes(self._application))
        server.add_routes(files.routes())
        if path != "/":
            server.add_routes(status.routes(path))
        return server
