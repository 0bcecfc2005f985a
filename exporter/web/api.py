"""What the exporter knows, as JSON, and the configuration that it follows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from aiohttp import web

from exporter import objects
from exporter.app import Application
from exporter.config.writing import effective
from exporter.objects import Moment, Object
from exporter.snapshots import Snapshot
from exporter.web.documents import JSON, Documents, json_document
from exporter.web.sending import Handler, plain

_LISTS: Final[Mapping[str, Callable[[Iterable[Snapshot], Moment], Iterator[Object]]]] = {
    "nodes": objects.nodes,
    "fabrics": objects.fabrics,
    "runs": objects.runs,
}
# Not YAML's own type: a browser would save it instead of showing it.
_TEXT: Final = "text/plain; charset=utf-8"


def routes(application: Application) -> list[web.RouteDef]:
    """Return the pages below `/api/v1/`, and `/config`."""
    documents = Documents()

    async def targets(request: web.Request) -> web.Response:
        # At once, for a poll that ends meanwhile would be told by halves.
        found = list(_targets(application))
        return await documents.answer(request, JSON, partial(json_document, "targets", found))

    def listed(name: str) -> Handler:
        async def handler(request: web.Request) -> web.Response:
            moment = Moment(application.clock.wall(), application.clock.monotonic())
            found = _LISTS[name](application.snapshots, moment)
            return await documents.answer(request, JSON, partial(json_document, name, found))

        return handler

    async def config(request: web.Request) -> web.Response:
        in_force = application.config
        if in_force is None:
            return plain("there is no configuration yet", status=503)

        def write() -> bytes:
            return application.redactor(effective(in_force)).encode()

        return await documents.answer(request, _TEXT, write)

    return [
        web.get("/api/v1/targets", targets),
        *(web.get(f"/api/v1/{name}", listed(name)) for name in _LISTS),
        web.get("/config", config),
    ]


def _targets(application: Application) -> Iterator[Object]:
    """Yield how each target's polls went, no secret in its last error."""
    for poller in application.pollers:
        told = objects.target(poller.snapshot, poller.collector.pace.interval)
        if told["last_error"]:
            told["last_error"]["message"] = application.redactor(told["last_error"]["message"])
        yield told
