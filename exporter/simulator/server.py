"""The simulator: both clouds in one object, with or without a socket."""

import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from aiohttp import web

from exporter.simulator import clouds, control, openapi, sockets
from exporter.simulator.calls import Answer, Call, as_json, split_target
from exporter.simulator.drills import Drills
from exporter.simulator.facts import Facts
from exporter.simulator.faults import Aim, Faults
from exporter.simulator.fleet import PLACES, Place
from exporter.simulator.life import Life
from exporter.simulator.timeline import Clock, Timeline
from exporter.simulator.truth import Truth, tell
from exporter.simulator.world import World

MOST_NODES = 100_000
REQUESTS_KEPT = 20_000
SHUTDOWN_SECONDS = 0.1


@dataclass
class Request:
    """A request to one of the clouds: when it came (Unix time) and what status it got, if any.

    `path` is the one below the cloud's root, decoded; `template` that of the operation.
    """

    method: str
    cloud: str
    environment: str | None
    region: str | None
    path: str
    template: str | None
    query: dict[str, str]
    time: float
    status: int | None = None


class Simulator:
    """The simulated clouds: `nodes` GPU nodes in all, made up from `seed`.

    `speed` simulated seconds pass in a second of `clock` (Unix time); with 0 nothing happens
    but by `advance`. Unless `alive`, nothing happens by chance: what operations and drills set
    going still takes its time. `facts` chooses among doubtful behaviours, `places` the regions.
    """

    def __init__(  # noqa: PLR0913  # each is one knob, and all but the first are named
        self,
        nodes: int = 64,
        *,
        seed: int = 0,
        speed: float = 1.0,
        clock: Clock = time.time,
        alive: bool = True,
        facts: Facts | None = None,
        places: Sequence[Place] = PLACES,
    ) -> None:
        if not 0 <= nodes <= MOST_NODES or speed < 0:
            raise ValueError(f"nodes are 0 to {MOST_NODES}, and speed is not negative")
        self.timeline = Timeline(clock, speed)
        self.world = World(self.timeline, nodes, seed, places)
        if facts is not None:
            self.world.choose(facts)
        self.faults = Faults()
        self._drills = Drills(self.world, self.faults)
        self._controls = control.Controls(self.world, self.faults, self._drills)
        if alive:
            Life(self.world).begin()
        self.requests: deque[Request] = deque(maxlen=REQUESTS_KEPT)
        self._runner: web.ServerRunner | None = None
        self._host = ""
        self._port = 0

    @property
    def drills(self) -> Drills:
        """Return the drills, to be carried out now."""
        # What is done between two requests is done at the clock's time, not at the last request's.
        self.timeline.catch_up()
        return self._drills

    @property
    def credentials(self) -> Mapping[str, str]:
        """Return what both clouds accept now, by the names of environment variables."""
        return self.world.keys.named()

    @property
    def url(self) -> str:
        """Return the simulator's address, without a path."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def facts(self) -> Facts:
        """Return how the doubtful facts are chosen; `choose` changes them."""
        return self.world.facts

    def addresses(self) -> list[str]:
        """Return where things are, one `NAME=value` a line; the endpoints are templates."""
        return [
            f"SIMULATOR_URL={self.url}",
            f"SCP_ENDPOINT={self.url}/scp/{{environment}}/{{region}}",
            f"NSML_ENDPOINT={self.url}/nsml/v1",
        ]

    def environment(self) -> list[str]:
        """Return addresses and credentials, one `NAME=value` a line, ready for an environment."""
        return [*self.addresses(), *(f"{name}={key}" for name, key in self.credentials.items())]

    def choose(self, **facts: str) -> None:
        """Choose some of the doubtful facts anew."""
        self.timeline.catch_up()
        self.world.choose(Facts.model_validate({**self.facts.model_dump(), **facts}))

    def advance(self, seconds: float) -> None:
        """Let simulated time pass at once."""
        self.timeline.advance(seconds)

    def truth(self) -> Truth:
        """Tell what is true in both clouds."""
        self.timeline.catch_up()
        return tell(self.world)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 is any free one. Raises OSError where that can't be."""
        # Whoever hangs up is no longer waited for: a hanging answer ends with its client.
        server = web.Server(self._respond, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN_SECONDS)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        self._host, self._port = self._runner.addresses[0][:2]

    async def stop(self) -> None:
        """Stop listening, and hang up on whoever still waits."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        call = self._call(request, await request.read())
        aim = clouds.aim_of(call)
        self.timeline.catch_up()
        if aim is None:
            return await sockets.send(request, self._own(call), call, self.timeline.wall)
        return await self._answer(
            request, clouds.struck(call, self.faults, aim), self._note(call, aim)
        )

    def _own(self, call: Call) -> Answer:
        """Answer about the simulator itself."""
        if call.method == "GET" and call.path == "/":
            return Answer(200, "\n".join([*self.addresses(), ""]).encode(), "text/plain")
        if call.method == "GET" and call.path == "/openapi.json":
            return as_json(200, openapi.document(call.origin))
        return control.answer(self._controls, call)

    async def _answer(
        self, request: web.BaseRequest, call: Call, note: Request
    ) -> web.StreamResponse:
        if not await sockets.wait_as_told(call):
            return sockets.cut(request)
        self.timeline.catch_up()
        answer = clouds.answer(self.world, call)
        note.status = answer.status
        return await sockets.send(request, answer, call, self.timeline.wall)

    def _call(self, request: web.BaseRequest, body: bytes) -> Call:
        origin, target = split_target(request.raw_path, f"{request.scheme}://{request.host}")
        # An id that follows from the request and its moment: with a frozen clock and a seed,
        # answers are the same byte for byte, in whatever order the requests come.
        moment = f"{self.world.seed} {self.timeline.clock()} {request.method} {target}"
        return Call(
            request.method,
            target,
            origin,
            request.headers,
            str(uuid.uuid5(uuid.NAMESPACE_URL, moment)),
            body,
        )

    def _note(self, call: Call, aim: Aim) -> Request:
        note = Request(
            call.method,
            aim.cloud,
            aim.environment,
            aim.region,
            aim.path,
            aim.template,
            call.query,
            self.timeline.wall,
        )
        self.requests.append(note)
        return note
