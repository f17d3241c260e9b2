"""The conversation manager: reduction before a model call, and after a provider's refusal."""

from __future__ import annotations

import asyncio
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

from ullage import PolicyError, UllageError
from ullage._engine.calling import is_in_event_loop
from ullage._engine.logger import Logger
from ullage._engine.steps import Steps, arun, run
from ullage.strands.agent_state import AgentState, reduction_of
from ullage.strands.agents import PerAgent, accepted_options
from ullage.strands.budget import reductions
from ullage.strands.cascade import Cascade, compact_if_due, manage, reduce
from ullage.strands.engines import Engines, engines_of, observe, require_engine
from ullage.strands.estimate import prompt_token_limit
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.session import RestorableConversationManager
from ullage.strands.settings import PREFIX, CascadeSettings, zones
from ullage.strands.summaries import AgentSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands import Agent

    from ullage import ContextManager
    from ullage.stores.protocol import Store

logger = Logger(__name__)

# The range that Strands clamps the share of a summary to.
_LEAST_SUMMARY, _MOST_SUMMARY = 0.1, 0.8


class MappingConversationManager(RestorableConversationManager, SummarizingConversationManager):
    """Keeps an agent's conversation inside its model's window, layer by layer.

    Before each model call, in this order and each only where those before did not suffice:

    1. Large tool results between the first and the last zone are compressed, from 70 % of the
       window (in messages) on, or where the prompt is above its threshold.
    2. If there are more messages than the window has, the oldest between the zones leave, down to
       90 % of it. Calls leave with their results.
    3. If the prompt is still above 65 % of its limit, the oldest messages are summarized by the
       agent's model, so many that it goes down to the low mark.
    4. If it is still above 90 %, twice more, with less and less of the last zone spared.

    The first zone and the last request are never removed. If the provider still reports an
    overflow, the history is brought well below what was refused, or the overflow is raised again:
    never a loop without progress. What the provider reports for each prompt corrects the count.

    Or ``engine`` decides all of it, by its own policy.

    Messages are changed in place (``agent.messages[:] = ...``), never in themselves. One manager
    may serve several agents in several threads: nothing that it knows of one is used for another.

    Args:
        window_size: Messages of the window; ``CYBER_CONVERSATION_WINDOW`` or 100 if not given.
        summary_ratio: Share of the prompt at its threshold that a summary takes the place of, from
            0.1 to 0.8.
        preserve_recent_messages: Messages of the last zone; if not given,
            ``CYBER_CONVERSATION_PRESERVE_LAST``, or 15 % of the window and at least 8. Both zones
            together have at most half of the window.
        preserve_first_messages: Messages of the first zone; ``CYBER_CONVERSATION_PRESERVE_FIRST``
            or 1 if not given.
        tool_result_mapper: Compresses a message: called with it, its index and all messages, and
            gives the same object back where nothing is to be done. If not given, a
            ``LargeToolResultMapper``.
        engine: Decides in place of the layers. One engine may serve several agents.
        store: Where what leaves the conversation is kept; without one it is lost.
        summarization_agent: Summarizes in place of the agent's own model.
        summarization_system_prompt: What stands above the request for a summary.
        env_prefix: What the names of the variables begin with. They are read here, once.

    Attributes:
        mapper: The mapper.
        preserve_first: Messages of the first zone.
        preserve_last: Messages of the last zone.
        settings: What the environment says.
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
        self._known = PerAgent(AgentState)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the check before each model call, and what follows on a refusal.

        Strands awaits hooks. What asks for a summary or writes a file is done in them.
        """
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(AfterInvocationEvent, self._after_invocation)

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Layers 1 and 2; or what the engine that was given finds due.

        Strands calls it at the end of an invocation, in its event loop. What would hold that up, by
        writing a file or waiting for a summary, is put off until the hook that follows, which is
        awaited.
        """
        known = self._known.of(agent)
        if known.invoked and self._may_wait() and is_in_event_loop():
            known.put_off = True
            return
        try:
            run(self._manage(agent))
        except UllageError as error:
            # Strands calls this in its `finally`: raising would hide the answer, or the error, of
            # the invocation. The check before the next model call reports what is still wrong.
            logger.warning("error=<%s> | the history was left as it is", error)

    async def aapply_management(self, agent: Agent, **_: Any) -> None:
        """The same beside the event loop, which serves other agents.

        An ``apply_management`` of a subclass is called, in a thread.
        """
        if _is_overridden(self.apply_management, MappingConversationManager.apply_management):
            await asyncio.to_thread(self.apply_management, agent)
        else:
            await self._amanage(agent)

    def checked(self, agent: Agent) -> None:
        """The budget of this agent was ensured, and need not be before its next model call."""
        self._known.of(agent).checked(agent.messages)

    def engine_for(self, agent: Agent) -> ContextManager:
        """What decides for this agent: the engine that was given, or its own."""
        if self.engine is not None:
            return self.engine
        return self._engines(agent).reduction

    def reduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """Makes the history smaller: after an overflow (``e``) it must, otherwise it may.

        Args:
            agent: Whose messages are reduced, in place.
            e: The provider's refusal.
            escalation: How many reductions were not enough before this one.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller, or
                nothing is left between the zones.
        """
        known = self._known.of(agent)
        given_up, known.given_up = known.given_up, None
        if e is not None and given_up is not None and given_up[0] is e:
            # The hook has tried it already, beside the event loop, and Strands asks in it.
            raise given_up[1]
        run(self._reduce(agent, e, escalation))

    async def areduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """The same beside the event loop, in which an async model is asked for the summary.

        A ``reduce_context`` of a subclass is called, in a thread.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller.
        """
        if _is_overridden(self.reduce_context, MappingConversationManager.reduce_context):
            options = {"e": e, "escalation": escalation} if escalation else {"e": e}
            options = accepted_options(self.reduce_context, options)
            await asyncio.to_thread(self.reduce_context, agent, **options)
            return
        await arun(self._reduce(agent, e, escalation))

    async def _amanage(self, agent: Any) -> None:
        try:
            await arun(self._manage(agent))
        except UllageError as error:
            # The provider decides: it may count less than we do, and what our store cannot keep may
            # still fit. If it does not, the provider says so, and the history is reduced.
            logger.warning("error=<%s> | the history was left as it is", error)

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        known = self._known.of(event.agent)
        known.invoked, known.overflows, known.given_up = True, 0, None

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        if self.engine is not None:
            await self._amanage(agent)
            return
        # A hook that stands before this one, such as PromptBudgetHook, may have done it already.
        if not self._known.of(agent).is_checked(agent.messages):
            await self._amanage(agent)
            await self._aensure(agent)
        try:
            await arun(compact_if_due(agent, self.engine_for(agent)))
        except UllageError as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _aensure(self, agent: Any) -> None:
        try:
            for options in reductions(agent, self.settings):
                await self.areduce_context(agent, **options)
        except (UllageError, ContextWindowOverflowException) as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        known = self._known.of(event.agent)
        if not isinstance(event.exception, ContextWindowOverflowException):
            known.overflows = 0
            return
        if event.retry:
            return
        # Strands would ask for the reduction too, but in its event loop, and call itself again for
        # each try. What cannot be reduced is left to it, so that the overflow gets out.
        try:
            await self.areduce_context(event.agent, event.exception)
        except ContextWindowOverflowException as error:
            logger.warning("error=<%s> | the overflow is raised", error)
            known.given_up = (event.exception, error)
            return
        event.retry = True

    async def _after_invocation(self, event: AfterInvocationEvent) -> None:
        known = self._known.of(event.agent)
        put_off, known.invoked, known.put_off = known.put_off, False, False
        if put_off:
            await self._amanage(event.agent)

    def _manage(self, agent: Any) -> Steps[None]:
        known = self._begin(agent)
        return manage(agent, known, self.engine_for(agent), self._cascade())

    def _reduce(self, agent: Any, error: Exception | None, escalation: int) -> Steps[None]:
        with reduction_of(agent, error) as may:
            if may:
                known, engine = self._begin(agent), self.engine_for(agent)
                layers = self._cascade()
                yield from reduce(
                    agent, error, escalation, known=known, engine=engine, cascade=layers
                )

    def _begin(self, agent: Any) -> AgentState:
        """Before anything is changed: what a session has to know, and what the usage teaches."""
        self.follow(agent)
        known = self._known.of(agent)
        if self.engine is not None:
            known.engines = None
        known.observed = observe(self.engine_for(agent), agent.messages, known.observed)
        return known

    @property
    def _low(self) -> float:
        """Share of the limit to which a reduction goes down."""
        # Rounded, since 0.65 * 0.7 is 0.45499999999999996 to a computer.
        return round(self.settings.prompt_telemetry_threshold * (1 - self.summary_ratio), 9)

    def _cascade(self) -> Cascade:
        """The layers, by the attributes as they are now."""
        return Cascade(
            settings=self.settings,
            window=self._window_size,
            first=self.preserve_first,
            last=self.preserve_last,
            low=self._low,
            mapper=self.mapper,
        )

    def _engines(self, agent: Any) -> Engines:
        """The engines of an agent; new ones where its model, its limit or an attribute changed."""
        known, model = self._known.of(agent), getattr(agent, "model", None)
        limit, both = (
            prompt_token_limit(agent, self.settings),
            (self.preserve_first, self.preserve_last),
        )
        summarizer = self.summarization_agent, self.summarization_system_prompt
        key = (model, limit, self._low, self._window_size, both, self.store, summarizer)
        before, made = known.engines or ((None,), None)
        if made is None or before != key:
            made = engines_of(
                model,
                # What a counter has learned is about the model.
                counter=made.reduction.counter if made and before[0] is model else None,
                limit=limit,
                low=self._low,
                window=self._window_size,
                zones=both,
                store=self.store,
                summarizer=AgentSummarizer(agent, *summarizer),
            )
            known.engines = (key, made)
        return made

    def _may_wait(self) -> bool:
        """Whether Layers 1 and 2 may write a file, or ask for a summary."""
        return self.engine is not None or self.store is not None


def _is_overridden(method: Any, own: Any) -> bool:
    """Whether a subclass, or an attribute of the object, stands in for a method."""
    return getattr(method, "__func__", None) is not own
