"""``Conversations``: a view of each conversation.

A host may go on from what it was given back, or hand over the full history each time. A view
recognizes both, so that the second costs as many summaries as the first.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ullage
from ullage._engine.forks import renew_after_fork
from ullage.valis.condenser import system_end
from ullage.valis.files import digest_of
from ullage.valis.messages import written

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Conversations that are remembered. One that is forgotten costs a summary more, and no message.
_REMEMBERED = 256


@dataclass
class ConversationView:
    """The view of a conversation.

    Attributes:
        view: What a request shows of it.
        unhelped: The number of messages that a summary was made of and did not help, and their
            digest.
    """

    view: ullage.View
    unhelped: tuple[int, str] | None = None

    def is_unhelped(self, messages: list[Any]) -> bool:
        """True if a summary of what the messages begin with did not help."""
        return self.unhelped is not None and self.unhelped == _digest(messages, self.unhelped[0])

    def note_unhelped(self, messages: list[Any]) -> None:
        """Notes that a summary of these messages did not help."""
        self.unhelped = _digest(messages, len(messages) - system_end(messages))


class Conversations:
    """Finds the view of a conversation by its first message. Threads may share it.

    Args:
        counter: Counts tokens.
        compaction: Compacts what a view shows, see ``ullage.ContextManager.open``.
    """

    def __init__(self, counter: ullage.TokenCounter, compaction: Callable[..., Any]) -> None:
        # The middleware says when a compaction is due.
        policy = ullage.Policy.preset("valis").replace(
            high=1.0, stages=["window"], levels=[{"recent": 0.0}]
        )
        self._engine = ullage.ContextManager(policy, counter=counter)
        self._compaction = compaction
        self._known: OrderedDict[object, ConversationView] = OrderedDict()
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Replaces the lock, in the child of a fork."""
        self._lock = threading.Lock()

    def view_of(self, messages: Sequence[Any], terms: object) -> ConversationView:
        """Returns the view of a conversation on these terms."""
        first = list(messages[system_end(list(messages)) :][:1])
        key = (terms, digest_of(written(first)))
        with self._lock:
            known = self._known.pop(key, None)
            if known is None:
                known = ConversationView(self._engine.open(compaction=self._compaction))
            self._known[key] = known
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return known


def _digest(messages: list[Any], count: int) -> tuple[int, str]:
    begin = system_end(messages)
    return count, digest_of(written(messages[begin : begin + count]))
