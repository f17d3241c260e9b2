"""Clients that a forked process must not share with its parent."""

from __future__ import annotations

import os
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


class ForkBarrier:
    """Makes a fork wait until no other thread is in a call of a library.

    A library such as SQLite has locks for the whole process. If a thread holds one as another
    thread forks, it is never released in the child. A call must not run code of the user.
    """

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._close, after_in_parent=self._open, after_in_child=self._renew
            )

    def _renew(self) -> None:
        self._changed = threading.Condition()
        self._calls: Counter[int] = Counter()
        self._forks = 0

    @contextmanager
    def call(self) -> Iterator[None]:
        """A call that no fork interrupts."""
        thread = threading.get_ident()
        with self._changed:
            # A thread that is in a call already goes on, so that a fork waits for its end only.
            self._changed.wait_for(lambda: not self._forks or self._calls[thread])
            self._calls[thread] += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls[thread] -= 1
                if not self._calls[thread]:
                    del self._calls[thread]
                    self._changed.notify_all()

    def _close(self) -> None:
        # Held until the fork is over.
        self._changed.acquire()
        self._forks += 1
        thread = threading.get_ident()
        self._changed.wait_for(lambda: not self._calls.keys() - {thread})

    def _open(self) -> None:
        self._forks -= 1
        self._changed.notify_all()
        self._changed.release()
