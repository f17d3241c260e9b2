"""The plugin: compaction before a model call and after a refusal, none of it in the event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.hooks import (
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
)
from strands.plugins import Plugin
from strands.types.exceptions import ContextWindowOverflowException

from ullage.strands.agents import note_seam
from ullage.strands.passive import PassiveConversationManager
from ullage.strands.reduction import Reduction

if TYPE_CHECKING:
    from strands import Agent

    from ullage import ContextManager, Policy
    from ullage.store import Store

# What is left after so many attempts is a two-hundredth of the first request. A provider that still
# refuses does not refuse the size.
MOST_REFUSALS = 5


class ContextPlugin(Plugin):
    """Keeps the conversations of agents inside their models' windows.

        agent = Agent(model=model, tools=tools, plugins=[ContextPlugin(engine=engine)])

    Tool results are shrunk as they arrive, the history is compacted before a model call if it is
    above the policy's high mark, and if the provider still refuses the request, it is made well
    smaller and sent again: a number of times in a row, and only as long as it gets smaller; then
    the overflow is raised. What the provider reports for each prompt corrects the engine's counter.

    Planning, summaries and the writing of files run beside the event loop, which serves other
    agents meanwhile. That is what a conversation manager cannot do: Strands calls its methods in
    the loop and waits.

    The agent gets the engine's retrieval tool, if there is a store. One plugin may serve several
    agents.

    The plugin takes the place of a conversation manager. An agent that was given none, or Strands'
    ``NullConversationManager``, gets one that does nothing but remember for a session what the
    plugin did, so that the agent comes back from it as it was. Any other manager stays, and works
    beside the plugin.

    Args:
        engine: What decides. If not given, each agent has an engine for its model: by its id, and
            by its ``context_window_limit`` where it has one. It keeps what leaves beside the
            session of a ``FileSessionManager``, in the folder ``artifacts``; otherwise in memory,
            for as long as the agent lives.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where what leaves is kept, if no engine is given.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        max_retries: How often in a row a refused request is made smaller and sent again.
        shrink: Whether tool results are shrunk as they arrive.
        retrieval: Whether agents get the tool that reads stored outputs back.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
        max_retries: int = MOST_REFUSALS,
        shrink: bool = True,
        retrieval: bool = True,
    ) -> None:
        super().__init__()
        self._reduction = Reduction(engine, max_retries, policy=policy, store=store, model=model)
        self._shrinks = shrink
        self._offers_retrieval = retrieval

    @property
    def name(self) -> str:
        """What Strands knows the plugin by."""
        return "ullage:context"

    def init_agent(self, agent: Agent) -> None:
        """Takes the place of a manager that would do nothing, or that nobody asked for."""
        note_seam(agent, type(self).__name__)
        PassiveConversationManager.take_over(agent)
        agent.add_hook(self.before_invocation, BeforeInvocationEvent)
        agent.add_hook(self.before_model_call, BeforeModelCallEvent)
        agent.add_hook(self.after_model_call, AfterModelCallEvent)
        if self._shrinks:
            agent.add_hook(self.after_tool_call, AfterToolCallEvent)
        if self._offers_retrieval:
            self._reduction.offer_retrieval(agent)

    def engine_of(self, agent: Agent) -> ContextManager:
        """What decides for this agent."""
        return self._reduction.engine_of(agent)

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        self._reduction.begin(event.agent)

    async def before_model_call(self, event: BeforeModelCallEvent) -> None:
        """Compacts the history if it is above the high mark."""
        agent: Any = event.agent
        await self._reduction.compact(agent, agent.messages)

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer; makes a refused request smaller and sends it again."""
        agent: Any = event.agent
        if event.stop_response is not None:
            self._reduction.begin(agent)
            await self._reduction.observe(agent, agent.messages, event.stop_response.message)
        elif isinstance(event.exception, ContextWindowOverflowException) and not event.retry:
            event.retry = await self._reduction.recover(agent, agent.messages)

    async def after_tool_call(self, event: AfterToolCallEvent) -> None:
        """Shrinks a result before it enters the conversation."""
        await self._reduction.shrink(event)
