"""How a context comes from its history to a request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage import BudgetError
from ullage.amplifier import compaction, events, notice
from ullage.amplifier.budget import Budget, expected_budget
from ullage.amplifier.mending import mended_end
from ullage.amplifier.settings import Settings
from ullage.amplifier.shape import is_hook, is_system
from ullage.amplifier.views import Views

if TYPE_CHECKING:
    from ullage import Recorder
    from ullage.amplifier.custom import Compaction
    from ullage.amplifier.engines import Engines
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import StrategyName, Verbosity
    from ullage.amplifier.view import View

PromptFactory: TypeAlias = Callable[[], Awaitable[str]]


class Viewing:
    """The side of a context that its host does not see.

    Its settings are attributes, since hosts change them between requests.
    """

    messages: list[dict[str, Any]]
    max_tokens: int
    compact_threshold: float
    target_usage: float
    protected_recent: float
    protected_tool_results: int
    truncate_chars: int
    truncate_boundary: float
    compaction_notice_enabled: bool
    compaction_notice_token_reserve: int
    compaction_notice_verbosity: Verbosity
    compaction_notice_min_level: int
    hooks: Any
    auto_compact: bool
    compaction_strategy: StrategyName
    keep_last: int
    compaction_function: Compaction | None

    def __init__(self, engines: Engines, judge: Judge | None, recorder: Recorder | None) -> None:
        self._engines = engines
        self._judge = judge
        self._recorder = recorder
        self._views = Views()
        self._budget: Budget | None = None
        self._prompt: PromptFactory | None = None
        # What the factory made for the last request. To ask it is the request's business.
        self._last_prompt: str | None = None
        # System messages that stand before the history in every request, and are no part of it.
        self._standing: list[dict[str, Any]] = []
        # The session whose provider tells the budget before the first request does.
        self._coordinator: Any = None

    def mounted_in(self, coordinator: Any) -> None:
        """Notes the session whose context it is."""
        self._coordinator = coordinator

    @property
    def _view(self) -> View:
        """That of the last request."""
        return self._views.last

    @property
    def _known_budget(self) -> Budget | None:
        """That of the last request, or of the session's provider; None if neither is there."""
        return self._budget or expected_budget(self._coordinator, self.max_tokens)

    @property
    def _last_budget(self) -> Budget:
        """That of the last request, whose provider may have another window than ``max_tokens``.

        Before that, what is most likely to be it.
        """
        if (known := self._known_budget) is not None:
            return known
        # A resumed view was made for another one, which most likely still holds.
        return Budget(self._view.budget or self.max_tokens)

    @property
    def _asks_the_user(self) -> bool:
        """Whether a compaction calls a function of the user, which may be slow or cost money."""
        return self._judge is not None or self.compaction_strategy == "custom"

    @property
    def _has_spares(self) -> bool:
        """Whether views are made ready for requests whose budgets nobody has told yet."""
        return self.auto_compact and not self._asks_the_user

    @property
    def _last_compaction_stats(self) -> dict[str, Any] | None:
        return self._views.seen.stats

    def _format_compaction_notice(self) -> str:
        """The words of the notice; subclasses may have their own."""
        return notice.notice_of(self._last_compaction_stats or {}, self.compaction_notice_verbosity)

    def _settings(self) -> Settings:
        return Settings(
            strategy=self.compaction_strategy,
            threshold=self.compact_threshold,
            target=self.target_usage,
            keep=self.keep_last,
            recent=self.protected_recent,
            results=self.protected_tool_results,
            boundary=self.truncate_boundary,
            shorten_to=self.truncate_chars,
        )

    def _request(self, budget: Budget, prompt: str | None) -> compaction.Request:
        counter, front = self._engines.counter_for(budget.model), self._front(prompt)
        return compaction.Request(
            settings=self._settings(),
            budget=budget,
            reserve=self.compaction_notice_token_reserve if self._notices else 0,
            fixed=counter.count_messages(front) if front else 0,
            engines=self._engines,
            judge=self._judge,
            compaction=self.compaction_function,
        )

    @property
    def _notices(self) -> bool:
        return self.compaction_notice_enabled and self.compaction_notice_verbosity != "off"

    async def _is_due(self, view: View, request: compaction.Request) -> bool:
        """Whether a view has to be compacted; while a call waits, only if it does not fit."""
        model = request.budget.model
        if model == view.counted_for:
            is_due = request.is_due(view)
        else:
            # Another model may count everything anew.
            is_due = await asyncio.to_thread(request.is_due, view)
            view.counted_for = model
        return is_due and not self._may_wait(view, request)

    @staticmethod
    def _may_wait(view: View, request: compaction.Request) -> bool:
        """Whether a call waits for its result, and the view, as it was measured, for the call."""
        return view.waits and view.measured <= request.budget.tokens

    async def _compact(self, view: View, request: compaction.Request) -> dict[str, Any] | None:
        if self._may_wait(view, request):
            return None
        try:
            return await self._compacted(view, request)
        except BudgetError:
            if view.waits:
                # What came for it takes the room, and is shortened for each request until then.
                return None
            raise

    async def _compacted(self, view: View, request: compaction.Request) -> dict[str, Any] | None:
        if view.is_spare:
            stats = await compaction.compact(view, replace(request, is_told=False))
            view.untold = view.untold if stats is None else [stats]
            return stats
        spares = self._views.spares
        if self._has_spares and view.stats is None and spares.whole is None:
            spares.keep_whole(view)
        stats = await compaction.compact(view, request)
        if stats is not None:
            view.untold = []
            await self._keep(view)
            await events.emit(self.hooks, stats)
        return stats

    async def _keep(self, view: View) -> None:
        """Keeps a compacted view, where it is to outlive the process."""

    async def _keep_shown(self, own: View, view: View) -> None:
        """Likewise what a request shows, with its own view or another one."""

    def _catch_up(self, view: View, budget: Budget) -> None:
        # With spares, one for a larger budget begins again with a message.
        tokens = 0 if self._has_spares else budget.tokens
        view.follow(self.messages, tokens, self._is_shown)
        view.mend(mended_end)

    def _shown(self, view: View, request: compaction.Request) -> tuple[list[Any], int]:
        """A view as a provider takes it, and its tokens.

        What a call still waits for is said to be missing.
        """
        seen, shown = view.shown(mended_end)
        return shown, request.tokens(seen) if shown is seen else request.tokens_beside(seen, shown)

    def _is_shown(self, message: Any) -> bool:
        return self._prompt is None or not is_system(message) or is_hook(message)

    async def _system_prompt(self) -> str | None:
        self._last_prompt = None if self._prompt is None else str(await self._prompt())
        return self._last_prompt

    def _sent(
        self, budget: Budget, prompt: str | None, shown: list[Any], tokens: int
    ) -> list[dict[str, Any]]:
        """Messages with the system prompt in front and the notice behind the system messages."""
        sent = [*self._front(prompt), *shown]
        told = self._notice(budget, budget.tokens - tokens)
        if told:
            place = next((n for n, m in enumerate(sent) if not is_system(m)), len(sent))
            sent.insert(place, told)
        return sent

    async def _recorded(self, sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A request, once it is recorded."""
        if self._recorder is not None:
            # In a thread, because it reads all of the request.
            await asyncio.to_thread(self._recorder.request, sent)
        return sent

    def _front(self, prompt: str | None) -> list[dict[str, Any]]:
        first = [] if prompt is None else [{"role": "system", "content": prompt}]
        return [*first, *self._standing]

    def _notice(self, budget: Budget, room: int) -> dict[str, Any] | None:
        """The notice, if one is wanted and there is room for it."""
        stats = self._last_compaction_stats
        if not self._notices or stats is None:
            return None
        if stats["strategy_level"] < self.compaction_notice_min_level:
            return None
        told = self._format_compaction_notice()
        if not told:
            return None
        message = notice.message_of(told)
        counter = self._engines.counter_for(budget.model)
        return message if counter.count_messages([message]) <= room else None
