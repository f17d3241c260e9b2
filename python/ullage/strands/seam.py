"""``EngineSeam``: connects an engine to agents, without blocking their event loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent, AfterToolCallEvent, BeforeInvocationEvent

from ullage import PolicyError, UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage.strands.agents import PerAgent, note_seam
from ullage.strands.engines import (
    compaction,
    engine_for,
    fixed,
    observe,
    reduction,
    require_engine,
    retrieval_tool,
    warn_of_lost_originals,
)
from ullage.strands.history import repair_request
from ullage.strands.passive import PassiveConversationManager
from ullage.strands.refusals import Refusals

if TYPE_CHECKING:
    from strands import Agent

    from ullage import ContextManager

logger = Logger(__name__)

# After so many attempts a two-hundredth of the first request is left. A provider that still refuses
# does not refuse the size.
MOST_REFUSALS = 5

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows, or its window smaller. The next try aims so far below what was refused,
# and each after it further, so that the fifth comes to a two-hundredth of the first.
_SHARES = (0.7, 0.5, 0.3, 0.2, 0.2)


@dataclass
class _SeamState:
    """The state of one agent."""

    engine: ContextManager
    refusals: Refusals


class EngineSeam:
    """The base of the plugin, the strategy and the view: each agent has its engine and its hooks.

    Args:
        engine: The engine of every agent. If not given, each agent has an engine for its model.
        given: The ``policy``, ``store`` and ``model`` of the engines in place of those.
        max_retries: How often in a row a refused request is made smaller and sent again.
        shrink: Whether tool results are shrunk as they arrive.
        retrieval: Whether agents get the tool that reads stored outputs back.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

    # False if Strands itself sends a refused request again.
    _retries = True

    def __init__(
        self,
        engine: ContextManager | None,
        given: dict[str, Any],
        max_retries: int,
        *,
        shrink: bool,
        retrieval: bool,
    ) -> None:
        super().__init__()
        require_engine(engine)
        if engine is not None and any(each is not None for each in given.values()):
            raise PolicyError("give an engine, or policy, store and model to make one of")
        engine_for(None, **given)
        self._shrinks = shrink
        self._offers_retrieval = retrieval

        def new_state(agent: Agent) -> _SeamState:
            own = engine or engine_for(agent, **given)
            warn_of_lost_originals(agent, own.store)
            return _SeamState(own, Refusals(max_retries))

        self._known = PerAgent(new_state)

    def engine_of(self, agent: Agent) -> ContextManager:
        """Returns the engine of this agent."""
        return self._known.of(agent).engine

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        self._known.of(event.agent).refusals.end()

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer; makes a refused request smaller and sends it again."""
        agent: Any = event.agent
        if self._retries:
            smaller = partial(self._smaller, agent, agent.messages)
            await self._known.of(agent).refusals.after_model_call(event, smaller)
        if event.stop_response is not None:
            self._known.of(agent).refusals.end()
            await asyncio.to_thread(self._learn, agent, event.stop_response.message)

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
        PassiveConversationManager.take_over(agent, self._known.of(agent).refusals)
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
        """Compacts the messages in place if they are above the high mark; True if it did.

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

    async def _smaller(self, agent: Agent, messages: list[Any]) -> None:
        """Makes messages that were refused well smaller, in place.

        Raises:
            ContextWindowOverflowException: If they cannot be made smaller, or were too often.
        """
        known = self._known.of(agent)
        known.refusals.add()
        share = _SHARES[min(known.refusals.count, len(_SHARES)) - 1]
        await arun(reduction(agent, known.engine, messages, share))

    def _learn(self, agent: Agent, answer: Any) -> None:
        """Learns from the usage that came with an answer to the messages of an agent."""
        observe(self.engine_of(agent), agent.messages, answer)
