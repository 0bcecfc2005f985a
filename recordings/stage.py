"""What a drill runs on: simulated clouds, exporters that poll them, one clock, a recorder."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exporter import logs
from exporter.app import Application
from exporter.config import load
from exporter.negotiation import TEXT
from exporter.reload import Reloader
from exporter.simulator.fleet import Place
from exporter.simulator.server import Simulator
from recordings.recorder import JOB, STEP, Recorder
from tests.clocks import FakeClock, run_threads_inline, settle

_PATIENCE_SECONDS = 60.0
_TURN_SECONDS = 0.0005  # of the real time, in which sockets get their turn
_PAUSE_SECONDS = 0.25  # of the clock's, that pass at a time while polls wait
_LEAST_SECONDS = 0.01
_BEFORE_SECONDS = 5  # from the start of the first replica to the first scrape


@dataclass(slots=True)
class Replica:
    """An exporter that a Prometheus scrapes under an `instance`, while it runs."""

    instance: str
    file: Path
    environ: dict[str, str]
    clock: FakeClock
    redactor: logs.Redactor
    app: Application | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    phase: float = 0.0

    @property
    def target(self) -> dict[str, str]:
        """The labels that a Prometheus gives it."""
        return {"job": JOB, "instance": self.instance, **self.labels}

    async def listen(self) -> None:
        """Start a process anew, which can be scraped already, but has no configuration yet."""
        app = Application(environ=self.environ, clock=self.clock, redactor=self.redactor)
        self.app = await app.__aenter__()

    async def start(self) -> None:
        """Start a process anew, unless it listens; it knows nothing of the one before."""
        if self.app is None:
            await self.listen()
        await self.running.apply(load(self.file, self.environ))
        self._fix_schedules()
        for poller in self.running.pollers:
            poller.schedule.phase = (poller.schedule.phase + self.phase) % 1.0

    def _fix_schedules(self) -> None:
        """Have what a target waits when it keeps failing be the same in every recording."""
        for number, poller in enumerate(self.running.pollers):
            poller.schedule.dice = random.Random(number)  # noqa: S311 - a drill is repeatable

    @property
    def running(self) -> Application:
        """The process, which is there."""
        assert self.app is not None  # noqa: S101 - a drill does not ask for what it has stopped
        return self.app

    async def stop(self) -> None:
        """End the process."""
        if self.app is not None:
            await self.app.__aexit__()
            self.app = None

    async def reload(self, text: str) -> None:
        """Have it read another configuration."""
        self.file.write_text(text)
        await Reloader(self.running, lambda: load(self.file, self.environ)).reload()
        self._fix_schedules()

    def page(self) -> bytes:
        """Return what it answers to a scrape."""
        page = self.running.page(TEXT)
        body = page.body
        self.running.note_served(page)
        return body


@dataclass(slots=True)
class Stage:
    """Time passes for all of it in `run`; every 15 seconds each replica is scraped.

    The clouds' time passes `pace` times as fast, so that what takes them seconds is seen. The
    event loop stands still for `lag` seconds between two scrapes. `also` are further clouds.
    """

    simulator: Simulator
    clock: FakeClock
    recorder: Recorder
    directory: Path
    pace: float = 0.25
    scraping: bool = True
    lag: float = 0.0
    also: list[Simulator] = field(default_factory=list)
    replicas: list[Replica] = field(default_factory=list)
    _redactor: logs.Redactor = field(default_factory=logs.Redactor)

    @property
    def seconds(self) -> int:
        """The seconds since the first scrape."""
        return (self.recorder.scrapes - 1) * STEP

    @property
    def place(self) -> Place:
        """The first region."""
        return next(iter(self.simulator.world.regions))

    async def replica(
        self,
        text: str,
        *,
        simulator: Simulator | None = None,
        phase: float = 0.0,
        **labels: str,
    ) -> Replica:
        """Start a replica on a configuration; `labels` are those that a site adds to its target."""
        number = len(self.replicas)
        file = self.directory / f"replica{number}.yml"
        file.write_text(text)
        environ = dict((simulator or self.simulator).credentials)
        instance = f"exporter-{number}:10110"
        replica = Replica(
            instance, file, environ, self.clock, self._redactor, labels=labels, phase=phase
        )
        self.replicas.append(replica)
        await replica.start()
        return replica

    async def until(self, minutes: float, phase: str = "") -> None:
        """Let time pass, and scrape, until so many minutes after the first scrape."""
        while self.recorder.scrapes == 0 or self.seconds < minutes * 60:
            await self._pass(STEP if self.recorder.scrapes else _BEFORE_SECONDS)
            self._scrape(phase)

    async def _pass(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        self.clock.jump(self.lag)
        await self._quiet()
        while (now := self.clock.monotonic()) < end:
            due = min((each for each in self._due()), default=end)
            await self.clock.advance(max(min(due, end) - now, _LEAST_SECONDS))
            for simulator in (self.simulator, *self.also):
                simulator.advance(self.pace * (self.clock.monotonic() - now))
            await self._quiet()

    def _due(self) -> list[float]:
        return [poller._next for app in self._apps() for poller in app.pollers]  # noqa: SLF001

    def _apps(self) -> list[Application]:
        return [replica.app for replica in self.replicas if replica.app is not None]

    async def _quiet(self) -> None:
        """Wait until no poll is under way; time passes only while all that are wait."""
        await settle()
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while any(due <= self.clock.monotonic() for due in self._due()):
                await asyncio.sleep(_TURN_SECONDS)
                if not any(self._requests_open(app) for app in self._apps()):
                    await self.clock.advance(_PAUSE_SECONDS)
        await settle()

    @staticmethod
    def _requests_open(app: Application) -> bool:
        session = app._session  # noqa: SLF001 - only there can it be seen
        return session is not None and bool(
            session.connector and session.connector._acquired  # noqa: SLF001 - the same
        )

    def _scrape(self, phase: str) -> None:
        self.recorder.next(self.clock.wall())
        if phase:
            self.recorder.value("drill_phase", {"phase": phase}, 1)
        for replica in self.replicas:
            if replica.app is not None and self.scraping:
                self.recorder.page(replica.page(), replica.target)
            else:
                self.recorder.down(replica.target)


@asynccontextmanager
async def open_stage(
    simulator: Simulator, clock: FakeClock, recorder: Recorder, directory: Path
) -> AsyncIterator[Stage]:
    """Set up a stage; whatever runs on it ends with it."""
    run_threads_inline()
    async with simulator:
        stage = Stage(simulator, clock, recorder, directory)
        try:
            yield stage
        finally:
            for replica in stage.replicas:
                await replica.stop()
