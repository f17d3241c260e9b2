"""The conversation manager: reduction before a model call, and after a provider's refusal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from strands.agent.conversation_manager import SummarizingConversationManager
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry
from strands.types.exceptions import ContextWindowOverflowException

from ullage import PolicyError, UllageError
from ullage.logger import Logger
from ullage.strands.agents import PerAgent
from ullage.strands.budget import reductions
from ullage.strands.cascade import Cascade
from ullage.strands.engines import Engines, engines_of, observe
from ullage.strands.estimate import prompt_token_limit
from ullage.strands.known import Known
from ullage.strands.managing import held, managed, reduced
from ullage.strands.mapper import LargeToolResultMapper
from ullage.strands.nesting import reducing
from ullage.strands.session import RestorableConversationManager
from ullage.strands.settings import (
    PREFIX,
    CascadeSettings,
    zones,
)
from ullage.strands.steps import Steps, arun, run
from ullage.strands.summaries import AgentSummarizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from strands import Agent

    from ullage import ContextManager
    from ullage.store import Store

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
        PolicyError: If an engine is given together with what it would decide.
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
        self._known = PerAgent(Known)

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the check before each model call, and what follows on a refusal."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)

    def apply_management(self, agent: Agent, **_: Any) -> None:
        """Layers 1 and 2; or what the engine that was given finds due."""
        try:
            run(self._managed(agent))
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

    async def _amanage(self, agent: Any) -> None:
        try:
            await arun(self._managed(agent))
        except UllageError as error:
            # The provider decides: it may count less than we do, and what our store cannot keep may
            # still fit. If it does not, the provider says so, and the history is reduced.
            logger.warning("error=<%s> | the history was left as it is", error)

    def checked(self, agent: Agent) -> None:
        """The budget of this agent was ensured, and need not be before its next model call."""
        self._known.of(agent).checked(agent.messages)

    def engine_for(self, agent: Agent) -> ContextManager:
        """What decides for this agent: the engine that was given, or its own."""
        return self._engines(agent).reduction if self.engine is None else self.engine

    def reduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """Makes the history smaller: after an overflow (``e``) it must, otherwise it may.

        Args:
            agent: Whose messages are reduced, in place.
            e: The provider's refusal.
            escalation: How many reductions were not enough before this one.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller.
        """
        with reducing(agent, e) as may:
            if may:
                run(self._reduced(agent, e, escalation))

    async def areduce_context(
        self, agent: Agent, e: Exception | None = None, *, escalation: int = 0, **_: Any
    ) -> None:
        """The same beside the event loop, in which an async model is asked for the summary.

        A ``reduce_context`` of a subclass is called, in a thread.

        Raises:
            ContextWindowOverflowException: If ``e`` is given and nothing can be made smaller.
        """
        if _is_overridden(self.reduce_context, MappingConversationManager.reduce_context):
            more = {"escalation": escalation} if escalation else {}
            await asyncio.to_thread(self.reduce_context, agent, e, **more)
            return
        with reducing(agent, e) as may:
            if may:
                await arun(self._reduced(agent, e, escalation))

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
            await arun(held(agent, self.engine_for(agent)))
        except UllageError as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _aensure(self, agent: Any) -> None:
        try:
            for options in reductions(agent, self.settings):
                await self.areduce_context(agent, **options)
        except (UllageError, ContextWindowOverflowException) as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        state = self._known.of(event.agent)
        if not isinstance(event.exception, ContextWindowOverflowException):
            state.overflows = 0
            return
        if event.retry:
            return
        # Strands would ask for the reduction too, but in its event loop, and call itself again for
        # each try. What cannot be reduced is left to it, so that the overflow gets out.
        try:
            await self.areduce_context(event.agent, event.exception)
        except ContextWindowOverflowException as error:
            logger.warning("error=<%s> | the overflow is raised", error)
            return
        event.retry = True

    def _head_of(self, state: dict[str, Any]) -> Any:
        """The messages in front of the log; Cyber-AutoAgent's own manager had a summary there."""
        summary = state.get("summary_message")
        return state.get("head", [] if summary is None else [summary])

    def _managed(self, agent: Any) -> Steps[None]:
        known = self._begin(agent)
        return managed(agent, known, self.engine_for(agent), self._cascade())

    def _reduced(self, agent: Any, error: Exception | None, escalation: int) -> Steps[None]:
        known, engine = self._begin(agent), self.engine_for(agent)
        layers = self._cascade()
        return reduced(agent, error, escalation, known=known, engine=engine, cascade=layers)

    def _begin(self, agent: Any) -> Known:
        """Before anything is changed: what a session has to know, and what the usage teaches."""
        self.follow(agent)
        known = self._known.of(agent)
        if self.engine is not None:
            known.engines = None
        known.observed = observe(self.engine_for(agent), agent.messages, known.observed)
        return known

    def _engines(self, agent: Any) -> Engines:
        """The engines of an agent; new ones where its limit or its model has changed."""
        state = self._known.of(agent)
        limit, low = prompt_token_limit(agent, self.settings), self._cascade().low
        model = getattr(agent, "model", None)
        kept = (self.preserve_first, self.preserve_last)
        key = (model, limit, low, self._window_size, kept)
        before, made = state.engines or ((None,), None)
        if made is None or before != key:
            made = engines_of(
                model,
                # What a counter has learned is about the model.
                counter=made.reduction.counter if made and before[0] is model else None,
                limit=limit,
                low=low,
                window=self._window_size,
                zones=kept,
                store=self.store,
                summarizer=AgentSummarizer(
                    agent, self.summarization_agent, self.summarization_system_prompt
                ),
            )
            state.engines = (key, made)
        return made

    def _cascade(self) -> Cascade:
        """The layers, with the attributes as they are now."""
        threshold = self.settings.prompt_telemetry_threshold
        return Cascade(
            settings=self.settings,
            window=self._window_size,
            first=self.preserve_first,
            last=self.preserve_last,
            low=threshold * (1 - self.summary_ratio),
            mapper=self.mapper,
        )


def _is_overridden(method: Any, own: Any) -> bool:
    """Whether a subclass, or an attribute of the object, stands in for a method."""
    return getattr(method, "__func__", None) is not own
