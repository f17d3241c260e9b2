"""The views of a session: one for each budget that its requests have."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ullage.amplifier.view import LARGER, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.amplifier.budget import Budget

# The agent's model, a smaller one beside it, and one that is asked now and then. More would be
# brought up to date with each message for requests that may never come.
_KEPT = 3
# Requests of other budgets after which a view is given up: a session that has changed its model
# would otherwise compact for the old one for ever.
_IDLE = 50


class Views:
    """Keeps the views of the last budgets, the last asked one first.

    Where two models with different windows take turns, the smaller one would otherwise compact
    what the larger one sees, and the larger one begin again from the whole history each time.
    """

    def __init__(self) -> None:
        self._kept = [View()]
        self._requests = 0
        self._choosing = threading.Lock()

    @property
    def last(self) -> View:
        """That of the last request."""
        return self._kept[0]

    @property
    def largest(self) -> View:
        """That of the largest budget of those that were compacted, if any was.

        Those of smaller budgets can be made of it again.
        """
        compacted = [view for view in self._kept if view.stats is not None]
        return max(compacted or self._kept, key=_size)

    def all(self) -> list[View]:
        """All that are kept, the last one first."""
        return list(self._kept)

    def view_for(self, budget: Budget) -> View:
        """The view of a request: that of such a budget, else one that is as large as it can be.

        A budget that differs by less than a quarter is such a budget. For a smaller one a copy of
        the next larger view is taken, which stays as it is; for a larger one the history begins
        again. O(1), and O(n) for a copy.
        """
        with self._choosing:
            view = self._of(budget.tokens)
            self._requests += 1
            view.ask(budget, self._requests)
            since = self._requests - _IDLE
            others = [v for v in self._kept if v is not view and v.asked_at >= since]
            if len(others) == _KEPT:
                # Not the largest, which would begin again with the whole history.
                others.remove(next(v for v in reversed(others) if v is not max(others, key=_size)))
            self._kept = [view, *others]
            return view

    def shown(self, view: View) -> None:
        """Notes that a request ends with this view; another one may have begun since it began."""
        with self._choosing:
            if view in self._kept:
                self._kept = [view, *(other for other in self._kept if other is not view)]

    def drop(self, view: View) -> None:
        """Gives up a view whose budget was too small, unless it is the largest."""
        with self._choosing:
            if view is not max(self._kept, key=_size):
                self._kept = [other for other in self._kept if other is not view]

    def forget(self) -> None:
        """Begins again at the next request."""
        with self._choosing:
            for view in self._kept:
                view.forget()
            self._kept = [self.last]

    def narrow(self, shown: Callable[[Any], bool]) -> None:
        """Leaves out what the model is no longer to see."""
        for view in self.all():
            view.narrow(shown)

    def _of(self, tokens: int) -> View:
        asked = [(view.asked.tokens, view) for view in self._kept if view.asked is not None]
        if not asked:
            return self.last
        near = [(max(own, tokens) / min(own, tokens), view) for own, view in asked]
        ratio, nearest = min(near, key=lambda pair: pair[0])
        if ratio <= LARGER:
            return nearest
        larger = [pair for pair in asked if pair[0] > tokens]
        return min(larger, key=lambda pair: pair[0])[1].copy() if larger else View()


def _size(view: View) -> int:
    """The tokens of its budget."""
    return view.budget if view.asked is None else view.asked.tokens
