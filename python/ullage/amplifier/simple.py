"""``SimpleContextManager``: the context of an Amplifier session, in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage._engine.arguments import require_callable
from ullage._engine.roles import is_system
from ullage.amplifier import notice
from ullage.amplifier.budget import Budget, budget_of, expected_budget
from ullage.amplifier.configuration import arguments, mount_in
from ullage.amplifier.importance import Importance, Judge
from ullage.amplifier.messages import copies, is_hook, with_timestamp
from ullage.amplifier.settings import CompactionSettings, require
from ullage.amplifier.views import Views

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ullage import Recorder, Store, TokenCounter
    from ullage._engine.listener import OnCompaction
    from ullage.amplifier.compaction import Compaction
    from ullage.amplifier.settings import StrategyName, Verbosity
    from ullage.amplifier.views import BudgetView
    from ullage.view import Outlook

    PromptFactory = Callable[[], Awaitable[str]]


@dataclass(frozen=True)
class _Request:
    """The parts of a request.

    Attributes:
        view: The view of the history within its budget.
        budget: Its budget.
        prompt: The system prompt before the history, as a message; or an empty list.
        prompt_tokens: The tokens of the system prompt.
        room: The tokens for the messages, without the prompt and the notice.
    """

    view: BudgetView
    budget: Budget
    prompt: list[dict[str, Any]]
    prompt_tokens: int
    room: int


class SimpleContextManager:
    """Keeps the messages of a session, and shows the model as many as fit.

    The history is never compacted: :meth:`get_messages` returns all of it. The model sees a view of
    it. The view is compacted at ``compact_threshold`` of the budget, and then only grows until the
    next compaction. So a request reads only new messages, and the provider's prompt cache stays
    valid.

    There are three strategies. "simple" keeps the system messages, the task and the last
    ``keep_last`` messages, without repetitions. "smart" uses Amplifier's eight levels. It keeps
    lines of removed messages that are likely to be needed, and whole messages that ``importance``
    rates high. "custom" calls ``compaction_function``. If its result is over the budget, the engine
    shortens the result.

    Args:
        max_tokens: The budget if neither the caller nor the provider gives one.
        compact_threshold: Share of the budget above which a view is compacted.
        target_usage: Share of the budget that is used after a compaction by "smart" or "custom".
        protected_recent: Share of the messages, from the newest, that "smart" changes last.
        protected_tool_results: The number of newest tool results that "smart" changes last.
        truncate_chars: The characters that are kept of a shortened tool result.
        compaction_notice_enabled: True to tell the model about a compaction.
        compaction_notice_token_reserve: Tokens for the notice, at most a quarter of the budget.
        compaction_notice_verbosity: "off", "minimal", "normal" or "verbose".
        compaction_notice_min_level: The lowest level, 0 to 8, with a notice.
        hooks: Amplifier's hooks, which get ``context:compact`` and ``context:compaction``.
        auto_compact: False to compact only in :meth:`compact`, and not before requests.
        compaction_strategy: "simple", "smart" or "custom".
        keep_last: Messages at the end that "simple" keeps.
        truncate_boundary: Share of the tool results, from the oldest, that "smart" shortens before
            it removes messages.
        compaction_function: The user's own compaction, plain or async.
        importance: Scores messages from 0 to 1, plain or async. Messages from 0.5 up stay whole.
        counter: Counts tokens. The default is the counter of the provider's model.
        store: Keeps the content that the view removes, for a tool that reads it back. By default
            there is no store, because the history has everything.
        on_compaction: Called with the ``Report`` of each compaction of the engine, see
            ``ullage.ContextManager``. ``compaction_function`` has no report.
        recorder: Records these compactions and each request, for a report of the session.

    Raises:
        PolicyError: If a setting is out of range.
    """

    def __init__(  # noqa: PLR0917 - Amplifier's parameters, in its order
        self,
        max_tokens: int = 200_000,
        compact_threshold: float = 0.92,
        target_usage: float = 0.50,
        protected_recent: float = 0.30,
        protected_tool_results: int = 5,
        truncate_chars: int = 250,
        compaction_notice_enabled: bool = True,
        compaction_notice_token_reserve: int = 800,
        compaction_notice_verbosity: Verbosity = "normal",
        compaction_notice_min_level: int = 1,
        hooks: Any = None,
        *,
        auto_compact: bool = True,
        compaction_strategy: StrategyName = "simple",
        keep_last: int = 10,
        truncate_boundary: float = 0.50,
        compaction_function: Compaction | None = None,
        importance: Importance | None = None,
        counter: TokenCounter | None = None,
        store: Store | None = None,
        on_compaction: OnCompaction | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        require_callable("on_compaction", on_compaction)
        self._views = Views(
            counter,
            None if importance is None else Judge(importance),
            {"store": store, "on_compaction": on_compaction, "recorder": recorder},
        )
        self._recorder = recorder
        # The budget of the last request.
        self._budget: Budget | None = None
        self._prompt: PromptFactory | None = None
        # System messages in front of the history in every request.
        self._memory: list[dict[str, Any]] = []
        # The view that the last request showed.
        self._shown: BudgetView | None = None
        # The session. Before the first request, the budget is that of its provider.
        self._coordinator: Any = None
        self.messages: list[dict[str, Any]] = []
        self.max_tokens = max_tokens
        self.compact_threshold = compact_threshold
        self.target_usage = target_usage
        self.protected_recent = protected_recent
        self.protected_tool_results = protected_tool_results
        self.truncate_chars = truncate_chars
        self.truncate_boundary = truncate_boundary
        self.compaction_notice_enabled = compaction_notice_enabled
        self.compaction_notice_token_reserve = compaction_notice_token_reserve
        self.compaction_notice_verbosity = compaction_notice_verbosity
        self.compaction_notice_min_level = compaction_notice_min_level
        self.hooks = hooks
        self.auto_compact = auto_compact
        self.compaction_strategy = compaction_strategy
        self.keep_last = keep_last
        self.compaction_function = compaction_function
        # The settings that the document's examples read.
        self.config: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "compact_threshold": compact_threshold,
            "auto_compact": auto_compact,
            "compaction_strategy": compaction_strategy,
        }
        require(vars(self))
        CompactionSettings.of(self).policy(max_tokens)

    def join(self, coordinator: Any) -> None:
        """Joins a session, and uses the hooks of the session from now on."""
        self._coordinator = coordinator
        self.hooks = getattr(coordinator, "hooks", None)

    async def add_message(self, message: dict[str, Any]) -> None:
        """Adds a copy of a message, with the time in ``metadata.timestamp``. O(its length).

        Raises:
            MessageError: If it cannot be read.
        """
        self.messages.append(with_timestamp(message))

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        """Returns the messages of the next request: valid, and within the budget.

        O(new messages). A compaction runs in a thread; it takes some tens of milliseconds for a
        budget of 200,000 tokens.

        Args:
            token_budget: Tokens that the request may take.
            provider: Gives the window of its model if there is no ``token_budget``.

        Returns:
            A new list. Do not change the messages in it.

        Raises:
            BudgetError: If the messages that must stay do not fit. It names the largest by their
                indices in :meth:`get_messages`.
            MessageError: If a message cannot be read.
        """
        await self._open()
        budget = budget_of(token_budget, provider, self.max_tokens)
        request = await self._request(budget)
        if self.auto_compact:
            messages, tokens = await self._fit(request)
        else:
            outlook = self._outlook(request)
            messages, tokens = outlook.messages, outlook.tokens
        self._budget = budget
        sent = self._with_notice(request, messages, tokens)
        if self._recorder is not None:
            # In a thread, because it reads all of the request.
            await asyncio.to_thread(self._recorder.request, sent)
        return sent

    async def get_messages(self) -> list[dict[str, Any]]:
        """Returns copies of all messages. Messages of memory files are first. O(messages)."""
        await self._open()
        return [dict(message) for message in (*self._memory, *self.messages)]

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Replaces all messages, for a session that is resumed. O(length of the messages).

        Raises:
            MessageError: If a message cannot be read; then nothing changes.
        """
        self.messages = await asyncio.to_thread(copies, list(messages))
        self._views.forget()

    async def clear(self) -> None:
        """Removes all messages."""
        self.messages = []
        self._views.forget()

    async def get_token_count(self) -> int:
        """Returns the tokens of the next request with its notice, before any compaction."""
        request = await self._next_request()
        outlook = self._outlook(request)
        sent = self._with_notice(request, outlook.messages, outlook.tokens)
        return request.view.counter.count_messages(sent)

    async def should_compact(self) -> bool:
        """True if the next request would be compacted."""
        request = await self._next_request()
        return self.auto_compact and self._outlook(request).is_due

    async def compact(self) -> int:
        """Compacts the view now, and returns the tokens saved. The history stays unchanged.

        Raises:
            BudgetError: If the messages that must stay do not fit.
        """
        request = await self._next_request()
        before = request.view.stats
        await self._fit(request, hard=True)
        stats = request.view.stats
        return 0 if stats is None or stats is before else int(stats["tokens_saved"])

    async def set_system_prompt_factory(self, factory: PromptFactory | None) -> None:
        """Calls the factory for the system prompt of each request.

        The prompt replaces the system messages of the history, except those of hooks and of memory
        files.
        """
        await self._open()
        self._prompt = factory

    async def _open(self) -> None:
        """Reads the history of a subclass that has it in a file."""

    @property
    def _last_compaction_stats(self) -> dict[str, Any] | None:
        """The stats of the compaction in the last request."""
        return None if self._shown is None else self._shown.stats

    def _format_compaction_notice(self) -> str:
        """Returns the text of the notice. Subclasses may override it."""
        return notice.notice_of(self._last_compaction_stats or {}, self.compaction_notice_verbosity)

    @property
    def _has_notice(self) -> bool:
        return self.compaction_notice_enabled and self.compaction_notice_verbosity != "off"

    async def _next_request(self) -> _Request:
        """Returns a request with the budget of the last one, or with the most likely budget."""
        await self._open()
        budget = self._budget or expected_budget(self._coordinator, self.max_tokens)
        if budget is None:
            last = self._views.last
            budget = Budget(self.max_tokens) if last is None else last.budget
        return await self._request(budget)

    async def _request(self, budget: Budget) -> _Request:
        text = None if self._prompt is None else str(await self._prompt())
        prompt = [] if text is None else [{"role": "system", "content": text}]
        view = self._views.view_for(CompactionSettings.of(self), budget, self.compaction_function)
        tokens = view.counter.count_messages(prompt) if prompt else 0
        reserve = self.compaction_notice_token_reserve if self._has_notice else 0
        room = max(1, budget.beside(reserve) - tokens)
        return _Request(view, budget, prompt, tokens, room)

    async def _fit(self, request: _Request, *, hard: bool = False) -> tuple[list[Any], int]:
        """Returns the messages that fit, and their tokens."""
        history, view, before = self._history(), request.view, request.view.stats
        room, most = request.room, request.budget.tokens - request.prompt_tokens
        if most <= 0:
            error = BudgetError(
                f"the system messages before the history take {request.prompt_tokens:,} tokens, and"
                f" the budget is {request.budget.tokens:,}; shorten them or raise the budget"
            )
            error.budget, error.floor = request.budget.tokens, request.prompt_tokens + 1
            error.messages = []
            raise error
        try:
            fitted = await view.messages(history, room, request.prompt_tokens, hard=hard)
        except BudgetError:
            # Without the reserve for the notice.
            if most <= room:
                raise
            fitted = await view.messages(history, most, request.prompt_tokens, hard=hard)
        if view.stats is not None and view.stats is not before:
            await self._keep(view, fitted[0])
            await notice.emit(self.hooks, view.stats)
        return fitted

    def _outlook(self, request: _Request) -> Outlook:
        return request.view.outlook(self._history(), request.room)

    async def _keep(self, view: BudgetView, messages: list[Any]) -> None:
        """Saves a compacted view in a subclass with a file."""

    def _history(self) -> list[Any]:
        """Returns all messages that the model may see."""
        if self._prompt is None:
            return [*self._memory, *self.messages]
        shown = (message for message in self.messages if not is_system(message) or is_hook(message))
        return [*self._memory, *shown]

    def _with_notice(
        self, request: _Request, messages: list[Any], tokens: int
    ) -> list[dict[str, Any]]:
        """Returns the system prompt and the messages, with the notice after system messages."""
        self._shown = request.view
        sent, stats = [*request.prompt, *messages], request.view.stats
        if not self._has_notice or stats is None:
            return sent
        if stats["strategy_level"] < self.compaction_notice_min_level:
            return sent
        text = self._format_compaction_notice()
        message = notice.message_of(text)
        room = request.budget.tokens - request.prompt_tokens - tokens
        if text and request.view.counter.count_messages([message]) <= room:
            place = next((n for n, m in enumerate(sent) if not is_system(m)), len(sent))
            sent.insert(place, message)
        return sent


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts a :class:`SimpleContextManager` as the context of a session.

    Args:
        coordinator: Amplifier's coordinator.
        config: The arguments of the class by name; functions as "package.module:name".

    Raises:
        PolicyError: If a setting is unknown or out of range.
    """
    context = SimpleContextManager(**arguments(SimpleContextManager, config))
    await mount_in(coordinator, context)
