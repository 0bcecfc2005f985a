"""Nodes for Prometheus' HTTP service discovery."""

from typing import Final

from aiohttp import web

from exporter import logs
from exporter.app import Application
from exporter.discovery import Answer, NotListedYet, answer
from exporter.questions import GPU_NODES, RUN_NODES, BadQuestion, Kind, question
from exporter.web.documents import JSON, Documents, json_list
from exporter.web.sending import Handler, plain

_MOST_TOLD: Final = 1000
"""Addresses that are logged; a list that goes on changing does not fill the log."""

_log = logs.get("discovery")


def routes(application: Application) -> list[web.RouteDef]:
    """Return the pages below `/sd/`."""
    documents = Documents()
    told: set[str] = set()

    def discovered(kind: Kind) -> Handler:
        async def handler(request: web.Request) -> web.Response:
            if application.config is None:
                return plain("there is no configuration yet", status=503)

            def write() -> bytes:
                found = answer(question(kind, request.query.items()), application.snapshots)
                _tell(found, told)
                return json_list(found.groups)

            try:
                return await documents.answer(request, JSON, write)
            except BadQuestion as bad:
                return plain(str(bad), status=400)
            except NotListedYet as missing:
                return plain(str(missing), status=503)

        return handler

    return [
        web.get("/sd/gpu-nodes", discovered(GPU_NODES)),
        web.get("/sd/run-nodes", discovered(RUN_NODES)),
    ]


def _tell(found: Answer, told: set[str]) -> None:
    """Log each shared address once."""
    for address, nodes in found.shared.items():
        if address not in told and len(told) < _MOST_TOLD:
            told.add(address)
            _log.warning(
                "left out an address that several nodes share", address=address, nodes=nodes
            )
