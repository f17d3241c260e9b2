"""Clients that a forked process must not share with its parent."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Client = TypeVar("_Client")


class PerProcess(Generic[_Client]):
    """A client that each process creates at its first use.

    Args:
        make: Creates the client.
    """

    def __init__(self, make: Callable[[], _Client]) -> None:
        self._make = make
        # Inherited clients are kept: closing one would end the connection of the parent.
        self._made: dict[int, _Client] = {}
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            # Another thread of the parent may hold the lock; in the child nobody releases it.
            os.register_at_fork(after_in_child=self._unlock)

    def get(self) -> _Client:
        """Returns the client of this process."""
        process = os.getpid()
        with self._lock:
            if process not in self._made:
                self._made[process] = self._make()
            return self._made[process]

    def drop(self) -> _Client | None:
        """Forgets and returns the client of this process, if there is one."""
        with self._lock:
            return self._made.pop(os.getpid(), None)

    def _unlock(self) -> None:
        self._lock = threading.Lock()
