"""Simulated time: a clock that can be fast, frozen or pushed, and what is due on it."""

import heapq
import itertools
from collections.abc import Callable

Clock = Callable[[], float]
Action = Callable[[], None]


class Timeline:
    """Runs what is due, in order, whenever somebody looks.

    Nothing happens by itself: `catch_up` carries out all that has come due, each action at its
    own instant, so an answer is right for the moment it is given at, and an idle simulator costs
    nothing. Simulated time counts seconds from the start, `speed` of them a second of `clock`.
    """

    def __init__(self, clock: Clock, speed: float) -> None:
        self.clock = clock
        self.speed = speed
        self.began = clock()
        self._pushed = 0.0
        self._now = 0.0
        self._wall = self.began
        self._numbers = itertools.count()
        self._queue: list[tuple[float, int, Action]] = []

    @property
    def now(self) -> float:
        """Return the simulated seconds since the start; within an action, those of its instant."""
        return self._now

    @property
    def wall(self) -> float:
        """Return the clock's Unix time at `now`: what timestamps in answers are made of."""
        return self._wall

    def after(self, delay: float, action: Action) -> None:
        """Have `action` carried out `delay` simulated seconds from now."""
        heapq.heappush(self._queue, (self._now + delay, next(self._numbers), action))

    def advance(self, seconds: float) -> None:
        """Push simulated time ahead of the clock, and carry out what that makes due."""
        self._pushed += seconds
        self.catch_up()

    def catch_up(self) -> None:
        """Carry out everything that is due by the clock."""
        wall = max(self._wall, self.clock())
        present = max(self._now, (wall - self.began) * self.speed + self._pushed)
        while self._queue and self._queue[0][0] <= present:
            due, _, action = heapq.heappop(self._queue)
            self._now = due
            self._wall = max(self._wall, self._wall_at(due, present, wall))
            action()
        self._now, self._wall = present, wall

    def _wall_at(self, due: float, present: float, wall: float) -> float:
        return wall - (present - due) / self.speed if self.speed else wall
