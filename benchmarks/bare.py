"""The least that can serve a page: `python -m benchmarks.bare PLAIN GZIPPED`, both files.

An aiohttp handler that hands out the same bytes from memory. No scrape can cost less.
"""

import asyncio
import sys
from pathlib import Path

from aiohttp import web


async def _serve(plain: bytes, gzipped: bytes) -> None:
    async def page(request: web.Request) -> web.Response:
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=gzipped, headers={"Content-Encoding": "gzip"})
        return web.Response(body=plain)

    server = web.Application()
    server.router.add_get("/metrics", page)
    runner = web.AppRunner(server, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]).read_bytes()))
