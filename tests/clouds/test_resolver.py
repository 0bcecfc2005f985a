"""Looking hosts up without holding up anything else."""

import asyncio
import socket
import threading

import pytest

from exporter.clouds.resolver import Resolver


async def test_a_host_is_found() -> None:
    """The addresses are those that the system gives, with the port."""
    (found, *_) = await Resolver().resolve("127.0.0.1", 80)
    assert (found["host"], found["port"], found["family"]) == ("127.0.0.1", 80, socket.AF_INET)


async def test_a_host_that_is_not_there_is_an_error() -> None:
    """What the system can't find raises what the HTTP client takes for a failed look-up."""
    with pytest.raises(socket.gaierror):
        await Resolver().resolve("no-such-host.invalid")


async def test_a_hanging_look_up_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for it can stop waiting, and its late answer does no harm."""
    go_on, ended = threading.Event(), threading.Event()

    def hang(*_: object, **__: object) -> list[object]:
        go_on.wait(10)
        ended.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    asking = asyncio.ensure_future(Resolver().resolve("slow.invalid"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    go_on.set()
    await asyncio.to_thread(ended.wait, 10)
    await Resolver().close()
