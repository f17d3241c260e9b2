"""``SimpleContextManager``: the context of an Amplifier session, in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage.amplifier import checks, compaction, events, notice
from ullage.amplifier.budget import Budget, budget_of
from ullage.amplifier.configuration import arguments
from ullage.amplifier.custom import Compaction, mended
from ullage.amplifier.engines import Engines
from ullage.amplifier.importance import Importance, Judge
from ullage.amplifier.messages import required, stamped
from ullage.amplifier.mounting import mounted
from ullage.amplifier.settings import Settings, StrategyName, Verbosity
from ullage.amplifier.shape import is_hook, is_system
from ullage.amplifier.view import View

if TYPE_CHECKING:
    from ullage import Store, TokenCounter

PromptFactory: TypeAlias = Callable[[], Awaitable[str]]

# A request that another one has outrun looks again so often at what that one left.
_TRIES = 3


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
    ) -> None:
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
        # What it was made with, as the document's examples read it.
        self.config: Mapping[str, Any] = {
            "max_tokens": max_tokens,
            "compact_threshold": compact_threshold,
            "auto_compact": auto_compact,
            "compaction_strategy": compaction_strategy,
        }
        self._judge = None if importance is None else Judge(importance)
        self._engines = Engines(counter, store)
        self._view = View()
        self._budget: Budget | None = None
        self._prompt: PromptFactory | None = None
        # System messages that stand before the history in every request, and are no part of it.
        self._standing: list[dict[str, Any]] = []
        checks.require(vars(self))
        self._settings().policy(max_tokens)

    async def add_message(self, message: dict[str, Any]) -> None:
        """Adds a message, with the time in ``metadata.timestamp`` if it has none. O(1).

        The caller's dict stays as it is; the values in it are shared.

        Raises:
            MessageError: If it is no message that can be read.
        """
        self.messages.append(stamped(message))

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
        budget = self._budget = budget_of(token_budget, provider, self.max_tokens)
        prompt = await self._system_prompt()
        self._catch_up(budget)
        if not self.auto_compact:
            return self._sent(budget, prompt, self._shown())
        request = self._request(budget, prompt)
        for _ in range(_TRIES):
            if self._view.waits or not request.is_due(self._view):
                break
            await self._compact(request)
        shown = self._shown()
        if request.tokens(shown) > budget.tokens:
            # Others are always faster; or a call waits, which the view keeps until it is answered.
            shown = await compaction.alone(shown, request)
        return self._sent(budget, prompt, shown)

    async def get_messages(self) -> list[dict[str, Any]]:
        """All messages, as they were added. O(n)."""
        return [dict(message) for message in (*self._standing, *self.messages)]

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        """Begins with these messages, as a session does that is resumed.

        Calls without results, and results without calls, are mended in what the model sees.

        Raises:
            MessageError: If one of them cannot be read; then nothing changes.
        """
        # No time: it is not known when they were said.
        self.messages = [dict(required(message)) for message in messages]
        self._view.forget()

    async def clear(self) -> None:
        """Forgets all messages."""
        self.messages = []
        self._view.forget()

    async def get_token_count(self) -> int:
        """Tokens of what the model would be sent now, notice included."""
        budget = self._last_budget
        prompt = await self._system_prompt()
        self._catch_up(budget)
        sent = self._sent(budget, prompt, self._shown())
        return self._engines.counter_for(budget.model).count_messages(sent)

    async def should_compact(self) -> bool:
        """Whether the next request would be compacted."""
        budget = self._last_budget
        request = self._request(budget, await self._system_prompt())
        self._catch_up(budget)
        return self.auto_compact and request.is_due(self._view)

    async def compact(self) -> int:
        """Compacts the view now, whatever it takes, and returns the tokens saved.

        The history stays as it is. So does the view while a call waits for its results: then
        nothing is saved.

        Raises:
            BudgetError: If what must stay does not fit.
        """
        budget = self._last_budget
        request = self._request(budget, await self._system_prompt())
        self._catch_up(budget)
        stats = await self._compact(request)
        return 0 if stats is None else int(stats["tokens_saved"])

    async def set_system_prompt_factory(self, factory: PromptFactory | None) -> None:
        """Asks for the system prompt anew with each request.

        It then stands for the system messages of the history, those of hooks aside.
        """
        self._prompt = factory
        if factory is None:
            self._view.forget()
        else:
            self._view.narrow(self._is_shown)

    @property
    def _last_budget(self) -> Budget:
        """That of the last request, whose provider may have another window than ``max_tokens``."""
        return self._budget or budget_of(None, None, self.max_tokens)

    @property
    def _last_compaction_stats(self) -> dict[str, Any] | None:
        return self._view.stats

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

    async def _compact(self, request: compaction.Request) -> dict[str, Any] | None:
        if self._view.waits:
            return None
        stats = await compaction.compact(self._view, request)
        if stats is not None:
            await self._keep()
            await events.emit(self.hooks, stats)
        return stats

    async def _keep(self) -> None:
        """Keeps the compacted view, where it is to outlive the process."""

    def _catch_up(self, budget: Budget) -> None:
        self._view.follow(self.messages, budget.tokens, self._is_shown)
        self._view.mend(mended)

    def _shown(self) -> list[Any]:
        """The view as a provider takes it: what a call still waits for is said to be missing."""
        messages = self._view.messages
        return mended(messages) if self._view.waits else messages

    def _is_shown(self, message: Any) -> bool:
        return self._prompt is None or not is_system(message) or is_hook(message)

    async def _system_prompt(self) -> str | None:
        return None if self._prompt is None else str(await self._prompt())

    def _sent(
        self, budget: Budget, prompt: str | None, messages: list[Any]
    ) -> list[dict[str, Any]]:
        """Messages with the system prompt in front and the notice behind the system messages."""
        sent = [*self._front(prompt), *messages]
        told = self._notice(sent, budget)
        if told:
            place = next((n for n, m in enumerate(sent) if not is_system(m)), len(sent))
            sent.insert(place, notice.message_of(told))
        return sent

    def _front(self, prompt: str | None) -> list[dict[str, Any]]:
        first = [] if prompt is None else [{"role": "system", "content": prompt}]
        return [*first, *self._standing]

    def _notice(self, sent: list[Any], budget: Budget) -> str:
        """The notice, if one is wanted and there is room for it."""
        stats = self._last_compaction_stats
        if not self._notices or stats is None:
            return ""
        if stats["strategy_level"] < self.compaction_notice_min_level:
            return ""
        told = self._format_compaction_notice()
        counter = self._engines.counter_for(budget.model)
        room = budget.tokens - counter.count_messages(sent)
        return told if told and counter.count_messages([notice.message_of(told)]) <= room else ""


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
