"""The views of a session: one for each model and budget that its requests have."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ullage import ContextManager, MessageError, TokenCounter
from ullage._core import share_compactions
from ullage._engine.logger import Logger
from ullage.amplifier.budget import Budget
from ullage.amplifier.compaction import compact
from ullage.amplifier.stats import Compacted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage import Recorder, Report
    from ullage._engine.listener import OnCompaction
    from ullage.amplifier.compaction import EngineFor
    from ullage.amplifier.custom import Compaction
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import Settings
    from ullage.view import Outlook

logger = Logger(__name__)

# A session has a few models, and each has a budget. A view that was forgotten is made again from
# the history, which takes one compaction.
_KEPT = 16


class BudgetView:
    """The view of the history within one budget, and the report of its last compaction.

    Args:
        settings: How it is compacted.
        budget: The budget of its first request.
        engine_for: Makes the engine.
        judge: Asks the user which messages are important.
        function: The user's own compaction.
        past: What :meth:`past` returned, or None.

    Attributes:
        budget: The budget of the last request.
        counter: What counts its tokens.
        stats: What the last compaction did, or None.
        before: What the model saw before the last compaction.
    """

    def __init__(
        self,
        settings: Settings,
        budget: Budget,
        engine_for: EngineFor,
        judge: Judge | None,
        function: Compaction | None,
        *,
        past: Mapping[str, Any] | None = None,
    ) -> None:
        self.settings = settings
        self.budget = budget
        self.function = function
        self.stats: dict[str, Any] | None = None if past is None else past["stats"]
        self.before: list[Any] = []
        self._engine_for = engine_for
        self._judge = judge
        engine = engine_for(budget.tokens)
        self.counter = engine.counter
        self._view = engine.open(
            None if past is None else past["view"], compaction=self._compact, append_only=True
        )
        self._counted: tuple[int, Report | None] = (0, None)
        self._compactions = 0
        self._tokens_before = 0

    def serves(self, settings: Settings, budget: Budget, function: Compaction | None) -> bool:
        """True if a request with this budget sees the same as others."""
        is_alike = (self.settings, self.function) == (settings, function)
        is_near = share_compactions(self.budget.tokens, budget.tokens)
        return is_alike and is_near and self.budget.model == budget.model

    async def messages(
        self, history: list[Any], room: int, prompt: int, *, hard: bool = False
    ) -> tuple[list[Any], int]:
        """The messages of a request, and their tokens.

        Args:
            history: All messages that the model may see.
            room: Tokens that the messages may take.
            prompt: Tokens of the system prompt in front of them.
            hard: Whether they are compacted in any case.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        request = await self._view.amessages(history, room, hard=hard)
        tokens = self._view.tokens
        done = (self._compactions, self._view.report)
        if done != self._counted:
            self._counted = done
            counts = (self._tokens_before + prompt, tokens + prompt)
            self.stats = Compacted(history, request, *counts).stats(self.settings, room + prompt)
        return request, tokens

    def outlook(self, history: list[Any], room: int) -> Outlook:
        """The messages before any compaction, and whether one is due."""
        return self._view.outlook(history, room)

    def past(self) -> dict[str, Any]:
        """Returns the state with which another process goes on, as JSON-like data."""
        budget = {"tokens": self.budget.tokens, "model": self.budget.model}
        return {"budget": budget, "stats": self.stats, "view": self._view.state()}

    async def _compact(self, messages: list[Any], limit: int, pins: Sequence[int]) -> Report | None:
        self.before = list(messages)
        self._tokens_before = self.counter.count_messages(messages)
        report = await compact(
            messages,
            limit,
            pins,
            settings=self.settings,
            engine_for=self._engine_for,
            counter=self.counter,
            judge=self._judge,
            function=self.function,
        )
        if list(map(id, messages)) == list(map(id, self.before)):
            return None
        self._compactions += 1
        return report


class Views:
    """Makes the views of a session, and remembers the last ones.

    Args:
        counter: What counts for all of them. If not given, the counter of the model where the
            provider says which it is, and that of OpenAI's newer models where it does not.
        store: Where what leaves a view is kept; None for nowhere, since the history has it all.
        judge: Asks the user which messages are important.
        on_compaction: Is called after each compaction.
        recorder: Records them.
    """

    def __init__(
        self,
        counter: TokenCounter | None,
        store: Any,
        judge: Judge | None,
        on_compaction: OnCompaction | None,
        recorder: Recorder | None,
    ) -> None:
        self._counter = counter
        self._given = {"store": store, "on_compaction": on_compaction, "recorder": recorder}
        self._judge = judge
        self._counters: dict[str | None, TokenCounter] = {}
        self._views: list[BudgetView] = []
        self._choosing = threading.Lock()

    @property
    def last(self) -> BudgetView | None:
        """The view of the last request."""
        return self._views[-1] if self._views else None

    def counter_for(self, model: str | None) -> TokenCounter:
        """The counter of a model, always the same one."""
        if self._counter is not None:
            return self._counter
        with self._choosing:
            if model not in self._counters:
                self._counters[model] = (
                    TokenCounter() if model is None else TokenCounter.for_model(model)
                )
            return self._counters[model]

    def view_for(
        self, settings: Settings, budget: Budget, function: Compaction | None
    ) -> BudgetView:
        """The view of a request.

        Raises:
            PolicyError: If a setting is out of range.
        """
        with self._choosing:
            views = self._views
            view = next((v for v in views if v.serves(settings, budget, function)), None)
        if view is None:
            view = self._made(settings, budget, function, None)
        view.budget = budget
        with self._choosing:
            others = [other for other in self._views if other is not view]
            self._views = [*others, view][-_KEPT:]
        return view

    def forget(self) -> None:
        """Begins again with the next request."""
        with self._choosing:
            self._views = []

    def past(self) -> list[dict[str, Any]]:
        """Returns everything that another process needs of the views that were compacted."""
        return [view.past() for view in self._views if view.stats is not None]

    def restore(self, past: Sequence[Any], settings: Settings, function: Compaction | None) -> None:
        """Takes up what another process left. What no version of this wrote is left out."""
        for one in past:
            try:
                budget = Budget(**one["budget"])
                self._views.append(self._made(settings, budget, function, one))
            except (KeyError, TypeError, MessageError) as error:  # noqa: PERF203 - one by one
                logger.warning("error=<%s> | the view in the file cannot be read", error)

    def _made(
        self,
        settings: Settings,
        budget: Budget,
        function: Compaction | None,
        past: Mapping[str, Any] | None,
    ) -> BudgetView:
        counter = self.counter_for(budget.model)

        def engine_for(tokens: int, *, with_account: bool = False) -> ContextManager:
            policy = settings.policy(tokens, with_account=with_account)
            return ContextManager(policy, counter=counter, model=budget.model, **self._given)

        return BudgetView(settings, budget, engine_for, self._judge, function, past=past)
