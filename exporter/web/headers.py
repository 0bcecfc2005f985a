"""Headers that every answer has."""

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from exporter.web.web_config import WebConfig

HTML_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "deny",
}
"""What a page for people has where its route says nothing else: it may load nothing."""

Prepare = Callable[[web.Request, web.StreamResponse], Awaitable[None]]


def completion(config: Callable[[], WebConfig]) -> Prepare:
    """Return what completes the headers of a response; those of the file come last and win."""

    async def complete(_: web.Request, response: web.StreamResponse) -> None:
        response.headers.popall("Server", None)  # it would tell the versions of Python and aiohttp
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        if response.content_type == "text/html":
            for name, value in HTML_HEADERS.items():
                response.headers.setdefault(name, value)
        response.headers.update(config().headers)

    return complete
