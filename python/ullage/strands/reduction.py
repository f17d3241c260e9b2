"""The engine at work for agents beside the event loop: what the newer seams of Strands share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage import PolicyError, UllageError
from ullage.logger import Logger
from ullage.steps import arun
from ullage.strands.agents import PerAgent
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
    from collections.abc import Awaitable, Callable

    from strands import Agent
    from strands.hooks import AfterToolCallEvent

    from ullage import ContextManager

logger = Logger(__name__)

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows, or its window smaller. The next try aims so far below what was refused,
# and each after it further, so that the fifth comes to a two-hundredth of the first.
_SHARES = (0.7, 0.5, 0.3, 0.2, 0.2)


@dataclass
class _Known:
    """What is known of one agent."""

    engine: ContextManager
    # The last answer whose usage was learned from.
    observed: Any = None
    # Refusals in a row.
    refusals: int = 0


class Reduction:
    """Compacts the conversations of agents, each by the engine that it is for.

    Args:
        engine: What decides, for every agent. If not given, each agent has an engine for its model.
        most_refusals: How often in a row a refused request is made smaller and sent again.
        given: The ``policy``, ``store`` and ``model`` of the engines in place of those.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

    def __init__(self, engine: ContextManager | None, most_refusals: int, **given: Any) -> None:
        require_engine(engine)
        if engine is not None and any(each is not None for each in given.values()):
            raise PolicyError("give an engine, or policy, store and model to make one of")
        engine_for(None, **given)
        self._most_refusals = most_refusals

        def begun(agent: Agent) -> _Known:
            own = engine or engine_for(agent, **given)
            warn_of_lost_originals(agent, own.store)
            return _Known(own)

        self._known = PerAgent(begun)

    def engine_of(self, agent: Agent) -> ContextManager:
        """What decides for this agent."""
        return self._known.of(agent).engine

    def offer_retrieval(self, agent: Agent) -> None:
        """Gives the agent the tool that reads stored outputs back, if it has none of that name."""
        store = self.engine_of(agent).store
        if store is None:
            return
        tool = retrieval_tool(store)
        if tool.tool_name not in agent.tool_registry.registry:
            agent.tool_registry.process_tools([tool])

    async def compact(self, agent: Agent, messages: list[Any]) -> bool:
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

    async def recover(self, agent: Agent, messages: list[Any]) -> bool:
        """Brings refused messages well below their size, in place.

        Returns:
            Whether they are smaller, and were not refused too often already.
        """

        async def smaller(engine: ContextManager, refusals: int) -> bool:
            share = _SHARES[min(refusals, len(_SHARES)) - 1]
            smaller = compaction_after_refusal(engine, messages, share, **fixed(agent))
            return await arun(smaller) is not None

        return await self.refused(agent, smaller)

    async def refused(
        self, agent: Agent, smaller: Callable[[ContextManager, int], Awaitable[bool]]
    ) -> bool:
        """Counts a refusal, and has the request made smaller if it was not refused too often."""
        known = self._known.of(agent)
        known.refusals += 1
        if known.refusals > self._most_refusals:
            logger.warning("refusals=<%d> | no more attempts", known.refusals)
            return False
        try:
            return await smaller(known.engine, known.refusals)
        except UllageError as error:
            logger.warning("error=<%s> | the history cannot be made smaller", error)
            _explain(agent, error)
            return False

    def begin(self, agent: Agent) -> None:
        """Counts refusals anew: the provider has answered, or the agent is invoked."""
        self._known.of(agent).refusals = 0
        _explain(agent, None)

    async def observe(self, agent: Agent, request: list[Any], answer: Any) -> None:
        """Learns from the usage that came with an answer to these messages, once."""
        known = self._known.of(agent)
        known.observed = await asyncio.to_thread(
            observe_answer, known.engine, request, answer, known.observed
        )

    async def shrink(self, event: AfterToolCallEvent) -> None:
        """Shrinks a result that arrives; it is replaced, never changed in place.

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


def _explain(agent: Agent, problem: Exception | None) -> None:
    """Notes why the overflow that Strands is about to raise could not be prevented."""
    if isinstance(agent.conversation_manager, PassiveConversationManager):
        agent.conversation_manager.problem = problem
