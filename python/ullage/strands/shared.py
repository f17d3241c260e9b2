"""The one conversation manager that the agents of a process share."""

from __future__ import annotations

import threading
from typing import Any

_lock = threading.RLock()
_shared: list[Any] = []


def register_conversation_manager(manager: Any) -> None:
    """Makes ``manager`` the one for agents that have none of their own; None forgets it."""
    with _lock:
        _shared[:] = [] if manager is None else [manager]


def get_shared_conversation_manager() -> Any:
    """The manager that was registered last, or None."""
    with _lock:
        return _shared[0] if _shared else None


def clear_shared_conversation_manager() -> None:
    """Forgets the manager."""
    register_conversation_manager(None)
