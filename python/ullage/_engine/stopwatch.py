"""``Stopwatch``: the total time that threads spend in one task."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ullage._engine.forks import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import Iterator


class Stopwatch:
    """Adds up time, also of several threads at once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Replaces its lock."""
        self._lock = threading.Lock()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Adds the time of the block, however it ends."""
        start = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - start
            with self._lock:
                self.seconds += taken
