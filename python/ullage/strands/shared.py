"""The one conversation manager that the agents of a process share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands.agent.conversation_manager import ConversationManager

_lock = threading.RLock()
_shared: list[ConversationManager] = []


def register_conversation_manager(manager: ConversationManager | None) -> None:
    """Makes ``manager`` the one for agents whose own does not reduce; None forgets it."""
    with _lock:
        _shared[:] = [] if manager is None else [manager]


def get_shared_conversation_manager() -> ConversationManager | None:
    """The manager that was registered last, or None."""
    with _lock:
        return _shared[0] if _shared else None


def clear_shared_conversation_manager() -> None:
    """Forgets the manager."""
    register_conversation_manager(None)
