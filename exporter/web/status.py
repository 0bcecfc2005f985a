"""The page for people."""

import html

from aiohttp import web

from exporter import __version__

_INDEX = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>GPU cluster exporter</title></head>
<body>
<h1>GPU cluster exporter</h1>
<p>Version {version}</p>
<ul>{items}</ul>
</body>
</html>
"""


def routes(telemetry_path: str) -> list[web.RouteDef]:
    """Return the page that shows what can be read here."""
    links = (telemetry_path, "/-/healthy", "/-/ready")
    items = "".join(
        f'<li><a href="{html.escape(link)}">{html.escape(link)}</a></li>' for link in links
    )
    text = _INDEX.format(version=html.escape(__version__), items=items)

    async def index(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/html")

    return [web.get("/", index)]
