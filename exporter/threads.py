"""Threads for work that would hold the event loop."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

_MOST: Final = 64
_PATIENCE_SECONDS: Final = 1.0


class Threads(ThreadPoolExecutor):
    """As many threads as there is work, within reason: one that is stuck keeps no other waiting.

    Nor is it waited for at the end.
    """

    def __init__(self) -> None:
        super().__init__(_MOST, thread_name_prefix="work")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002, ARG002 - as in the library
        """Take no more work, and let go of what waits."""
        super().shutdown(wait=False, cancel_futures=True)


def all_ended() -> bool:
    """Return whether all other threads end within a moment, so that the process can."""
    others = [each for each in threading.enumerate() if each is not threading.current_thread()]
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for other in others:
        if not other.daemon:
            other.join(max(deadline - time.monotonic(), 0.0))
    return not any(other.is_alive() and not other.daemon for other in others)
