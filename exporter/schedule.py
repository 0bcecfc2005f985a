"""When a target is polled next."""

import math
import random
import zlib
from dataclasses import dataclass, field

PATIENT_FAILURES = 3
"""Failures in a row after which a target's wait begins to double."""

MAX_WAIT_SECONDS = 600.0
"""The longest that a server's Retry-After is obeyed for."""

_JITTER = 0.2


def phase_of(name: str) -> float:
    """Return the part of its interval at which a target is polled: the same at every start.

    It spreads the targets, and it depends on nothing but the target's name, so that it
    stays over a reload in which others come and go.
    """
    return zlib.crc32(name.encode()) / 2**32


@dataclass(slots=True)
class Schedule:
    """The rhythm of one target, in seconds of the monotonic clock."""

    phase: float
    dice: random.Random = field(default_factory=random.Random)

    def after(self, now: float, interval: float) -> float:
        """Return the next moment of the target's phase after now."""
        offset = self.phase * interval
        then = (math.floor((now - offset) / interval) + 1) * interval + offset
        # At a moment of the phase itself the division may round down to the one before.
        return then if then > now else then + interval

    def after_failures(
        self, began: float, now: float, interval: float, longest: float, failures: int
    ) -> float:
        """Return the next moment after so many failures in a row of whole polls."""
        if failures <= PATIENT_FAILURES:
            return self.after(now, interval)
        doubled = interval * 2.0 ** min(failures - PATIENT_FAILURES, 32)
        wait = min(doubled, longest) * (1 - _JITTER * self.dice.random())
        return max(began + max(wait, interval), now)
