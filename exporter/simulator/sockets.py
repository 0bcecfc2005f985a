"""How answers leave over the wire: late, never, in part, or as they should."""

import asyncio
import contextlib
import socket
import struct

from aiohttp import web

from exporter.simulator.calls import Answer, Call
from exporter.simulator.faults import Delay, Hang, Reset, Truncate
from exporter.simulator.mischief import http_date

SERVER = "gateway"


async def wait_as_told(call: Call) -> bool:
    """Sit out the delays and hangs that befall the call; False where the line is to be cut."""
    for strike in call.strikes:
        if isinstance(strike.fault, Delay):
            await asyncio.sleep(strike.fault.seconds)
        if isinstance(strike.fault, Hang):
            await strike.lifted.wait()
            return False
    return call.struck_by(Reset) is None


async def send(
    request: web.BaseRequest, answer: Answer, call: Call, wall: float
) -> web.StreamResponse:
    """Send the answer, or the part of it that a fault lets through."""
    headers = {
        "Content-Type": answer.content_type,
        "Date": http_date(wall + answer.date_skew),
        "Server": SERVER,
        **answer.headers,
    }
    struck = call.struck_by(Truncate)
    if struck is None:
        return web.Response(status=answer.status, body=answer.body, headers=headers)
    response = web.StreamResponse(status=answer.status, headers=headers)
    response.content_length = len(answer.body)
    response.force_close()
    # Whoever asked may have hung up by now, and then nothing needs to be cut short.
    with contextlib.suppress(ConnectionError):
        await response.prepare(request)
        await response.write(answer.body[: int(len(answer.body) * struck[0].fraction)])
    return response


def cut(request: web.BaseRequest) -> web.Response:
    """Break the connection with a reset; what is returned never arrives."""
    transport = request.transport
    if transport is not None:
        # Without lingering, the kernel says RST: an error for the client, not an end.
        plain = transport.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.close()
    return web.Response()
