"""The plugin and the strategy: an engine that compacts an agent's messages in place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from strands.hooks import BeforeModelCallEvent
from strands.plugins import Plugin

from ullage.strands.seam import MOST_REFUSALS, EngineSeam

if TYPE_CHECKING:
    from strands import Agent
    from strands.experimental.context_manager import ContextState

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

# Strands itself retries so often, and asks the strategy each time.
_STRANDS_RETRIES = 3


class ContextPlugin(EngineSeam, Plugin):
    """Keeps the conversations of agents inside their models' windows.

        agent = Agent(model=model, tools=tools, plugins=[ContextPlugin(engine=engine)])

    Tool results are shrunk as they arrive, the history is compacted before a model call if it is
    above the policy's high mark, and a request that the provider refuses is made well smaller and
    sent again, as long as it gets smaller. What the provider reports corrects the engine's counter.
    Planning, summaries and the writing of files run beside the event loop. The agent gets the
    engine's retrieval tool, if there is a store. One plugin may serve several agents.

    The plugin takes the place of a conversation manager. An agent that was given none, or Strands'
    ``NullConversationManager``, gets one that does nothing but remember for a session what the
    plugin did. Any other manager stays, and works beside the plugin.

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
        given = {"policy": policy, "store": store, "model": model}
        super().__init__(engine, given, max_retries, shrink=shrink, retrieval=retrieval)

    @property
    def name(self) -> str:
        """The name of the plugin in Strands."""
        return "ullage:context"

    def init_agent(self, agent: Agent) -> None:
        """Registers the hooks, and replaces a manager that does nothing or is the default."""
        self._attach(agent)
        agent.add_hook(self.before_model_call, BeforeModelCallEvent)

    async def before_model_call(self, event: BeforeModelCallEvent) -> None:
        """Compacts the history if it is above the high mark."""
        agent: Any = event.agent
        await self._compact(agent, agent.messages)


class EngineStrategy(EngineSeam):
    """A strategy for the context manager of Strands.

        strategies = [EngineStrategy(engine=engine)]
        agent = Agent(model=model, context_manager={"strategies": strategies, "stash": False})

    Does what :class:`~ullage.strands.ContextPlugin` does, where Strands asks its strategies: before
    each model call, and after a refusal, three times in a row at most. Strands' own last resort,
    which removes the oldest messages though they are pinned, comes behind. Turn Strands' stash off,
    as above: it keeps every block a second time and brings another retrieval tool.

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
    _retries = False

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
        given = {"policy": policy, "store": store, "model": model}
        super().__init__(engine, given, _STRANDS_RETRIES, shrink=shrink, retrieval=retrieval)

    def init(self, agent: Agent, stash: Any = None) -> None:  # noqa: ARG002 - Strands passes it
        """Prepares an agent, before its session restores it."""
        self._attach(agent)

    async def apply(self, context: ContextState) -> bool:
        """Compacts the messages in place, and returns True if that changed them."""
        agent, messages = context.agent, context.messages
        if context.overflow:
            refusals = self._known.of(agent).refusals
            return await refusals.recover(partial(self._smaller, agent, messages))
        return await self._compact(agent, messages)
