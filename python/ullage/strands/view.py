"""The view: a shorter request, and a history that stays whole."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from strands.plugins import Plugin
from strands.types.exceptions import ContextWindowOverflowException

from ullage import BudgetError, ContextManager, StoreError, UllageError
from ullage._engine.logger import Logger
from ullage.strands.agents import PerAgent, usage_counts
from ullage.strands.cuts import hold_count
from ullage.strands.engines import fixed
from ullage.strands.seam import MOST_REFUSALS, EngineSeam
from ullage.strands.snapshot import TrackedView

if TYPE_CHECKING:
    from strands import Agent
    from strands.middleware import InvokeModelContext

    from ullage import Policy, View
    from ullage.stores.protocol import Store

logger = Logger(__name__)


class ContextView(EngineSeam, Plugin):
    """Shows the model a shorter conversation than the agent has.

        agent = Agent(model=model, tools=tools, plugins=[ContextView(engine=engine)])

    What is sent is compacted as :class:`~ullage.strands.ContextPlugin` compacts; ``agent.messages``
    and the session keep every message as it arrived. Take the plugin away and nothing has happened.
    The requests are those of a ``View``, see ``docs/view.md``: they go on from one to the next, and
    after a refusal the later ones stay below what was refused. Another process compacts anew.

    An agent that was given no conversation manager, or ``NullConversationManager``, gets one that
    changes nothing. Tool results are not shrunk as they arrive, since that would change the
    history; add :class:`~ullage.strands.ToolRouterHook` for that.

    Needs ``strands.middleware``, which Strands has since 1.62; with an older version the agent
    cannot be made.

    Args:
        engine: What decides. If not given, each agent has an engine for its model, see
            :class:`~ullage.strands.ContextPlugin`.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Where what leaves is kept, if no engine is given.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        max_retries: How often in a row a refused request is made smaller and sent again.
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
        retrieval: bool = True,
    ) -> None:
        given = {"policy": policy, "store": store, "model": model}
        super().__init__(engine, given, max_retries, shrink=False, retrieval=retrieval)
        self._views = PerAgent(lambda agent: TrackedView(self.engine_of(agent)))

    @property
    def name(self) -> str:
        """The name of the plugin in Strands."""
        return "ullage:view"

    def init_agent(self, agent: Agent) -> None:
        """Registers the view for the requests of an agent."""
        from strands.middleware import InvokeModelStage

        self._attach(agent)
        agent.add_middleware(InvokeModelStage.Input, self.request)

    async def request(self, context: InvokeModelContext) -> InvokeModelContext:
        """Returns the request with the messages that the model is shown.

        Where other middleware has added or removed messages before, the view is of those messages.
        """
        agent: Any = context.agent
        given = context.messages
        live = agent.messages if len(agent.messages) == len(given) else given
        try:
            shown = await self._shown(agent, live)
        except UllageError as error:
            logger.warning("error=<%s> | the request was left as it is", error)
            return context
        # Other middleware may have written into the copies of the messages that were given, and
        # nobody may write into the messages.
        copies = {id(one): copied for one, copied in zip(live, given, strict=True)}
        shown = [copies.get(id(one)) or copy.deepcopy(one) for one in shown]
        return context.replace(messages=shown)

    async def _shown(self, agent: Any, messages: list[Any]) -> list[Any]:
        """Returns the messages to send, or the fewest possible ones; the provider decides.

        Raises:
            MessageError: If they cannot be read.
        """
        engine, view = self.engine_of(agent), self._views.of(agent).following(messages)
        try:
            shown = await _within_budget(view, messages, fixed(agent))
        except StoreError as error:
            # Nothing is lost by it: the agent has every message.
            logger.warning("error=<%s> | compacted without the store", error)
            other = _without_store(engine).open(view.state(), append_only=True)
            shown = await _within_budget(other, messages, fixed(agent))
        hold_count(shown, engine.policy)
        return shown

    async def _smaller(self, agent: Agent, messages: list[Any]) -> None:  # noqa: ARG002 - they stay
        self._known.of(agent).refusals.add()
        try:
            await self._views.of(agent).view.arefused()
        except UllageError as error:
            raise ContextWindowOverflowException(
                f"the history cannot be made smaller: {error}"
            ) from error

    def _learn(self, agent: Agent, answer: Any) -> None:
        reported, cached = usage_counts(answer)
        if reported is not None:
            self._views.of(agent).view.observe(reported, cached)


async def _within_budget(view: View, messages: list[Any], beside: dict[str, Any]) -> list[Any]:
    try:
        return await view.amessages(messages, **beside)
    except BudgetError as error:
        logger.warning("error=<%s> | the request stays above its budget", error)
        return await view.amessages(messages, max(1, error.floor), **beside)


def _without_store(engine: ContextManager) -> ContextManager:
    """An engine like this one that stores nothing and asks nobody for summaries."""
    return ContextManager(
        engine.policy,
        counter=engine.counter,
        format="bedrock",
        append_only=True,
        on_compaction=engine.on_compaction,
        recorder=engine.recorder,
    )
