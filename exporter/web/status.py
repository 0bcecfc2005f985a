"""The page for people, and the files that it is made of.

Nothing comes from elsewhere, and every address is relative: the page works without the
internet, below another path of a proxy, and under a policy that allows nothing inline.
"""

import hashlib
import html
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from string import Template
from typing import Final

from aiohttp import web

from exporter import __version__

PAGE_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Only the page's own files run in it, and no other page may frame it."""

_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_GOOD: Final = "private, max-age=31536000, immutable"
_DIGITS: Final = 16


def routes(telemetry_path: str) -> list[web.RouteDef]:
    """Return the page, and its files below a name that changes with what is in them."""
    assets = _assets()
    digest = _digest(assets)
    text = _page(digest, telemetry_path)

    async def page(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/html", headers=PAGE_HEADERS)

    async def asset(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in assets:
            raise web.HTTPNotFound(text="no such file\n")
        # Two replicas of different releases may share an address: a file of another digest
        # is better than none, but nobody may keep it.
        current = request.match_info["digest"] == digest
        return _file(name, assets[name], "no-store" if not current else _FOR_GOOD)

    return [web.get("/", page), web.get("/static/{digest}/{name}", asset)]


def _page(digest: str, telemetry_path: str) -> str:
    template = Template(_folder().joinpath("index.html").read_text(encoding="utf-8"))
    values = {
        "assets": f"./static/{digest}",
        "metrics": "./" + telemetry_path.removeprefix("/"),
        "version": __version__,
    }
    return template.substitute({name: html.escape(value) for name, value in values.items()})


def _file(name: str, body: bytes, caching: str) -> web.Response:
    headers = {"Cache-Control": caching, "X-Content-Type-Options": "nosniff"}
    kind = _TYPES[PurePath(name).suffix]
    return web.Response(body=body, content_type=kind, charset="utf-8", headers=headers)


@cache
def _assets() -> Mapping[str, bytes]:
    """Return the files that the page asks for, by name."""
    found = (each for each in _folder().iterdir() if PurePath(each.name).suffix in _TYPES)
    return {each.name: each.read_bytes() for each in sorted(found, key=lambda each: each.name)}


def _digest(assets: Mapping[str, bytes]) -> str:
    """Return a name for all files as they are: modules name each other without one."""
    whole = hashlib.sha256()
    for name, body in assets.items():
        whole.update(f"{name}\0{len(body)}\0".encode())
        whole.update(body)
    return whole.hexdigest()[:_DIGITS]


def _folder() -> Traversable:
    return files("exporter.web") / "static"
