"""The views of a session: one for each model and budget of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import MessageError
from ullage._core import share_compactions
from ullage._engine.counting import counter_for
from ullage._engine.logger import Logger
from ullage.amplifier.budget import Budget
from ullage.amplifier.compaction import Strategy
from ullage.amplifier.stats import stats_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ullage import Report, TokenCounter
    from ullage.amplifier.compaction import Compaction
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import CompactionSettings
    from ullage.view import Outlook

logger = Logger(__name__)

# A session has a few models, and each has a budget. If a view was dropped, it is made again from
# the history with one compaction.
_KEPT = 16
# The encoding of OpenAI's newer models, if the provider does not name its model.
_ENCODING = "o200k_base"


class BudgetView:
    """The view of the history within one budget, and the stats of its last compaction.

    Args:
        strategy: Compacts the messages.
        budget: The budget of its first request.
        past: A state that :meth:`past` returned, or None.

    Attributes:
        budget: The budget of the last request.
        counter: Counts its tokens.
        stats: The stats of the last compaction, or None.
        before: The messages that the model saw before the last compaction.
    """

    def __init__(
        self, strategy: Strategy, budget: Budget, past: Mapping[str, Any] | None = None
    ) -> None:
        self.strategy = strategy
        self.budget = budget
        self.counter = strategy.counter
        self.stats: dict[str, Any] | None = None if past is None else past["stats"]
        self.before: list[Any] = []
        self._view = strategy.engine(budget.tokens).open(
            None if past is None else past["view"], compaction=self._compact, append_only=True
        )
        self._tokens_before = 0
        self._compactions = 0
        # The compactions that `stats` describes: the strategy's number, and the engine's report.
        self._described: tuple[int, Report | None] = (0, None)

    def serves(self, strategy: Strategy, budget: Budget) -> bool:
        """True if a request with this budget gets the same messages."""
        return self.strategy == strategy and share_compactions(self.budget.tokens, budget.tokens)

    async def messages(
        self, history: list[Any], room: int, prompt: int, *, hard: bool = False
    ) -> tuple[list[Any], int]:
        """Returns the messages of a request, and their tokens.

        Args:
            history: All messages that the model may see.
            room: The greatest number of tokens in the messages.
            prompt: The tokens of the system prompt before them.
            hard: True to compact even if it is not due.

        Raises:
            BudgetError: If the messages that must stay do not fit.
            MessageError: If a message cannot be read.
        """
        request = await self._view.amessages(history, room, hard=hard)
        tokens = self._view.tokens
        done = (self._compactions, self._view.report)
        if done != self._described:
            self._described = done
            counts = (self._tokens_before + prompt, tokens + prompt)
            settings = self.strategy.settings
            self.stats = stats_of(history, request, counts, settings, room + prompt)
        return request, tokens

    def outlook(self, history: list[Any], room: int) -> Outlook:
        """Returns the messages before any compaction, and says if one is due."""
        return self._view.outlook(history, room)

    def past(self) -> dict[str, Any]:
        """Returns the state for another process, as JSON-like data."""
        budget = {"tokens": self.budget.tokens, "model": self.budget.model}
        return {"budget": budget, "stats": self.stats, "view": self._view.state()}

    async def _compact(self, messages: list[Any], limit: int, pins: Sequence[int]) -> Report | None:
        before = self.before = list(messages)
        self._tokens_before = self.counter.count_messages(messages)
        report = await self.strategy.compact(messages, limit, pins)
        if list(map(id, messages)) == list(map(id, before)):
            return None
        self._compactions += 1
        return report


class Views:
    """Creates the views of a session, and keeps the last ones.

    Args:
        counter: The counter of all views. By default, each model has its own counter.
        judge: Selects important messages by the user's function, or None.
        options: Further arguments of the engines.
    """

    def __init__(
        self, counter: TokenCounter | None, judge: Judge | None, options: Mapping[str, Any]
    ) -> None:
        self._counter = counter
        self._judge = judge
        self._options = options
        self._views: list[BudgetView] = []

    @property
    def last(self) -> BudgetView | None:
        """The view of the last request."""
        return self._views[-1] if self._views else None

    def counter_for(self, model: str | None) -> TokenCounter:
        """Returns the counter of a model, always the same one."""
        return counter_for(model or _ENCODING) if self._counter is None else self._counter

    def view_for(
        self, settings: CompactionSettings, budget: Budget, function: Compaction | None
    ) -> BudgetView:
        """Returns the view of a request.

        Raises:
            PolicyError: If a setting is out of range.
        """
        strategy = self._strategy(settings, budget, function)
        view = next((view for view in self._views if view.serves(strategy, budget)), None)
        view = view or BudgetView(strategy, budget)
        view.budget = budget
        self._views = [*(other for other in self._views if other is not view), view][-_KEPT:]
        return view

    def forget(self) -> None:
        """Drops all views."""
        self._views = []

    def past(self) -> list[dict[str, Any]]:
        """Returns the states of the compacted views for another process."""
        return [view.past() for view in self._views if view.stats is not None]

    def restore(
        self, past: Sequence[Any], settings: CompactionSettings, function: Compaction | None
    ) -> None:
        """Adds the views of another process. Invalid states are logged and left out."""
        for one in past:
            try:
                budget = Budget(**one["budget"])
                strategy = self._strategy(settings, budget, function)
                self._views.append(BudgetView(strategy, budget, one))
            except (KeyError, TypeError, MessageError) as error:  # noqa: PERF203 - one by one
                logger.warning("error=<%s> | the view in the file cannot be read", error)

    def _strategy(
        self, settings: CompactionSettings, budget: Budget, function: Compaction | None
    ) -> Strategy:
        counter = self.counter_for(budget.model)
        return Strategy(settings, function, self._judge, budget.model, counter, self._options)
