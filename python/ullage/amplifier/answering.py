"""With which view a context answers a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.amplifier import compaction, events
from ullage.amplifier.preparing import Preparing

if TYPE_CHECKING:
    from ullage.amplifier.view import View

# A request that another one has outrun looks again so often at what that one left.
_TRIES = 3
# What one model counts is at most so many times what another one does. More than that need not be
# counted again to know that it is too much.
_OTHER_TOKENS = 2


class Answering(Preparing):
    """Answers with what is ready, and compacts only what is quick or has to be."""

    async def _answer(
        self, own: View, request: compaction.Request, is_guess: bool
    ) -> tuple[View, list[Any], int]:
        """The view that answers a request, as a provider takes it, and its tokens.

        Args:
            own: The view of such requests.
            request: The request.
            is_guess: Whether its own view is to be compacted once more.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        is_guess = is_guess and request.is_quick(own)
        view = None if is_guess else await self._ready(own, request)
        if view is not None:
            shown, tokens = self._shown(view, request)
            if tokens <= request.budget.tokens:
                if view.untold is not None:
                    told, view.untold = view.untold, None
                    await events.emit(self.hooks, told)
                return view, shown, tokens
        self._catch_up(own, request.budget)
        for _ in range(_TRIES):
            if not is_guess and not await self._is_due(own, request):
                break
            is_guess = False
            await self._compact(own, request)
        shown, tokens = self._shown(own, request)
        if tokens > request.budget.tokens:
            # Others are always faster; or a call waits, which the view keeps until it is answered.
            shown = await compaction.alone(shown, request)
            tokens = request.tokens(shown)
        return own, shown, tokens

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
        if view.counted_for != request.budget.model and view.measured > limit * _OTHER_TOKENS:
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
