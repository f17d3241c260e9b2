"""The strategy: what ``Agent(context_manager=...)`` runs, decided by the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.strands.seam import EngineSeam

if TYPE_CHECKING:
    from strands import Agent
    from strands.experimental.context_manager import ContextState

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store

# Strands itself tries three times, and asks a strategy anew each time.
_MOST_REFUSALS = 3


class EngineStrategy(EngineSeam):
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
        super().__init__(
            engine,
            policy=policy,
            store=store,
            model=model,
            max_retries=_MOST_REFUSALS,
            shrink=shrink,
            retrieval=retrieval,
        )

    def init(self, agent: Agent, stash: Any = None) -> None:  # noqa: ARG002 - Strands passes it
        """Prepares an agent, before its session restores it."""
        self._attach(agent)

    async def apply(self, context: ContextState) -> bool:
        """Compacts the messages in place; whether that changed them."""
        if context.overflow:
            return await self._recover(context.agent, context.messages)
        return await self._compact(context.agent, context.messages)
