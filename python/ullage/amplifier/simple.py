"""``SimpleContextManager``: the context of an Amplifier session, in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage._engine.arguments import require_callable
from ullage.amplifier import checks, notice
from ullage.amplifier.budget import Budget, budget_of, expected_budget
from ullage.amplifier.configuration import arguments, mounted
from ullage.amplifier.importance import Importance, Judge
from ullage.amplifier.messages import is_hook, is_system, readable, stamped
from ullage.amplifier.settings import Settings
from ullage.amplifier.views import Views

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from ullage import Recorder, Store, TokenCounter
    from ullage._engine.listener import OnCompaction
    from ullage.amplifier.custom import Compaction
    from ullage.amplifier.settings import StrategyName, Verbosity
    from ullage.amplifier.views import BudgetView

    PromptFactory = Callable[[], Awaitable[str]]


class SimpleContextManager:
    """Keeps the messages of a session, and shows the model as many as fit.

    The history is never compacted: :meth:`get_messages` has all of it. What the model sees is a
    view, which is compacted at ``compact_threshold`` of the budget and then only grows, so that a
    request costs what is new, and a provider's cache stays of use.

    Strategies: "simple" leaves the system messages, the task and the last ``keep_last`` messages,
    calls and results together, no message twice. "smart" goes down Amplifier's eight levels and
    keeps the lines of what goes that are likely to be needed; with ``importance`` it keeps whole
    what that function holds important. "custom" calls ``compaction_function``. Whatever one of them
    leaves over the budget, the engine shortens.

    Args:
        max_tokens: The budget where neither the caller nor the provider gives one.
        compact_threshold: Share of the budget at which a view is compacted.
        target_usage: Share of the budget that "smart" and "custom" go down to.
        protected_recent: Share of the messages, the newest, that "smart" spares while it can.
        protected_tool_results: Tool results at the end that "smart" spares while it can.
        truncate_chars: Characters that are left of a tool result that is shortened.
        compaction_notice_enabled: Whether the model is told of a compaction.
        compaction_notice_token_reserve: Room for that, and at most a quarter of the budget.
        compaction_notice_verbosity: "off", "minimal", "normal" or "verbose".
        compaction_notice_min_level: From which level on, 0 to 8, it is told.
        hooks: Amplifier's hooks, which get ``context:compact`` and ``context:compaction``.
        auto_compact: Whether requests are compacted; if not, only :meth:`compact` does.
        compaction_strategy: "simple", "smart" or "custom".
        keep_last: Messages at the end that "simple" keeps.
        truncate_boundary: Share of the tool results, the oldest, that "smart" shortens before it
            removes messages.
        compaction_function: The user's own compaction; plain or async.
        importance: Scores messages from 0 to 1, plain or async: 0.5 and more is kept whole.
        counter: What counts tokens; if not given, the counter of the provider's model.
        store: Where ullage keeps what leaves the view, for a tool that looks it up; none by
            default, because the history has everything.
        on_compaction: Called with the ``Report`` of each compaction that the engine makes, see
            ``ullage.ContextManager``; a compaction by ``compaction_function`` has none.
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
        judge = None if importance is None else Judge(importance)
        self._views = Views(counter, store, judge, on_compaction, recorder)
        self._recorder = recorder
        # The budget of the last request.
        self._budget: Budget | None = None
        self._prompt: PromptFactory | None = None
        # System messages in front of the history in every request.
        self._standing: list[dict[str, Any]] = []
        # The view that the last request showed.
        self._shown: BudgetView | None = None
        # The session whose provider tells the budget before the first request does.
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
        # Its settings, as the document's examples read them.
        self.config: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "compact_threshold": compact_threshold,
            "auto_compact": auto_compact,
            "compaction_strategy": compaction_strategy,
        }
        checks.require(vars(self))
        self._settings().policy(max_tokens)

    def mounted_in(self, coordinator: Any) -> None:
        """Notes the session whose context it is."""
        self._coordinator = coordinator

    async def add_message(self, message: dict[str, Any]) -> None:
        """Adds a message, with the time in ``metadata.timestamp`` if it has none.

        The caller's dict stays as it is; the values in it are shared. O(its length).

        Raises:
            MessageError: If it is no message that can be read.
        """
        self.messages.append(stamped(message))

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        """Returns the request: within the budget, calls and results together.

        O(new messages). A compaction runs in a thread; it takes some tens of milliseconds for a
        budget of 200,000 tokens.

        Args:
            token_budget: The most that it may take.
            provider: Says what its model takes, if no ``token_budget`` is given.

        Returns:
            A new list; the messages in it are shared and not to be changed.

        Raises:
            BudgetError: If what must stay does not fit. It names the messages that take the room by
                their places in :meth:`get_messages`.
            MessageError: If a message cannot be read.
        """
        budget = budget_of(token_budget, provider, self.max_tokens)
        prompt = await self._system_prompt()
        view = self._view(budget)
        if self.auto_compact:
            messages, tokens = await self._fitted(view, budget, prompt)
        else:
            messages, tokens, _ = self._outlook(view, budget, prompt)
        self._budget = budget
        sent = self._sent(view, messages, budget.tokens - tokens, prompt)
        if self._recorder is not None:
            # In a thread, because it reads all of the request.
            await asyncio.to_thread(self._recorder.request, sent)
        return sent

    async def get_messages(self) -> list[dict[str, Any]]:
        """All messages, as they were added. O(n)."""
        return [dict(message) for message in (*self._standing, *self.messages)]

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Begins with these messages, as a session does that is resumed. O(length of the messages).

        Calls without results, and results without calls, are repaired in what the model sees.

        Raises:
            MessageError: If one of them cannot be read; then nothing changes.
        """
        self.messages = await asyncio.to_thread(copies, list(messages))
        self._views.forget()

    async def clear(self) -> None:
        """Forgets all messages."""
        self.messages = []
        self._views.forget()

    async def get_token_count(self) -> int:
        """Tokens of what the model would be sent now, notice included, before any compaction."""
        budget, prompt = self._last_budget, await self._system_prompt()
        view = self._view(budget)
        messages, tokens, _ = self._outlook(view, budget, prompt)
        sent = self._sent(view, messages, budget.tokens - tokens, prompt)
        return view.counter.count_messages(sent)

    async def should_compact(self) -> bool:
        """True if the next request would be compacted."""
        budget, prompt = self._last_budget, await self._system_prompt()
        return self.auto_compact and self._outlook(self._view(budget), budget, prompt)[2]

    async def compact(self) -> int:
        """Compacts what the model sees now, and returns the tokens saved.

        The history stays as it is. So does a call that waits for its results.

        Raises:
            BudgetError: If what must stay does not fit.
        """
        budget, prompt = self._last_budget, await self._system_prompt()
        view = self._view(budget)
        before = view.stats
        await self._fitted(view, budget, prompt, hard=True)
        if view.stats is None or view.stats is before:
            return 0
        return int(view.stats["tokens_saved"])

    async def set_system_prompt_factory(self, factory: PromptFactory | None) -> None:
        """Asks for the system prompt anew with each request.

        It then replaces the system messages of the history, those of hooks aside.
        """
        self._prompt = factory

    @property
    def _last_budget(self) -> Budget:
        """The budget of the last request; before one, what is most likely to be it."""
        if self._budget is not None:
            return self._budget
        if (expected := expected_budget(self._coordinator, self.max_tokens)) is not None:
            return expected
        last = self._views.last
        return Budget(self.max_tokens) if last is None else last.budget

    @property
    def _last_compaction_stats(self) -> dict[str, Any] | None:
        """The statistics of the compaction that the last request shows."""
        return None if self._shown is None else self._shown.stats

    def _format_compaction_notice(self) -> str:
        """The words of the notice; subclasses may have their own."""
        return notice.notice_of(self._last_compaction_stats or {}, self.compaction_notice_verbosity)

    @property
    def _has_notice(self) -> bool:
        return self.compaction_notice_enabled and self.compaction_notice_verbosity != "off"

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

    def _view(self, budget: Budget) -> BudgetView:
        return self._views.view_for(self._settings(), budget, self.compaction_function)

    async def _fitted(
        self, view: BudgetView, budget: Budget, prompt: str | None, *, hard: bool = False
    ) -> tuple[list[Any], int]:
        """The messages of a request, and the tokens of all of it but the notice."""
        history, before = self._history(), view.stats
        in_front = self._prompt_tokens(budget, prompt)
        if in_front >= budget.tokens:
            error = BudgetError(
                f"the system messages in front take {in_front:,} tokens, and the budget is"
                f" {budget.tokens:,}: shorten them or raise it"
            )
            error.budget, error.floor, error.messages = budget.tokens, in_front + 1, []
            raise error
        room = self._room(budget, in_front)
        try:
            messages, tokens = await view.messages(history, room, in_front, hard=hard)
        except BudgetError:
            # The room that is kept for the notice is worth less than the request.
            room, least = budget.tokens - in_front, room
            if room <= least:
                raise
            messages, tokens = await view.messages(history, room, in_front, hard=hard)
        if view.stats is not None and view.stats is not before:
            await self._compacted(view, messages)
            await notice.emit(self.hooks, view.stats)
        return messages, tokens + in_front

    def _outlook(
        self, view: BudgetView, budget: Budget, prompt: str | None
    ) -> tuple[list[Any], int, bool]:
        """The messages of the next request before any compaction, its tokens, and if one is due."""
        in_front = self._prompt_tokens(budget, prompt)
        outlook = view.outlook(self._history(), self._room(budget, in_front))
        return outlook.messages, outlook.tokens + in_front, outlook.is_due

    async def _compacted(self, view: BudgetView, messages: list[Any]) -> None:
        """Keeps a compacted view, where it is to outlive the process."""

    def _history(self) -> list[Any]:
        """All messages that the model may see."""
        if self._prompt is None:
            return [*self._standing, *self.messages]
        shown = (message for message in self.messages if not is_system(message) or is_hook(message))
        return [*self._standing, *shown]

    async def _system_prompt(self) -> str | None:
        return None if self._prompt is None else str(await self._prompt())

    def _prompt_tokens(self, budget: Budget, prompt: str | None) -> int:
        front = _in_front(prompt)
        return self._views.counter_for(budget.model).count_messages(front) if front else 0

    def _room(self, budget: Budget, in_front: int) -> int:
        """Tokens of the messages beside the system prompt and the notice."""
        reserve = self.compaction_notice_token_reserve if self._has_notice else 0
        return max(1, budget.beside(reserve) - in_front)

    def _sent(
        self, view: BudgetView, messages: list[Any], room: int, prompt: str | None
    ) -> list[dict[str, Any]]:
        """The messages with the system prompt in front, and the notice behind system messages."""
        self._shown = view
        sent = [*_in_front(prompt), *messages]
        stats = view.stats
        if not self._has_notice or stats is None:
            return sent
        if stats["strategy_level"] < self.compaction_notice_min_level:
            return sent
        text = self._format_compaction_notice()
        message = notice.message_of(text)
        if text and view.counter.count_messages([message]) <= room:
            place = next((n for n, m in enumerate(sent) if not is_system(m)), len(sent))
            sent.insert(place, message)
        return sent


def _in_front(prompt: str | None) -> list[dict[str, Any]]:
    return [] if prompt is None else [{"role": "system", "content": prompt}]


def copies(messages: list[Any]) -> list[dict[str, Any]]:
    """Copies of messages, without a time: it is not known when they were said."""
    return [dict(readable(message)) for message in messages]


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    """Mounts a :class:`SimpleContextManager` as the context of a session.

    Args:
        coordinator: Amplifier's coordinator.
        config: The arguments of the class by their names, of which functions are given as
            "package.module:name".

    Raises:
        PolicyError: If a setting is unknown or out of range.
    """
    made = SimpleContextManager(
        **arguments(SimpleContextManager, config), hooks=getattr(coordinator, "hooks", None)
    )
    await mounted(coordinator, made)
