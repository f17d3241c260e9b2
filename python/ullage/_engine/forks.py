"""Replaces locks in the child of a fork, where the thread that held one does not exist."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class LockHolder(Protocol):
    """An object that holds a lock.

    It uses ``with self._lock``, which releases the lock that was acquired, because the forking
    thread may be inside.
    """

    def renew(self) -> None:
        """Replaces its locks."""


_holders: weakref.WeakSet[LockHolder] = weakref.WeakSet()


def renew_after_fork(holder: LockHolder) -> None:
    """Replaces its locks in each forked child, as long as it lives."""
    _holders.add(holder)


def _renew_all() -> None:
    for holder in list(_holders):
        holder.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
