"""What the model sees of a history: compacted once, then only grown until it is full again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ullage.amplifier.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Callable

# A budget so much larger than that of the last compaction is worth showing the whole history again.
# Less is not: it would change what the provider has cached for little.
_LARGER = 1.25


class View:
    """The messages of the next request, system prompt and notice aside.

    It reads each message of the history once. What a compaction left stays as it is until the
    next, so that requests in between begin with the same bytes, and a provider's cache is of use.

    Attributes:
        messages: What the model sees.
        stats: What the last compaction did, or None.
        tokens: What was left after it.
    """

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.stats: dict[str, Any] | None = None
        self.tokens = 0
        self._pairs = Pairs()
        self._history: list[Any] | None = None
        self._read = 0
        self._budget = 0
        # Two threads that ask for messages must not both read the same new ones.
        self._reading = threading.Lock()

    def follow(self, history: list[Any], budget: int, shown: Callable[[Any], bool]) -> None:
        """Takes in what is new. O(new messages), and O(n) where it has to begin again.

        Args:
            history: All messages. Where it is another list, or shorter than it was, or where the
                budget has grown a lot since the last compaction, the view begins again.
            budget: The tokens of this request.
            shown: Whether the model is to see a message.
        """
        with self._reading:
            outgrown = self.stats is not None and budget > self._budget * _LARGER
            if history is not self._history or len(history) < self._read or outgrown:
                self._forget()
                self._history = history
            new = history[self._read :]
            self._read += len(new)
            for message in new:
                if shown(message):
                    self.messages.append(message)
                    self._pairs.follow(message)

    def mend(self, mended: Callable[[list[Any]], list[Any]]) -> None:
        """Mends what was interrupted: a call without a result, or a result without its call.

        O(1) as long as nothing is.
        """
        with self._reading:
            if self._pairs.broken:
                self.messages = mended(self.messages)
                self._pairs = Pairs()

    def compacted(self, stats: dict[str, Any], budget: int) -> None:
        """Notes what a compaction did, and for which budget."""
        self.stats, self._budget = stats, budget

    def replace(self, old: list[Any], count: int, messages: list[Any]) -> bool:
        """Puts other messages in the place of the first ``count``.

        The list is a new one: those who have counted the old one were promised that it only grows.

        Returns:
            Whether it did. Not if the view is no longer ``old``: another task was faster.
        """
        with self._reading:
            if self.messages is not old:
                return False
            self.messages = [*messages, *old[count:]]
            return True

    def forget(self) -> None:
        """Begins again at the next request."""
        with self._reading:
            self._forget()

    def saved(self) -> dict[str, Any] | None:
        """The view as data, if there was a compaction: a history alone cannot tell it."""
        with self._reading:
            if self.stats is None:
                return None
            return {
                "read": self._read,
                "messages": list(self.messages),
                "stats": self.stats,
                "tokens": self.tokens,
                "budget": self._budget,
            }

    def restore(self, history: list[Any], saved: dict[str, Any]) -> None:
        """The view that was saved, for a history that begins as it did then."""
        with self._reading:
            self.messages = list(saved["messages"])
            self.stats = saved["stats"]
            self.tokens = saved["tokens"]
            self._history, self._read, self._budget = history, saved["read"], saved["budget"]

    def _forget(self) -> None:
        self.messages, self.stats, self.tokens = [], None, 0
        self._pairs = Pairs()
        self._history, self._read, self._budget = None, 0, 0
