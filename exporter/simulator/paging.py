"""How a list is cut into pages, and all the ways in which real servers do it otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from exporter.simulator.calls import Call
from exporter.simulator.errors import Refused
from exporter.simulator.faults import MovingRows, OverlappingPages, SizeFault

T = TypeVar("T")


@dataclass(frozen=True)
class Window:
    """Which part of a list a request asks for: the page, counted from 0, of `size` rows.

    `habit` and `limit` are how the server treats sizes, `usual` is its size for those who ask for
    none.
    """

    page: int
    size: int
    usual: int
    habit: str = "honoured"
    limit: int = 100


def cut(rows: Sequence[T], window: Window, call: Call) -> Sequence[T]:
    """Return the rows of the page, spoilt by the faults that befall the call."""
    habit, limit = _habit(window, call)
    if habit == "everything":
        return rows
    size = _size(window, habit, limit)
    start = window.page * size
    if call.struck_by(OverlappingPages) and window.page:
        return _moved(rows, call)[start - 1 : start + size]
    return _moved(rows, call)[start : start + size]


def _habit(window: Window, call: Call) -> tuple[str, int]:
    struck = call.struck_by(SizeFault)
    if struck:
        return struck[0].mode, struck[0].limit
    return window.habit, window.limit


def _size(window: Window, habit: str, limit: int) -> int:
    if habit == "ignored":
        return window.usual
    if habit == "capped":
        return min(window.size, limit)
    if habit == "refused" and window.size > limit:
        raise Refused(400, f"Input should be less than or equal to {limit}")
    return window.size


def _moved(rows: Sequence[T], call: Call) -> Sequence[T]:
    struck = call.struck_by(MovingRows)
    if not struck or not rows:
        return rows
    fault, number = struck
    shift = (number - 1) * fault.step % len(rows)
    return [*rows[shift:], *rows[:shift]]
