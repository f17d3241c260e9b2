"""``Stopwatch``: the time that threads spend together in one thing."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


# The lock is held for an addition. Who waits longer is the child of a process that forked
# meanwhile, in which nobody gives it back: then the time is not added.
_PATIENCE_SECONDS = 0.1


class Stopwatch:
    """Adds up time, of several threads at once too."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Adds the time of the block, however it ends."""
        start = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - start
            if self._lock.acquire(timeout=_PATIENCE_SECONDS):
                try:
                    self.seconds += taken
                finally:
                    self._lock.release()
