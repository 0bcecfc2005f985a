"""A cloud that answers from memory: `python -m benchmarks.cloud FLEET CHANGE`.

FLEET is a file that `fleet.save` wrote. The cloud speaks the paths of one
region, checks no signature, and changes its nodes with each walk over their list, in one
of the ways of `fleet.CHANGES`.
"""

import asyncio
import sys
from itertools import cycle
from pathlib import Path

from aiohttp import web

from benchmarks.fleet import CHANGES, ROOT, Fleet, load
from exporter.clouds.scp import api

_VERSIONS = 8


class Cloud:
    """Answers for one fleet."""

    def __init__(self, fleet: Fleet, change: str) -> None:
        self._pages = dict(fleet.pages)
        versions = 1 if change == CHANGES[0] else _VERSIONS
        self._versions = cycle([fleet.version(change, number) for number in range(versions)])

    async def answer(self, asked: web.BaseRequest) -> web.Response:
        """Answer with a page of a list."""
        path, page = asked.path.removeprefix(ROOT), int(asked.query.get("page", 0))
        if path == api.NODES_PATH and page == 0:
            self._pages[path] = next(self._versions)
        pages = self._pages.get(path)
        if pages is None:
            return web.Response(status=404)
        return web.Response(body=pages[min(page, len(pages) - 1)], content_type="application/json")


async def _serve(cloud: Cloud) -> None:
    runner = web.ServerRunner(web.Server(cloud.answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Cloud(load(Path(sys.argv[1])), sys.argv[2])))
