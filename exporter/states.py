"""The states that a kind of object can be in, as values of the label `state`."""

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from exporter.clouds.fields import NOT_REPORTED

MAX_UNLISTED = 32
OTHER = "OTHER"


@dataclass(slots=True)
class Vocabulary:
    """The listed states of one kind of object, and those that were met beside them.

    A listed state has a series for every object, also where it is 0. One that is not
    listed has a series only for the object that is in it; `expected` ones are no surprise.
    Past 32 different surprises all further ones share the name OTHER, so that a service
    that writes free text can't grow the number of series without bound. One vocabulary
    serves all targets of a process, which are written in several threads.
    """

    kind: str
    states: tuple[str, ...]
    on_unlisted: Callable[[str, str], None] = lambda _kind, _state: None
    listed: tuple[str, ...] = field(init=False)
    _met: set[str] = field(default_factory=set, init=False)
    _meeting: threading.Lock = field(default_factory=threading.Lock, init=False, compare=False)

    def __post_init__(self) -> None:
        self.listed = (*self.states, NOT_REPORTED)

    def surprising(self, state: str, expected: Collection[str]) -> bool:
        """Return whether a state is neither listed nor expected."""
        return state not in self.listed and state not in expected

    def label(self, state: str, expected: Collection[str]) -> str:
        """Return the value of the label `state` for a state as it was read."""
        if state in self._met or not self.surprising(state, expected):
            return state
        with self._meeting:
            if state not in self._met:
                if len(self._met) >= MAX_UNLISTED:
                    return OTHER
                self._met.add(state)
                self.on_unlisted(self.kind, state)
        return state
