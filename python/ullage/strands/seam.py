"""``EngineSeam``: an engine at work for agents, beside the event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent, AfterToolCallEvent, BeforeInvocationEvent
from strands.types.exceptions import ContextWindowOverflowException

from ullage import PolicyError, UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage.strands.agents import PerAgent, note_seam
from ullage.strands.compaction import compaction, compaction_after_refusal
from ullage.strands.engines import (
    engine_for,
    fixed,
    observe_answer,
    require_engine,
    warn_of_lost_originals,
)
from ullage.strands.history import repair_request
from ullage.strands.passive import PassiveConversationManager
from ullage.strands.retrieval import retrieval_tool

if TYPE_CHECKING:
    from strands import Agent

    from ullage import ContextManager

logger = Logger(__name__)

# What is left after so many attempts is a two-hundredth of the first request. A provider that still
# refuses does not refuse the size.
MOST_REFUSALS = 5

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows, or its window smaller. The next try aims so far below what was refused,
# and each after it further, so that the fifth comes to a two-hundredth of the first.
_SHARES = (0.7, 0.5, 0.3, 0.2, 0.2)


@dataclass
class _SeamState:
    """What is known of one agent."""

    engine: ContextManager
    # The last answer whose usage was learned from.
    observed: Any = None
    # Refusals in a row.
    refusals: int = 0


class EngineSeam:
    """What the plugin, the strategy and the view share: each agent has its engine and its hooks.

    Args:
        engine: What decides, for every agent. If not given, each agent has an engine for its model.
        max_retries: How often in a row a refused request is made smaller and sent again.
        shrink: Whether tool results are shrunk as they arrive.
        retrieval: Whether agents get the tool that reads stored outputs back.
        given: The ``policy``, ``store`` and ``model`` of the engines in place of those.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

    # Whether the seam sends a refused request again, rather than Strands.
    _retries = True

    def __init__(
        self,
        engine: ContextManager | None,
        *,
        max_retries: int = MOST_REFUSALS,
        shrink: bool = True,
        retrieval: bool = True,
        **given: Any,
    ) -> None:
        super().__init__()
        require_engine(engine)
        if engine is not None and any(each is not None for each in given.values()):
            raise PolicyError("give an engine, or policy, store and model to make one of")
        engine_for(None, **given)
        self._most_refusals = max_retries
        self._shrinks = shrink
        self._offers_retrieval = retrieval

        def begun(agent: Agent) -> _SeamState:
            own = engine or engine_for(agent, **given)
            warn_of_lost_originals(agent, own.store)
            return _SeamState(own)

        self._known = PerAgent(begun)

    def engine_of(self, agent: Agent) -> ContextManager:
        """What decides for this agent."""
        return self._known.of(agent).engine

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        self._begin(event.agent)

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer; makes a refused request smaller and sends it again."""
        agent: Any = event.agent
        if event.stop_response is not None:
            self._begin(agent)
            await asyncio.to_thread(self._learn, agent, event.stop_response.message)
        elif (
            self._retries
            and isinstance(event.exception, ContextWindowOverflowException)
            and not event.retry
        ):
            event.retry = await self._recover(agent, agent.messages)

    async def after_tool_call(self, event: AfterToolCallEvent) -> None:
        """Shrinks a result before it enters the conversation; it is replaced, never changed.

        Whatever fails, the tool's own result stays: a hook that raised would end the agent between
        a call and its result.
        """
        tool = str(event.tool_use.get("name", "tool"))
        try:
            result = await self.engine_of(event.agent).ashrink(tool, event.result)
        except Exception:
            logger.exception("tool=<%s> | the result was left as it is", tool)
            return
        if result is not event.result:
            event.result = result

    def _attach(self, agent: Agent) -> None:
        """Registers the hooks of an agent. A manager that would do nothing is replaced."""
        note_seam(agent, type(self).__name__)
        PassiveConversationManager.take_over(agent)
        agent.add_hook(self.before_invocation, BeforeInvocationEvent)
        agent.add_hook(self.after_model_call, AfterModelCallEvent)
        if self._shrinks:
            agent.add_hook(self.after_tool_call, AfterToolCallEvent)
        store = self.engine_of(agent).store
        if self._offers_retrieval and store is not None:
            tool = retrieval_tool(store)
            if tool.tool_name not in agent.tool_registry.registry:
                agent.tool_registry.process_tools([tool])

    async def _compact(self, agent: Agent, messages: list[Any]) -> bool:
        """Compacts the messages in place if they are above the high mark; whether it did.

        An error is logged: the provider decides. It may count less than we do, and what our store
        cannot keep may still fit. What the provider would reject is repaired first.
        """
        repair_request(agent, messages)
        try:
            report = await arun(compaction(self.engine_of(agent), messages, **fixed(agent)))
        except UllageError as error:
            logger.warning("error=<%s> | the history was left as it is", error)
            return False
        return bool(report.stages)

    async def _recover(self, agent: Agent, messages: list[Any]) -> bool:
        """Makes a refused request well smaller.

        Returns:
            Whether it is smaller, and was not refused too often already.
        """
        known = self._known.of(agent)
        known.refusals += 1
        if known.refusals > self._most_refusals:
            logger.warning("refusals=<%d> | no more attempts", known.refusals)
            return False
        try:
            return await self._smaller(agent, messages, known.refusals)
        except UllageError as error:
            logger.warning("error=<%s> | the history cannot be made smaller", error)
            _explain(agent, error)
            return False

    async def _smaller(self, agent: Agent, messages: list[Any], refusals: int) -> bool:
        """Makes the messages smaller, in place; whether they are.

        Raises:
            UllageError: If they cannot be made smaller.
        """
        engine, share = self.engine_of(agent), _SHARES[min(refusals, len(_SHARES)) - 1]
        steps = compaction_after_refusal(engine, messages, share, **fixed(agent))
        return await arun(steps) is not None

    def _learn(self, agent: Agent, answer: Any) -> None:
        """Learns from the usage that came with an answer to the messages of an agent."""
        known = self._known.of(agent)
        known.observed = observe_answer(known.engine, agent.messages, answer, known.observed)

    def _begin(self, agent: Agent) -> None:
        """Counts refusals anew: the provider has answered, or the agent is invoked."""
        self._known.of(agent).refusals = 0
        _explain(agent, None)


def _explain(agent: Agent, problem: Exception | None) -> None:
    """Notes why the overflow that Strands is about to raise could not be prevented."""
    if isinstance(agent.conversation_manager, PassiveConversationManager):
        agent.conversation_manager.problem = problem
