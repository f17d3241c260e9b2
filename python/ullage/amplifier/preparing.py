"""What a context does ahead of its requests."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ullage.amplifier.budget import Budget
from ullage.amplifier.mending import mended_end
from ullage.amplifier.spares import STEP
from ullage.amplifier.viewing import Viewing

if TYPE_CHECKING:
    from ullage.amplifier.view import View


class Preparing(Viewing):
    """Compacts the views when messages come, so that a request finds it done."""

    async def _prepare_for_new(self) -> None:
        """Makes the views ready for requests after a message was added."""
        self._views.seen = None
        for view in self._views.all():
            await view.ahead.tried(partial(self._take_in_new, view))
        await self._views.spares.ahead.tried(self._prepare_spares)

    async def _prepare_for_all(self) -> None:
        """Makes the view ready for a request over messages that came all at once."""
        self._view.ahead.renew()
        await self._view.ahead.tried(self._take_in_all)
        await self._views.spares.ahead.tried(self._prepare_spares)

    async def _take_in_new(self, view: View) -> bool:
        budget = view.next_budget or self._last_budget
        if view.is_behind(self.messages, budget.tokens):
            await asyncio.to_thread(self._read, view, budget)
        else:
            self._follow(view, budget.tokens)
        return await self._compact_ahead(view, budget)

    async def _take_in_all(self) -> bool:
        budget = self._view.next_budget or self._last_budget
        # In a thread, since it reads and counts everything.
        await asyncio.to_thread(self._read, self._view, budget)
        return await self._compact_ahead(self._view, budget)

    async def _prepare_spares(self) -> bool:
        if not self._has_spares:
            return True
        spares, lowest = self._views.spares, self._views.smallest
        budget = lowest.next_budget or self._last_budget
        request = self._request(budget, self._last_prompt)
        if spares.whole is not None:
            self._follow(spares.whole, 0)
            await self._is_due(spares.whole, request)
        known = spares.ladder
        ladder: list[View] = []
        for view in known:
            await view.ahead.tried(partial(self._take_in_new, view))
        while 0 < lowest.measured <= budget.tokens:
            if request.is_quick(lowest):
                spares.keep_only(ladder)
                break
            # What has room to spare is as good as one of a smaller budget.
            is_roomy = lowest.measured * STEP <= budget.tokens
            tokens = (lowest.measured if is_roomy else budget.tokens) // STEP
            lowest = spares.rung(lowest, Budget(tokens, budget.model))
            if lowest not in known:
                await lowest.ahead.tried(partial(self._take_in_new, lowest))
            budget = lowest.asked or budget
            ladder.append(lowest)
        return True

    def _follow(self, view: View, budget: int) -> None:
        view.follow(self.messages, budget, self._is_shown)
        # What is interrupted is else mended by the request: its result may still come.
        if view.is_late:
            view.mend(mended_end)

    def _read(self, view: View, budget: Budget) -> None:
        view.follow(self.messages, budget.tokens, self._is_shown)
        view.mend(mended_end)
        self._request(budget, self._last_prompt).is_due(view)

    async def _compact_ahead(self, view: View, budget: Budget) -> bool:
        """Compacts a view if a request of this budget would; whether it may do so again.

        A host may add a thousand messages without a request. To compact whenever they fill the view
        costs each of them a little; what asks the user's function is done once.
        """
        if not self.auto_compact or view.is_astray:
            return True
        # What asks the user's function waits until the budget is known.
        if self._asks_the_user and self._known_budget is None:
            return True
        request, read = self._request(budget, self._last_prompt), view.read
        is_due = await self._is_due(view, request)
        is_compacted = is_due and await self._compact(view, request) is not None
        view.is_prepared = view.read == read
        if not is_compacted:
            return True
        view.is_assumed = self._budget is None
        return not self._asks_the_user
