"""The manager of Cyber-AutoAgent's cascade, whose layers reduce a conversation one after another.

Layer 0, for results as they arrive, is :class:`~ullage.strands.ToolRouterHook`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import SummarizingConversationManager
from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    HookRegistry,
)
from strands.types.exceptions import ContextWindowOverflowException

from ullage import ContextManager, PolicyError, UllageError
from ullage._engine.calling import is_in_event_loop
from ullage._engine.logger import Logger
from ullage._engine.steps import Steps, arun, run
from ullage._hosts.checks import require_engine
from ullage.strands.agents import PerAgent, last_answer
from ullage.strands.budget import accepted_options, reduce_to_budget
from ullage.strands.engines import compaction, observe, reduction
from ullage.strands.estimate import prompt_token_limit
from ullage.strands.layers import (
    Layers,
    LayerSettings,
    note_reduction,
    prompt_estimate,
    reason_of,
    stage_of,
)
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.refusals import refusals_of
from ullage.strands.session import RestorableConversationManager
from ullage.strands.settings import PREFIX, CascadeSettings, zones

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands import Agent

    from ullage.stores.protocol import Store

logger = Logger(__name__)

# The range that Strands clamps the share of a summary to.
_LEAST_SUMMARY, _MOST_SUMMARY = 0.1, 0.8

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows. The next try aims so far below what was refused.
_SHARE = 0.7


@dataclass
class _AgentState:
    """The state of one agent.

    Attributes:
        last_observed: The last answer whose usage was learned from.
        layers: The layers for the agent.
        is_invoked: True while an invocation of the agent runs.
        checked: Length and last message of the conversation when its budget was ensured last.
    """

    last_observed: Any = None
    layers: Layers | None = None
    is_invoked: bool = False
    checked: tuple[int, Any] | None = None


class MappingConversationManager(RestorableConversationManager, SummarizingConversationManager):
    """Keeps an agent's conversation inside its model's window, layer by layer.

    Before each model call, a layer acts only if those before did not suffice: large tool results
    are compressed, the oldest messages are removed, the agent's model summarizes, and then again
    with fewer protected messages; ``docs/strands.md`` has the numbers. Calls are removed with their
    results. The first zone and the last request always stay. If the provider still reports an
    overflow, the history is made well smaller than the refused one, or the overflow is raised.
    The prompt sizes that the provider reports correct the count.

    If ``engine`` is given, it decides all of this by its own policy.

    The list of messages is changed in place (``agent.messages[:] = ...``); a message never is. One
    manager may serve several agents in several threads. Each agent has a state of its own.

    Args:
        window_size: Messages of the window; ``CYBER_CONVERSATION_WINDOW`` or 100 if not given.
        summary_ratio: Share of the prompt at its threshold that a summary replaces, from 0.1 to
            0.8.
        preserve_recent_messages: Messages of the last zone; if not given,
            ``CYBER_CONVERSATION_PRESERVE_LAST``, or 15 % of the window and at least 8. Both zones
            together have at most half of the window.
        preserve_first_messages: Messages of the first zone; ``CYBER_CONVERSATION_PRESERVE_FIRST``
            or 1 if not given.
        tool_result_mapper: Compresses a message. It is called with the message, its index and all
            messages, and returns the same object if there is nothing to do. If not given, a
            ``LargeToolResultMapper``.
        engine: Decides in place of the layers. One engine may serve several agents.
        store: Keeps removed content, which is lost without one.
        summarization_agent: Summarizes in place of the agent's own model.
        summarization_system_prompt: The system prompt of the request for a summary.
        env_prefix: The prefix of the variables' names. They are read here, once.

    Attributes:
        mapper: The mapper.
        preserve_first: Messages of the first zone.
        preserve_last: Messages of the last zone.
        settings: The settings of the environment.
        engine: The engine that was given.

    Raises:
        PolicyError: If an engine is given together with what it would decide, or is not one.
    """

    def __init__(
        self,
        *,
        window_size: int | None = None,
        summary_ratio: float = 0.3,
        preserve_recent_messages: int | None = None,
        preserve_first_messages: int | None = None,
        tool_result_mapper: Callable[[Any, int, Any], Any] | None = None,
        engine: ContextManager | None = None,
        store: Store | None = None,
        summarization_agent: Any = None,
        summarization_system_prompt: str | None = None,
        env_prefix: str = PREFIX,
    ) -> None:
        super().__init__()
        require_engine(engine)
        given = (window_size, preserve_recent_messages, preserve_first_messages, tool_result_mapper)
        if engine is not None and any(each is not None for each in (*given, store)):
            raise PolicyError("give an engine, whose policy decides, or the settings of the layers")
        if summarization_agent is not None and summarization_system_prompt is not None:
            raise ValueError(
                "a summarization_agent has a system prompt of its own: give one of both"
            )
        self.settings = settings = CascadeSettings.from_env(env_prefix)
        self.engine = engine
        self.store = store
        window = settings.conversation_window if window_size is None else window_size
        self._window_size = max(1, window)
        self.summary_ratio = min(max(summary_ratio, _LEAST_SUMMARY), _MOST_SUMMARY)
        self.preserve_first, self.preserve_last = zones(
            self._window_size,
            settings.conversation_preserve_first
            if preserve_first_messages is None
            else preserve_first_messages,
            settings.conversation_preserve_last
            if preserve_recent_messages is None
            else preserve_recent_messages,
        )
        self.mapper = tool_result_mapper or LargeToolResultMapper(
            truncate_at=settings.tool_compress_truncate
        )
        self.summarization_agent = summarization_agent
        self.summarization_system_prompt = summarization_system_prompt
        self._states = PerAgent(lambda _: _AgentState())

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the check before each model call, and the recovery from a refusal.

        Strands awaits hooks, so summaries are asked for and files are written in them.
        """
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(AfterInvocationEvent, self._after_invocation)

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Runs Layers 1 and 2, or compacts if the engine that was given finds it due.

        Strands calls it at the end of an invocation, in its event loop. If it might block that by
        writing a file or waiting for a summary, it leaves the work to the hook after the
        invocation, which is awaited.
        """
        if not (self._may_block and self._states.of(agent).is_invoked and is_in_event_loop()):
            # Strands calls this in its `finally`: raising would hide the answer, or the error, of
            # the invocation. The check before the next model call reports what is still wrong.
            run(_log_errors(self._manage(agent)))

    async def aapply_management(self, agent: Agent, **_: Any) -> None:
        """Does the same without blocking the event loop.

        An ``apply_management`` of a subclass is called in a thread.
        """
        if _is_overridden(self.apply_management, MappingConversationManager.apply_management):
            await asyncio.to_thread(self.apply_management, agent)
        else:
            await arun(_log_errors(self._manage(agent)))

    def checked(self, agent: Agent) -> None:
        """Skips the check before the next model call of this agent: its budget was just ensured."""
        self._states.of(agent).checked = _end_of(agent.messages)

    def engine_for(self, agent: Agent) -> ContextManager:
        """Returns the engine of this agent: the one that was given, or its own."""
        return self._layers(agent).engine if self.engine is None else self.engine

    def reduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """Makes the history smaller: after an overflow (``e``) it must, otherwise it may.

        Args:
            agent: Whose messages are reduced, in place.
            e: The provider's refusal.
            escalation: The number of reductions before this one that were not enough.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                nothing is left between the zones.
        """
        # The hook may have tried it already, beside the event loop in which Strands asks.
        refusals_of(agent).raise_problem(e)
        run(self._reduce(agent, e, escalation))

    async def areduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """Does the same without blocking the event loop, in which the summary is awaited.

        A ``reduce_context`` of a subclass is called in a thread.

        Raises:
            ContextWindowOverflowException: As :meth:`reduce_context`.
        """
        if _is_overridden(self.reduce_context, MappingConversationManager.reduce_context):
            options = {"e": e, "escalation": escalation} if escalation else {"e": e}
            options = accepted_options(self.reduce_context, options)
            await asyncio.to_thread(self.reduce_context, agent, **options)
        else:
            await arun(self._reduce(agent, e, escalation))

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        self._states.of(event.agent).is_invoked = True
        refusals_of(event.agent).end()

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        state = self._states.of(agent)
        (length, last), state.checked = state.checked or (-1, None), None
        now, newest = _end_of(agent.messages)
        # A hook that stands before this one, such as PromptBudgetHook, may have done it already.
        is_checked = self.engine is None and length == now and last is newest
        if not is_checked:
            await arun(_log_errors(self._manage(agent)))
        if self.engine is None:
            if not is_checked:
                await arun(reduce_to_budget(agent, self))
            # The engine counts better than the estimate of the thresholds.
            await arun(_log_errors(self._compact_if_due(agent)))

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        smaller = partial(self.areduce_context, event.agent, event.exception)
        await refusals_of(event.agent).after_model_call(event, smaller)

    async def _after_invocation(self, event: AfterInvocationEvent) -> None:
        self._states.of(event.agent).is_invoked = False
        if self._may_block:
            await arun(_log_errors(self._manage(event.agent)))

    @property
    def _may_block(self) -> bool:
        """True if managing a conversation may write a file or wait for a summary."""
        return self.engine is not None or self.store is not None

    def _begin(self, agent: Any) -> None:
        """Notes the messages for the session and learns from the last usage, before any change."""
        self.follow(agent)
        state, messages = self._states.of(agent), agent.messages
        index, answer = last_answer(messages)
        if answer is not state.last_observed:
            state.last_observed = answer
            observe(self.engine_for(agent), messages[:index], answer)

    def _manage(self, agent: Any) -> Steps[None]:
        """Runs Layers 1 and 2, or compacts if the engine that was given finds it due."""
        self._begin(agent)
        if self.engine is not None:
            yield from self._compact_if_due(agent)
            return
        before = len(agent.messages)
        yield from self._layers(agent).manage(agent)
        if len(agent.messages) < before:
            note_reduction(agent, "sliding", "window", before)

    def _compact_if_due(self, agent: Any) -> Steps[None]:
        before = len(agent.messages)
        report = yield from compaction(agent, self.engine_for(agent), agent.messages)
        if report.stages:
            note_reduction(agent, stage_of(report), "due", before)

    def _reduce(self, agent: Any, error: Exception | None, escalation: int) -> Steps[None]:
        """Reduces once. After a refusal it must make progress, otherwise it may."""
        self._begin(agent)
        reason, before, messages = reason_of(agent, error), len(agent.messages), agent.messages
        tokens, engine = prompt_estimate(agent), self.engine_for(agent)
        if error is not None:
            refusals_of(agent).add(error)
            # A large result goes first, also one that has just come.
            first = None if self.engine else partial(self._layers(agent).compress, agent, 0)
            report = yield from reduction(
                agent, engine, messages, _SHARE, refusal=error, first=first
            )
            stage = stage_of(report)
        elif self.engine is None:
            stage = yield from self._layers(agent).reduce(agent, escalation)
        else:
            stage = stage_of((yield from compaction(agent, engine, messages, hard=True)))
        if (len(agent.messages), prompt_estimate(agent)) != (before, tokens):
            note_reduction(agent, stage, reason, before, tokens)
        elif self.engine is None and before <= self.preserve_first + self.preserve_last + 1:
            raise ContextWindowOverflowException(
                f"nothing is left to remove: {before} messages remain, of which the first"
                f" {self.preserve_first} and the last {self.preserve_last} stay"
            ) from error

    def _layers(self, agent: Any) -> Layers:
        """Returns the layers of an agent. They are new if its model, limit or an attribute is."""
        # Rounded, since 0.65 * 0.7 is 0.45499999999999996 to a computer.
        low = round(self.settings.prompt_telemetry_threshold * (1 - self.summary_ratio), 9)
        settings = LayerSettings(
            model=getattr(agent, "model", None),
            limit=prompt_token_limit(agent, self.settings),
            low=low,
            window=self._window_size,
            keep_first=self.preserve_first,
            keep_last=self.preserve_last,
            mapper=self.mapper,
            thresholds=self.settings,
            store=self.store,
            summarization_agent=self.summarization_agent,
            summarization_prompt=self.summarization_system_prompt,
        )
        state = self._states.of(agent)
        if state.layers is None or state.layers.settings != settings:
            state.layers = Layers(agent, settings, state.layers)
        return state.layers


def _log_errors(steps: Steps[None]) -> Steps[None]:
    """Carries the steps out and logs an error.

    The provider decides. It may count fewer tokens than we do, and content that our store cannot
    keep may still fit. If it does not, the provider refuses it, and the history is reduced.
    """
    try:
        yield from steps
    except UllageError as error:
        logger.warning("error=<%s> | the history was left as it is", error)


def _end_of(messages: Any) -> tuple[int, Any]:
    return (len(messages), messages[-1]) if isinstance(messages, list) and messages else (0, None)


def _is_overridden(method: Any, own: Any) -> bool:
    """Returns True if a subclass, or an attribute of the object, replaces a method."""
    return getattr(method, "__func__", None) is not own
