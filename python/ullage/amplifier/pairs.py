"""Following whether calls have their results, at the cost of what is new."""

from __future__ import annotations

from typing import Any

from ullage.amplifier.shape import calls_of, results_of


class Pairs:
    """Which calls of a growing conversation wait for a result."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._astray = False

    def follow(self, message: Any) -> None:
        """Takes in the next message."""
        results = results_of(message)
        if not results and self._open:
            # Only results may come between a call and its last result.
            self._astray = True
        for result in results:
            if result in self._open:
                self._open.discard(result)
            else:
                self._astray = True
        self._open.update(calls_of(message))

    @property
    def broken(self) -> bool:
        """Whether a provider would refuse what was followed so far."""
        return self._astray or bool(self._open)
