"""The strategy: what ``Agent(context_manager=...)`` runs, decided by the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent, AfterToolCallEvent, BeforeInvocationEvent

from ullage.strands.agents import note_seam
from ullage.strands.passive import PassiveConversationManager
from ullage.strands.reduction import Reduction

if TYPE_CHECKING:
    from strands import Agent
    from strands.experimental.context_manager import ContextState

    from ullage import ContextManager, Policy
    from ullage.store import Store

# Strands itself tries three times, and asks a strategy anew each time.
_MOST_REFUSALS = 3


class EngineStrategy:
    """A strategy for the context manager of Strands.

        strategies = [EngineStrategy(engine=engine)]
        agent = Agent(model=model, context_manager={"strategies": strategies, "stash": False})

    Strands runs it before each model call, where it compacts what is above the policy's high mark,
    and after a refusal, where it brings the history well below what was refused. Strands sends the
    request again if that made it smaller, three times in a row at most. Its own last resort, which
    removes the oldest messages though they are pinned, comes behind; it acts where the engine could
    make nothing smaller, or where the estimate of Strands is above the window.

    Tool results are shrunk as they arrive, and the agent gets the engine's retrieval tool, if there
    is a store. Strands' own stash keeps every block a second time and brings another such tool, so
    turn it off, as above. An agent that comes back from a session is as it was, which with
    strategies of Strands it is not.

    One strategy may serve several agents.

    Args:
        engine: What decides. If not given, each agent has an engine for its model, see
            :class:`~ullage.strands.ContextPlugin`.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where what leaves is kept, if no engine is given.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        shrink: Whether tool results are shrunk as they arrive.
        retrieval: Whether agents get the tool that reads stored outputs back.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

    name = "ullage:engine"

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
        shrink: bool = True,
        retrieval: bool = True,
    ) -> None:
        self._reduction = Reduction(engine, _MOST_REFUSALS, policy=policy, store=store, model=model)
        self._shrinks = shrink
        self._offers_retrieval = retrieval

    def init(self, agent: Agent, stash: Any = None) -> None:  # noqa: ARG002 - Strands passes it
        """Prepares an agent, before its session restores it."""
        note_seam(agent, type(self).__name__)
        PassiveConversationManager.take_over(agent)
        agent.add_hook(self.before_invocation, BeforeInvocationEvent)
        agent.add_hook(self.after_model_call, AfterModelCallEvent)
        if self._shrinks:
            agent.add_hook(self.after_tool_call, AfterToolCallEvent)
        if self._offers_retrieval:
            self._reduction.offer_retrieval(agent)

    def engine_of(self, agent: Agent) -> ContextManager:
        """What decides for this agent."""
        return self._reduction.engine_of(agent)

    async def apply(self, context: ContextState) -> bool:
        """Compacts the messages in place; whether that changed them."""
        if context.overflow:
            return await self._reduction.recover(context.agent, context.messages)
        return await self._reduction.compact(context.agent, context.messages)

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        self._reduction.begin(event.agent)

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer."""
        agent: Any = event.agent
        if event.stop_response is not None:
            self._reduction.begin(agent)
            await self._reduction.observe(agent, agent.messages, event.stop_response.message)

    async def after_tool_call(self, event: AfterToolCallEvent) -> None:
        """Shrinks a result before it enters the conversation."""
        await self._reduction.shrink(event)
