"""With which view a context answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.amplifier import compaction, events
from ullage.amplifier.preparing import Preparing

if TYPE_CHECKING:
    from ullage.amplifier.view import View

# A request that another one has outrun looks again so often at what that one left.
_TRIES = 3
# What one model counts is seldom more than so many times what another one does.
_OTHER_TOKENS = 2


class Answering(Preparing):
    """Answers with what is ready, and compacts only what is quick or has to be."""

    async def _answer(self, own: View, request: compaction.Request) -> tuple[View, list[Any], int]:
        """The view that answers a request, as a provider takes it, and its tokens.

        Args:
            own: The view of such requests.
            request: The request.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        view, is_due = await self._next(own, request)
        for _ in range(_TRIES):
            if not is_due:
                break
            is_stuck = await self._compact(own, request) is None and own.waits
            is_due = not is_stuck and await self._is_due(own, request)
        shown, tokens = self._shown(view, request)
        if tokens > request.budget.tokens:
            # Others are always faster; or a call waits, which the view keeps until it is answered.
            shown = await compaction.alone(shown, request)
            tokens = request.tokens(shown)
        while view.untold:
            await events.emit(self.hooks, view.untold.pop())
        return view, shown, tokens

    async def _next(self, own: View, request: compaction.Request) -> tuple[View, bool]:
        """The view that answers a request, and whether that is its own and compacted first."""
        is_guess = self._is_guess(own) and request.is_quick(own)
        if not is_guess and (view := await self._ready(own, request)) is not None:
            return view, False
        self._catch_up(own, request.budget)
        return own, await self._is_due(own, request) or is_guess

    async def _ready(self, own: View, request: compaction.Request) -> View | None:
        """The view that answers as it is: its own, else the fullest other that fits.

        None if its own has to be compacted: because that is quick, or no other one fits.
        """
        if not self._has_spares:
            return own if await self._fits(own, request) else None
        if not own.is_behind(self.messages):
            if await self._fits(own, request):
                return own
            if request.is_quick(own):
                return None
            if own.is_prepared and own.measured <= request.budget.tokens:
                # The prompt has grown, or the budget shrunk a little. The next message sees to it.
                return own
        for other in self._views.stand_ins(own):
            if await self._fits(other, request):
                return other
        return None

    async def _fits(self, view: View, request: compaction.Request) -> bool:
        """Whether a view, brought up to date, needs no compaction."""
        limit = request.budget.tokens
        # Views grow, so what was too much need not be counted again.
        of_model = 1 if view.counted_for == request.budget.model else _OTHER_TOKENS
        if view.measured > limit * of_model:
            return False
        self._catch_up(view, request.budget)
        return not await self._is_due(view, request) and view.measured <= limit

    def _is_guess(self, view: View) -> bool:
        """Whether a view is what "simple" left before messages came that now are the last ones.

        No request has seen it yet, so that there is nothing in a provider's cache to spare.
        """
        if self._known_budget is not None or self.compaction_strategy != "simple":
            return False
        return view.is_assumed and view.has_grown
