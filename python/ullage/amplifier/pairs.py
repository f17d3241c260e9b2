"""Following whether calls have their results, at the cost of what is new."""

from __future__ import annotations

from typing import Any

from ullage.amplifier.shape import calls_of, results_of


class Pairs:
    """Which calls of a growing conversation wait for a result.

    Attributes:
        astray: Messages at the end, from the first on that is past waiting: a call behind which
            the conversation went on without its result, or a result without its call. A provider
            would refuse it.
        waiting: Messages at the end, from the call on whose results are still to come.
    """

    def __init__(self) -> None:
        self._open: set[str] = set()
        self.astray = 0
        self.waiting = 0
        self._waits_astray = False

    def follow(self, message: Any) -> None:
        """Takes in the next message."""
        results = results_of(message)
        since = self.waiting + 1
        is_stray = any(result not in self._open for result in results)
        if not results and self._open:
            # Only results may come between a call and its last result.
            is_stray = True
            self._open.clear()
        self._open.difference_update(results)
        if self.astray:
            self.astray += 1
        elif is_stray:
            self.astray = since
        calls = calls_of(message)
        self._open.update(calls)
        # One among the messages that wait has to wait with them.
        self._waits_astray = bool(self._open) and not calls and (self._waits_astray or is_stray)
        if not self._open:
            self.waiting = 0
        else:
            self.waiting = 1 if calls else self.waiting + 1

    def mended(self) -> None:
        """What was astray is no longer, but for what is among the messages that wait."""
        self.astray = self.waiting if self._waits_astray else 0

    def narrowed(self, messages: int) -> None:
        """Only so many messages are left; where among them something is astray is not known."""
        self.astray = messages if self.astray else 0
        self.waiting = min(self.waiting, messages)
