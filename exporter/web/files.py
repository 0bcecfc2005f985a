"""The bundled dashboards and rule files, to be taken along one by one."""

import asyncio
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Final
from urllib.parse import quote

from aiohttp import web

from exporter import bundle
from exporter.web.documents import JSON, Documents
from exporter.web.sending import Handler

_INDEX: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - GPU cluster exporter</title>
</head>
<body>
<header><a href="../">GPU cluster exporter</a></header>
<main>
<h1>{title}</h1>
<p>{about}</p>
<ul>
{items}
</ul>
</main>
</body>
</html>
"""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the bundle, as it is shown to people."""

    name: str
    title: str
    about: str
    content_type: str


FOLDERS: Final = (
    Folder(
        "dashboards",
        "Dashboards",
        "For Grafana: Dashboards, New, Import, and upload one of these files. "
        "<code>gpu-cluster-exporter bundle DIR</code> writes them all to a directory.",
        JSON,
    ),
    Folder(
        "alerts",
        "Alert rules",
        "For Prometheus: name these files under <code>rule_files</code>. "
        "<code>gpu-cluster-exporter bundle DIR</code> writes them all to a directory.",
        "application/yaml",
    ),
)


def routes() -> list[web.RouteDef]:
    """Return an index and the files of each folder."""
    bundled, documents = bundle.files(), Documents()
    return [
        route
        for folder in FOLDERS
        for route in _routes(folder, _files_of(folder.name, bundled), documents)
    ]


def _files_of(folder: str, bundled: Mapping[str, Path]) -> Mapping[str, Path]:
    start = f"{folder}/"
    return {name.removeprefix(start): bundled[name] for name in bundled if name.startswith(start)}


def _routes(folder: Folder, files: Mapping[str, Path], documents: Documents) -> list[web.RouteDef]:
    async def short(_: web.Request) -> web.Response:
        # Relative, for the exporter may stand below a path of a proxy.
        raise web.HTTPMovedPermanently(f"{folder.name}/")

    async def index(_: web.Request) -> web.Response:
        text = await asyncio.to_thread(_index, folder, files)
        headers = {"Cache-Control": "no-store"}
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def file(request: web.Request) -> web.Response:
        path = files.get(request.match_info["name"])
        # The package may have been replaced under the running process.
        if path is None or not path.is_file():
            raise web.HTTPNotFound(text=f"no such file; see /{folder.name}/\n")
        return await documents.answer(request, folder.content_type, path.read_bytes)

    def at(path: str, handler: Handler) -> web.RouteDef:
        return web.get(f"/{folder.name}{path}", handler)

    return [at("", short), at("/", index), at("/{name}", file)]


def _index(folder: Folder, files: Mapping[str, Path]) -> str:
    there = {name: path for name, path in files.items() if path.is_file()}
    items = "\n".join(starmap(_item, there.items()))
    nothing = "<li>None came with this installation.</li>"
    return _INDEX.format(title=folder.title, about=folder.about, items=items or nothing)


def _item(name: str, path: Path) -> str:
    """Return the entry of a file, with its title where it is a dashboard that has one."""
    title = json.loads(path.read_bytes()).get("title") if path.suffix == ".json" else None
    behind = f": {html.escape(str(title))}" if title else ""
    return f'<li><a href="{quote(name)}">{html.escape(name)}</a>{behind}</li>'
