"""``SimpleContextManager``: the context of an Amplifier session, in memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage.amplifier import checks
from ullage.amplifier.answering import Answering
from ullage.amplifier.budget import budget_of
from ullage.amplifier.configuration import arguments
from ullage.amplifier.engines import Engines
from ullage.amplifier.importance import Importance, Judge
from ullage.amplifier.messages import copies, stamped
from ullage.amplifier.mounting import mounted
from ullage.arguments import require_callable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ullage import Recorder, Store, TokenCounter
    from ullage.amplifier.custom import Compaction
    from ullage.amplifier.settings import StrategyName, Verbosity
    from ullage.amplifier.viewing import PromptFactory
    from ullage.listener import OnCompaction


class SimpleContextManager(Answering):
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
            ``ullage.ContextManager``; one that "custom" makes by itself has none, nor has one of a
            view that stands by for other budgets.
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
        super().__init__(
            Engines(counter, store, on_compaction, recorder),
            None if importance is None else Judge(importance),
            recorder,
        )
        self.messages = []
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
        # What it was made with, as the document's examples read it.
        self.config: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "compact_threshold": compact_threshold,
            "auto_compact": auto_compact,
            "compaction_strategy": compaction_strategy,
        }
        checks.require(vars(self))
        self._settings().policy(max_tokens)

    async def add_message(self, message: dict[str, Any]) -> None:
        """Adds a message, with the time in ``metadata.timestamp`` if it has none.

        The caller's dict stays as it is; the values in it are shared. O(its length); where it fills
        the view of a budget, or one that stands by for other budgets, what a compaction takes, in a
        thread, so that the next request finds it done. If that fails, the next request of that
        budget does it again and raises. Who is cancelled meanwhile has added the message.

        Raises:
            MessageError: If it is no message that can be read.
        """
        self.messages.append(stamped(message))
        await self._prepare_for_new()

    async def get_messages_for_request(
        self, token_budget: int | None = None, provider: Any = None
    ) -> list[dict[str, Any]]:
        """What the model is to see: within the budget, calls and results together.

        Args:
            token_budget: The most that it may take.
            provider: Says what its model takes, if no ``token_budget`` is given.

        Returns:
            A new list; the messages in it are shared and not to be changed.

        Raises:
            BudgetError: If what must stay does not fit. It names the messages that take the room.
            MessageError: If a message cannot be read.
        """
        budget = budget_of(token_budget, provider, self.max_tokens)
        prompt = await self._system_prompt()
        request = self._request(budget, prompt)
        own = self._views.view_for(budget, self._last_budget)
        try:
            if self.auto_compact:
                view, shown, tokens = await self._answer(own, request)
            else:
                self._catch_up(own, budget)
                view, (shown, tokens) = own, self._shown(own, request)
        except BudgetError:
            self._views.drop(own)
            raise
        self._budget, own.is_assumed = budget, False
        own.ahead.renew()
        self._views.shown(own, view)
        sent = self._sent(budget, prompt, shown, tokens)
        await self._keep_shown(own, view)
        return await self._recorded(sent)

    async def get_messages(self) -> list[dict[str, Any]]:
        """All messages, as they were added. O(n)."""
        return [dict(message) for message in (*self._standing, *self.messages)]

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Begins with these messages, as a session does that is resumed.

        Calls without results, and results without calls, are mended in what the model sees. O(n),
        and what compactions take where they are too many: the next request finds it done, and
        shows the most where its budget is the last one. Before the first request that is the budget
        of the session's only provider, or ``max_tokens``.

        Raises:
            MessageError: If one of them cannot be read; then nothing changes.
        """
        self.messages = await asyncio.to_thread(copies, list(messages))
        self._views.forget()
        await self._prepare_for_all()

    async def clear(self) -> None:
        """Forgets all messages."""
        self.messages = []
        self._views.forget()

    async def get_token_count(self) -> int:
        """Tokens of what the model would be sent now, notice included."""
        budget = self._last_budget
        prompt = await self._system_prompt()
        request = self._request(budget, prompt)
        view, _ = await self._next(self._view, request)
        self._views.seen = view
        sent = self._sent(budget, prompt, *self._shown(view, request))
        return self._engines.counter_for(budget.model).count_messages(sent)

    async def should_compact(self) -> bool:
        """Whether the next request would be compacted."""
        budget = self._last_budget
        request = self._request(budget, await self._system_prompt())
        return self.auto_compact and (await self._next(self._view, request))[1]

    async def compact(self) -> int:
        """Compacts the view now, whatever it takes, and returns the tokens saved.

        The history stays as it is. So does a call that waits for its results, and the view in front
        of it, as long as it fits: then nothing is saved.

        Raises:
            BudgetError: If what must stay does not fit.
        """
        budget, view = self._last_budget, self._view
        request = self._request(budget, await self._system_prompt())
        self._catch_up(view, budget)
        stats = await self._compact(view, request)
        self._views.seen = view
        return 0 if stats is None else int(stats["tokens_saved"])

    async def set_system_prompt_factory(self, factory: PromptFactory | None) -> None:
        """Asks for the system prompt anew with each request.

        It then stands for the system messages of the history, those of hooks aside.
        """
        self._prompt = factory
        if factory is None:
            self._last_prompt = None
            self._views.forget()
            await self._prepare_for_all()
        else:
            self._views.narrow(self._is_shown)


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
