"""Views for budgets that no request has told yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.amplifier.ahead import Ahead
from ullage.amplifier.view import is_near

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.amplifier.budget import Budget
    from ullage.amplifier.view import View

# Each is for so much less than the one before. What stands in so has a third of what a view of the
# request's own would have, or more; with a smaller step, more would have to be kept ready.
STEP = 3
# Views that are given up may stand in for a request until a message comes. A host that tells
# another budget with each request and adds nothing would otherwise gather them for ever.
_ADOPTED = 4


class Spares:
    """What answers the first request with a budget, until a message has made a view for it.

    A ladder of views, each for a third of the budget of the one before, down to one whose
    compaction a request can wait for, where its budget is smaller still. And all of the history,
    for a budget that has room for it, unless it was already compacted when its file was opened.

    Attributes:
        whole: A view that is never compacted, from the first compaction of another on; else None.
        ladder: Those of smaller and smaller budgets.
        ahead: Makes them ready.
    """

    def __init__(self) -> None:
        self.whole: View | None = None
        self.ladder: list[View] = []
        self.ahead = Ahead()
        self._adopted: list[View] = []

    def all(self) -> list[View]:
        """All that are kept."""
        whole = [] if self.whole is None else [self.whole]
        return [*self.ladder, *self._adopted, *whole]

    def keep_whole(self, view: View) -> None:
        """Keeps what a view shows that is to be compacted for the first time. O(n)."""
        self.whole = view.copy()
        self.whole.is_spare = True

    def rung(self, above: View, budget: Budget) -> View:
        """The view of the ladder for about this budget, or else a new one: a copy of another, O(n).

        It is on the ladder from now on, so that what happens to the others happens to it.
        """
        for view in self.ladder:
            if view.asked is not None and is_near(view.asked.tokens, budget.tokens):
                return view
        view = above.copy()
        view.asked, view.is_spare = budget, True
        self.ladder = [*self.ladder, view]
        return view

    def keep_only(self, ladder: list[View]) -> None:
        """Gives up all others but the whole: the ladder is complete."""
        self.ladder, self._adopted = ladder, []

    def adopt(self, view: View) -> None:
        """Takes a view that is given up, until the ladder is complete the next time."""
        view.is_spare = True
        self._adopted = [view, *self._adopted][:_ADOPTED]

    def renew(self) -> None:
        """There was a request: what failed may be tried again."""
        self.ahead.renew()
        for view in self.all():
            view.ahead.renew()

    def narrow(self, shown: Callable[[Any], bool]) -> None:
        """Leaves out what the model is no longer to see."""
        for view in self.all():
            view.narrow(shown)
