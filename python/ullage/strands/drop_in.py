"""The managers that replace those of Strands under the same names, without their faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent import conversation_manager as strands_managers
from strands.hooks import AfterModelCallEvent
from strands.types.exceptions import ContextWindowOverflowException

from ullage._engine.logger import Logger
from ullage._engine.steps import call_host, run
from ullage.strands.agents import PerAgent, model_window
from ullage.strands.history import History, identify, repair_history, with_pin
from ullage.strands.refusals import refusals_of
from ullage.strands.session import RestorableConversationManager
from ullage.strands.settings import UNKNOWN_WINDOW
from ullage.strands.summaries import is_summarizing, summary_of
from ullage.strands.truncation import truncate_results

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from strands import Agent
    from strands.hooks import BeforeModelCallEvent, HookRegistry
    from strands.types.content import Message

logger = Logger(__name__)

# Below the window messages leave by the quarter. Two at a time, as in Strands, change the beginning
# of every request, and with it the whole of the provider's prompt cache.
_QUARTERS = 4
_MOST_QUARTERS = 3


@dataclass
class _AgentState:
    """The state of one agent.

    Attributes:
        pinned_first: True once the first messages were pinned.
        model_calls: Number of model calls; ``per_turn`` may apply the window every few of them.
        summary: The last summary.
    """

    pinned_first: bool = False
    model_calls: int = 0
    summary: Any = None


class DropInConversationManager(RestorableConversationManager):
    """A manager with a state for each agent, which a session keeps.

    A subclass has ``pin_first`` from the class of Strands that it takes the place of.

    Attributes:
        stored: The parts of the state that a session keeps, as pairs of the name in the session and
            the name of the attribute.
    """

    pin_first: int | None
    stored: tuple[tuple[str, str], ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._states: PerAgent[_AgentState] = PerAgent(self._new_state)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the hooks of Strands' manager, and one for refusals and answers."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    def get_state(self) -> dict[str, Any]:
        """Returns what a session keeps, see :class:`RestorableConversationManager`."""
        state = self._own_state()
        return {**super().get_state(), **{key: getattr(state, name) for key, name in self.stored}}

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Takes the state back, also that of Strands' class of this name.

        Raises:
            ValueError: If it is the state of another class, or none.
        """
        head = super().restore_from_session(state)
        own, new = self._own_state(), _AgentState()
        for key, name in self.stored:
            setattr(own, name, state.get(key, getattr(new, name)))
        return head

    def _after_model_call(self, event: AfterModelCallEvent) -> Awaitable[None] | None:
        """Starts the count of refusals over after an answer."""
        if event.stop_response is not None:
            refusals_of(event.agent).end()
        return None

    def _pin_first(self, agent: Any) -> None:
        """Pins the first messages, once."""
        messages, state = agent.messages, self._states.of(agent)
        if self.pin_first and not state.pinned_first:
            messages[: self.pin_first] = map(with_pin, messages[: self.pin_first])
            state.pinned_first = True

    def _new_state(self, agent: Any) -> _AgentState:
        # A state that was restored before an agent was known is that of the next agent.
        return _AgentState() if agent is self else replace(self._states.of(self))

    def _own_state(self) -> _AgentState:
        agent = self._agent()
        return self._states.of(self if agent is None else agent)


class SlidingWindowConversationManager(
    DropInConversationManager, strands_managers.SlidingWindowConversationManager
):
    """Keeps the newest messages, as the class of Strands that it takes the place of.

        from ullage.strands import SlidingWindowConversationManager

    Parameters, defaults, attributes and errors are those of Strands, and where Strands' window
    leaves a history that providers take, this one leaves the same messages. An overflow truncates
    the largest results first, and always ends; pins, edits and what was kept come back from a
    session. All that differs is in ``docs/migrate-from-strands-managers.md``.

    Args:
        window_size: Most messages that stay; 0 removes all of them on every reduction.
        should_truncate_results: True to truncate tool results on an overflow.
        per_turn: True to apply the window before each model call, a number n to apply it before
            every n-th, False to apply it after an invocation only.
        pin_first: Messages at the start that are pinned at the first reduction and never leave.
        proactive_compression: Removes messages before the window of the model is full: True for
            70 % of it, or ``{"compression_threshold": share}``.

    Raises:
        ValueError: If ``window_size`` is negative, ``per_turn`` is no positive number, or the
            threshold is not above 0 and at most 1.
    """

    stored = (("model_call_count", "model_calls"), ("pinned_first", "pinned_first"))

    def __init__(
        self,
        window_size: int = 40,
        should_truncate_results: bool = True,
        *,
        per_turn: bool | int = False,
        pin_first: int | None = None,
        proactive_compression: Any = None,
    ) -> None:
        super().__init__(
            window_size,
            should_truncate_results,
            per_turn=per_turn,
            pin_first=pin_first,
            proactive_compression=proactive_compression,
        )

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Makes the conversation smaller: after an overflow (``e``) it must, otherwise it may.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                it was made smaller ten times in a row.
        """
        self.follow(agent)
        self._pin_first(agent)
        refusals = refusals_of(agent)
        if e is not None:
            refusals.add(e)
        try:
            self._reduce(agent.messages, e, refusals.count)
        except ContextWindowOverflowException:
            refusals.end()
            raise

    def _reduce(self, messages: list[Any], e: Exception | None, refusals: int) -> None:
        history = History(messages)
        pinned = history.pinned()
        if e is not None and self.should_truncate_results and truncate_results(messages, pinned):
            return
        kept = self._messages_to_keep(history, pinned, len(messages), max(1, refusals))
        if kept is not None:
            messages[:] = repair_history([messages[index] for index in kept])
        elif e is not None:
            raise ContextWindowOverflowException("Unable to trim conversation context!") from e
        else:
            logger.warning(
                "window_size=<%s>, message_count=<%s> | unable to trim conversation context",
                self.window_size,
                len(messages),
            )

    def _messages_to_keep(
        self, history: History, pinned: set[int], count: int, refusals: int
    ) -> list[int] | None:
        """Returns the messages that stay; None if none can leave."""
        if self.window_size == 0:
            waiting = pinned | set(history.unanswered_request())
            if len(waiting) < count:
                return sorted(waiting)
        start = max(2, count * min(refusals, _MOST_QUARTERS) // _QUARTERS)
        if count > self.window_size > 0:
            start = count - self.window_size
        return history.cut_from(start, pinned)

    def _on_before_model_call(self, event: BeforeModelCallEvent) -> None:
        """Applies the window before each model call, or before every so many."""
        if self.per_turn is False:
            return
        state = self._states.of(event.agent)
        state.model_calls += 1
        if state.model_calls % (1 if self.per_turn is True else self.per_turn) == 0:
            self.apply_management(event.agent)


class SummarizingConversationManager(
    DropInConversationManager, strands_managers.SummarizingConversationManager
):
    """Summarizes the oldest messages, as the class of Strands that it takes the place of.

        from ullage.strands import SummarizingConversationManager

    Parameters, defaults, attributes and errors are those of Strands, and as many messages are
    summarized, give or take one so that roles alternate. Summaries are made beside the event loop
    and asked for with words alone; an overflow always ends; pins, edits and summaries come back
    from a session. All that differs is in ``docs/migrate-from-strands-managers.md``.

    Args:
        summary_ratio: Share of the messages that is summarized, from 0.1 to 0.8.
        preserve_recent_messages: Messages at the end that are not.
        summarization_agent: Summarizes in place of the agent's own model.
        summarization_system_prompt: The system prompt of its model in place of Strands' own.
        pin_first: Messages at the start that are pinned at the first reduction and never leave.
        proactive_compression: Summarizes before the window of the model is full: True for 70 % of
            it, or ``{"compression_threshold": share}``.

    Raises:
        ValueError: If both a summarization agent and a prompt are given, or the threshold is not
            above 0 and at most 1.
    """

    stored = (("summary_message", "summary"), ("pinned_first", "pinned_first"))

    def __init__(
        self,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int = 10,
        summarization_agent: Agent | None = None,
        summarization_system_prompt: str | None = None,
        *,
        pin_first: int | None = None,
        proactive_compression: Any = None,
    ) -> None:
        super().__init__(
            summary_ratio,
            preserve_recent_messages,
            summarization_agent,
            summarization_system_prompt,
            pin_first=pin_first,
            proactive_compression=proactive_compression,
        )

    def reduce_context(self, agent: Agent, e: Exception | None = None, **_: Any) -> None:
        """Makes the conversation smaller: after an overflow (``e``) it must, otherwise it may.

        Called in an event loop it holds that up; :meth:`areduce_context` does not, and is what an
        agent with this manager gets.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                it was made smaller ten times in a row.
            Exception: What the summarizer raised, if ``e`` is given and nothing else helped.
        """
        refusals_of(agent).raise_problem(e)
        # In a thread, because this one may have an event loop that waits for us.
        run(call_host(self.areduce_context, agent, e))

    async def areduce_context(self, agent: Agent, e: Exception | None = None) -> None:
        """Does the same as :meth:`reduce_context` without blocking the event loop."""
        self.follow(agent)
        refusals = refusals_of(agent)
        if e is None:
            try:
                await self._summarize(agent, self.preserve_recent_messages)
            except Exception as error:  # noqa: BLE001 - Strands goes on without a summary
                logger.warning("Proactive summarization failed, continuing: %s", error)
            return
        refusals.add(e)
        try:
            await self._recover(agent, e, refusals.count)
        except BaseException:
            refusals.end()
            raise

    async def _recover(self, agent: Agent, e: Exception, refusals: int) -> None:
        """Makes the conversation smaller."""
        messages = agent.messages
        if refusals > 1 and truncate_results(messages, History(messages).pinned()):
            return
        try:
            # Fewer of the newest messages are spared each time, since they may be too many.
            await self._summarize(agent, self.preserve_recent_messages >> (refusals - 1))
        except Exception as error:
            if truncate_results(messages, History(messages).pinned()):
                logger.warning("error=<%s> | results were truncated instead", error)
                return
            logger.error("Summarization failed: %s", error)  # noqa: TRY400 - it is raised
            raise error from e

    async def _summarize(self, agent: Any, preserved: int) -> None:
        """Puts a summary in the place of the oldest messages."""
        messages, state = agent.messages, self._states.of(agent)
        if is_summarizing(agent):
            raise ContextWindowOverflowException("Cannot summarize: the summary itself overflows")
        count = min(max(1, int(len(messages) * self.summary_ratio)), len(messages) - preserved)
        if count <= 0:
            raise ContextWindowOverflowException(
                "Cannot summarize: insufficient messages for summarization"
            )
        count = self._adjust_split_point_for_tool_pairs(messages, count)
        self._pin_first(agent)
        history = History(messages)
        pinned = history.pinned()
        count = history.summary_end(count, pinned, len(messages) - preserved)
        kept = [messages[index] for index in range(count) if index in pinned]
        oldest = [messages[index] for index in range(count) if index not in pinned]
        if not oldest or oldest == [state.summary]:
            raise ContextWindowOverflowException(
                "Cannot summarize: all messages in summarize range are pinned or summarized"
            )
        text = await summary_of(
            agent, oldest, self.summarization_agent, self.summarization_system_prompt
        )
        role = "assistant" if kept and kept[-1]["role"] == "user" else "user"
        state.summary = {"role": role, "content": [{"text": text}]}
        identify([state.summary], ())
        messages[:] = repair_history([*kept, state.summary, *messages[count:]])

    async def _on_before_model_call_threshold(self, event: BeforeModelCallEvent) -> None:  # type: ignore[override]
        """Summarizes if the request is above the threshold."""
        tokens, threshold = event.projected_input_tokens, self._compression_threshold
        window = model_window(event.agent.model) or UNKNOWN_WINDOW
        if threshold is not None and tokens is not None and tokens >= threshold * window:
            await self._reduce(event.agent, None)

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        """Makes a refused request smaller and sends it again."""
        smaller = partial(self._reduce, event.agent, event.exception)
        await refusals_of(event.agent).after_model_call(event, smaller)

    async def _reduce(self, agent: Agent, e: Exception | None) -> None:
        """Reduces the context by this class, or by the method of a subclass."""
        if type(self).reduce_context is SummarizingConversationManager.reduce_context:
            await self.areduce_context(agent, e)
        else:
            self.reduce_context(agent=agent, e=e)
