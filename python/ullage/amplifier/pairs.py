"""Following whether calls have their results, at the cost of what is new."""

from __future__ import annotations

from typing import Any

from ullage.amplifier.shape import calls_of, results_of


class Pairs:
    """Which calls of a growing conversation wait for a result.

    Attributes:
        astray: Whether something is past waiting: a call behind which the conversation went on
            without its result, or a result without its call. A provider would refuse it.
        waiting: Messages at the end, from the call on whose results are still to come.
    """

    def __init__(self) -> None:
        self._open: set[str] = set()
        self.astray = False
        self.waiting = 0

    def follow(self, message: Any) -> None:
        """Takes in the next message."""
        results = results_of(message)
        if not results and self._open:
            # Only results may come between a call and its last result.
            self.astray = True
            self._open.clear()
        for result in results:
            if result in self._open:
                self._open.discard(result)
            else:
                self.astray = True
        calls = calls_of(message)
        self._open.update(calls)
        if not self._open:
            self.waiting = 0
        else:
            self.waiting = 1 if calls else self.waiting + 1

    def mended(self) -> None:
        """What was astray is no longer."""
        self.astray = False
