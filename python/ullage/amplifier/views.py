"""The views of a session: one for each budget that its requests have."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ullage.amplifier.spares import Spares
from ullage.amplifier.view import View, is_near

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

    Attributes:
        spares: Views for other budgets.
    """

    def __init__(self) -> None:
        self.spares = Spares()
        self._kept = [View()]
        self._seen: View | None = None
        # What was made ready before the first request, until that has ended.
        self._expected: View | None = None
        self._requests = 0
        self._choosing = threading.Lock()

    @property
    def last(self) -> View:
        """That of the last request."""
        return self._kept[0]

    @property
    def seen(self) -> View:
        """What the last request ended with, until a message came."""
        return self._seen or self.last

    @seen.setter
    def seen(self, view: View | None) -> None:
        self._seen = view

    @property
    def largest(self) -> View:
        """That of the largest budget, of which those of smaller ones can be made again."""
        made_before = None if self.last is self._expected else self._expected
        return max((view for view in self._kept if view is not made_before), key=_size)

    @property
    def smallest(self) -> View:
        """That of the smallest budget."""
        return min(self._kept, key=_size)

    def all(self) -> list[View]:
        """All that are kept, the last one first."""
        return list(self._kept)

    def view_for(self, budget: Budget, expected: Budget) -> View:
        """The view of a request: that of such a budget, else one that is as large as it can be.

        A budget that differs by less than a quarter is such a budget. For a smaller one a copy of
        the next larger view is taken, which stays as it is; for a larger one, of one that shows the
        whole history, if there is one. O(1), and O(n) for a copy.

        Args:
            budget: That of the request.
            expected: That for which the view was made ready before the first request.
        """
        with self._choosing:
            if self.last.asked is None and self.spares.all():
                self._expected, self.last.asked = self.last, expected
            view = self._of(budget.tokens)
            self._requests += 1
            view.ask(budget, self._requests)
            self._kept = [view, *(other for other in self._kept if other is not view)]
            return view

    def stand_ins(self, own: View) -> list[View]:
        """What may stand in for a view that is not ready, the fullest first."""
        others = [view for view in (*self._kept, *self.spares.all()) if view is not own]
        measured = [view for view in others if view.measured]
        return sorted(measured, key=lambda view: view.measured, reverse=True)

    def shown(self, own: View, view: View) -> None:
        """Notes that a request ends with this view, its own or one that stands in.

        Another request may have begun since it began.
        """
        with self._choosing:
            if own in self._kept:
                self._kept = [own, *(other for other in self._kept if other is not own)]
            self._give_up()
            self._seen = view
            self.spares.renew()

    def _give_up(self) -> None:
        """Keeps no more views than it should; the others may stand in until the next message."""
        since = self._requests - _IDLE
        kept = [view for n, view in enumerate(self._kept) if n == 0 or view.asked_at >= since]
        if self._expected is not self.last:
            kept = [view for view in kept if view is not self._expected]
        self._expected = None
        while len(kept) > _KEPT:
            # Not the largest, which would begin again with the whole history.
            kept.remove(next(v for v in reversed(kept[1:]) if v is not max(kept, key=_size)))
        for view in self._kept:
            if view not in kept:
                self.spares.adopt(view)
        self._kept = kept

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
            # Another one, since these may be being made ready now.
            self.spares = Spares()
            self._kept, self._seen, self._expected = [self.last], None, None

    def narrow(self, shown: Callable[[Any], bool]) -> None:
        """Leaves out what the model is no longer to see."""
        self.spares.narrow(shown)
        for view in self.all():
            view.narrow(shown)

    def _of(self, tokens: int) -> View:
        if self.last.asked is None:
            return self.last
        near = [view for view in self._kept if is_near(_size(view), tokens)]
        # What was compacted before a request told its budget shows less than a larger one allows.
        near = [view for view in near if not view.is_assumed or tokens <= view.budget]
        if near:
            return min(near, key=lambda view: abs(_size(view) - tokens))
        views = [*self._kept, *self.spares.all()]
        larger = [view for view in views if _size(view) > tokens]
        if larger:
            return min(larger, key=_size).copy()
        return next((view for view in views if view.stats is None), View()).copy()


def _size(view: View) -> int:
    """The tokens of its budget."""
    return view.budget if view.asked is None else view.asked.tokens
