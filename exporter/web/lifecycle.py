"""What supervisors ask and order: liveness, readiness, a reload."""

from collections.abc import Awaitable, Callable

from aiohttp import web

from exporter.app import Application
from exporter.web.sending import plain

Reload = Callable[[], Awaitable[str]]
"""Read the configuration again; returns what is wrong with it, or nothing."""


def routes(application: Application, reload: Reload | None) -> list[web.RouteDef]:
    """Return the pages below `/-/`; a reload is forbidden where `reload` is None."""

    async def healthy(_: web.Request) -> web.Response:
        late = application.late()
        if late:
            return plain("no attempt for too long: " + ", ".join(late), status=503)
        return plain("healthy")

    async def ready(_: web.Request) -> web.Response:
        if not application.ready:
            return plain("the first polls have not ended yet", status=503)
        return plain("ready")

    async def reload_now(request: web.Request) -> web.Response:
        if reload is None:
            return plain("not allowed without --web.enable-lifecycle", status=403)
        if _by_a_page(request):
            return plain("a page in a browser may not order a reload", status=403)
        problem = await reload()
        return plain(problem or "reloaded", status=500 if problem else 200)

    return [
        web.get("/-/healthy", healthy),
        web.get("/-/ready", ready),
        web.post("/-/reload", reload_now),
    ]


def _by_a_page(request: web.Request) -> bool:
    """Tell whether a page in a browser sent this, of whatever site.

    No page here does; a page of another site may, also under this site's name (DNS rebinding).
    """
    return "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "none") != "none"
