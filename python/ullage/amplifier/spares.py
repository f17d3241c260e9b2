"""Views for budgets that no request has told yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.amplifier.ahead import Ahead
from ullage.amplifier.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ullage.amplifier.view import View

# Each is for so much less than the one before. A view is between half full and full, so what fits
# fills a quarter of an unknown budget or more; with a smaller step, more would be kept ready.
_STEP = 3


class Spares:
    """What answers the first request with a budget, until a message has made a view for it.

    A ladder of views, each for a third of the budget of the one before, down to one whose
    compaction a request can wait for, where its budget is smaller still. And all of the history,
    for a budget that has room for it.

    Attributes:
        whole: A view that is never compacted, from the first compaction of another on; else None.
        ahead: Makes them ready.
    """

    def __init__(self) -> None:
        self.whole: View | None = None
        self.ahead = Ahead()
        self._ladder: dict[int, View] = {}

    @property
    def ladder(self) -> list[View]:
        """Those of smaller and smaller budgets."""
        return list(self._ladder.values())

    def all(self) -> list[View]:
        """All that are kept."""
        return self.ladder if self.whole is None else [*self.ladder, self.whole]

    def adopt(self, view: View, budget: Budget) -> None:
        """Takes a view that was made for a budget that no request had; kept to the next message."""
        view.asked, view.is_spare = budget, True
        self._ladder = {budget.tokens: view, **self._ladder}

    def keep_whole(self, view: View) -> None:
        """Keeps what a view shows that is to be compacted for the first time. O(n)."""
        self.whole = view.copy()
        self.whole.is_spare = True

    def below(self, view: View, budget: Budget, is_quick: Callable[[View], bool]) -> Iterator[View]:
        """The ladder below a view of this budget, to be made ready one by one.

        Ends where one is compacted quickly, or could not be made ready; those below are given up.
        """
        ladder: dict[int, View] = {}
        tokens = budget.tokens
        while not is_quick(view) and (tokens := tokens // _STEP) > 0:
            view = self._ladder.get(tokens) or view.copy()
            view.asked, view.is_spare = Budget(tokens, budget.model), True
            ladder[tokens] = view
            yield view
            if not 0 < view.measured <= tokens:
                break
        self._ladder = ladder

    def renew(self) -> None:
        """There was a request: what failed may be tried again."""
        self.ahead.renew()
        for view in self.all():
            view.ahead.renew()

    def narrow(self, shown: Callable[[Any], bool]) -> None:
        """Leaves out what the model is no longer to see."""
        for view in self.all():
            view.narrow(shown)
