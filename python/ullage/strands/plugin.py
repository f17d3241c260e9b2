"""The plugin, the strategy and the view: an engine at work in the hooks of each agent."""

from __future__ import annotations

import asyncio
import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from strands.hooks import (
    AfterModelCallEvent,
    AfterToolCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
)
from strands.plugins import Plugin
from strands.types.exceptions import ContextWindowOverflowException

from ullage import ContextManager, UllageError
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage._hosts.conversations import HostConversation
from ullage._hosts.results import shrink_result
from ullage._hosts.rows import PlainReading
from ullage.strands.agents import PerAgent, note_seam, usage_counts
from ullage.strands.engines import (
    compaction,
    engine_factory,
    observe,
    reduction,
    retrieval_tool,
    system_and_tools,
)
from ullage.strands.history import limit_count, repair_request
from ullage.strands.refusals import refusals_of
from ullage.strands.session import PassiveConversationManager
from ullage.strands.snapshot import TrackedView

if TYPE_CHECKING:
    from strands import Agent
    from strands.experimental.context_manager import ContextState
    from strands.middleware import InvokeModelContext
    from typing_extensions import Unpack

    from ullage import Policy
    from ullage.stores.protocol import Store

logger = Logger(__name__)

# After so many attempts a two-hundredth of the first request is left. A provider that still refuses
# does not refuse the size.
MOST_REFUSALS = 5
# Strands itself retries so often, and asks the strategy each time.
_STRANDS_RETRIES = 3

# When a provider refuses a history that counted as fitting, its own count is higher than ours by a
# share that nobody knows, or its window smaller. The next try aims so far below what was refused,
# and each after it further, so that the fifth comes to a two-hundredth of the first.
_SHARES = (0.7, 0.5, 0.3, 0.2, 0.2)


class EngineSettings(TypedDict, total=False):
    """The settings of an engine for each agent; :class:`ContextPlugin` explains them."""

    policy: Policy | None
    store: Store | None
    model: str | None
    retrieval: bool


class EngineSeam:
    """Connects agents to engines. The arguments are those of :class:`ContextPlugin`."""

    # False if Strands itself sends a refused request again.
    _retries = True

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
        self._engines = PerAgent(engine_factory(engine, policy=policy, store=store, model=model))
        self._max_retries = max_retries
        self._shrinks = shrink
        self._offers_retrieval = retrieval

    def engine_of(self, agent: Agent) -> ContextManager:
        """Returns the engine of this agent."""
        return self._engines.of(agent)

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        refusals_of(event.agent).end()

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer; makes a refused request smaller and sends it again."""
        agent: Any = event.agent
        refusals = refusals_of(agent)
        if self._retries:
            smaller = partial(self._reduce_refused, agent, agent.messages)
            await refusals.after_model_call(event, smaller)
        if event.stop_response is not None:
            refusals.end()
            await asyncio.to_thread(self._observe, agent, event.stop_response.message)

    async def after_tool_call(self, event: AfterToolCallEvent) -> None:
        """Shrinks a result before it enters the conversation."""
        tool = str(event.tool_use.get("name"))
        event.result = await arun(shrink_result(self.engine_of(event.agent), tool, event.result))

    def _attach(self, agent: Agent) -> None:
        """Registers the hooks of an agent. A manager that would do nothing is replaced."""
        store = self.engine_of(agent).store
        refusals_of(agent).most = self._max_retries
        note_seam(agent, type(self).__name__)
        PassiveConversationManager.take_over(agent)
        agent.add_hook(self.before_invocation, BeforeInvocationEvent)
        agent.add_hook(self.after_model_call, AfterModelCallEvent)
        if self._shrinks:
            agent.add_hook(self.after_tool_call, AfterToolCallEvent)
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
            report = await arun(compaction(agent, self.engine_of(agent), messages))
        except UllageError as error:
            logger.warning("error=<%s> | the history was left as it is", error)
            return False
        return bool(report.stages)

    async def _reduce_refused(self, agent: Agent, messages: list[Any]) -> None:
        """Makes messages that were refused well smaller, in place, or raises the overflow."""
        refusals = refusals_of(agent)
        refusals.add()
        share = _SHARES[min(refusals.count, len(_SHARES)) - 1]
        await arun(reduction(agent, self.engine_of(agent), messages, share))

    def _observe(self, agent: Agent, answer: Any) -> None:
        """Learns from the usage that came with an answer to the messages of an agent."""
        observe(self.engine_of(agent), agent.messages, answer)


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
        engine: The engine. If not given, each agent has an engine for its model: by its id, and by
            its ``context_window_limit`` where it has one. It keeps removed content beside the
            session of a ``FileSessionManager``, in the folder ``artifacts``; otherwise in memory,
            for as long as the agent lives.
        policy: The settings, if no engine is given; those for the model if not given either.
        store: Keeps removed content, if no engine is given.
        model: The id of the model, if no engine is given; that of the agent's model if not given.
        max_retries: The most times in a row that a refused request is made smaller and sent again.
        shrink: True to shrink tool results as they arrive.
        retrieval: True to give agents the tool that reads stored outputs back.

    Raises:
        PolicyError: If an argument is not what it should be, or an engine is given together with
            what it has.
    """

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

    Args:
        engine: See :class:`~ullage.strands.ContextPlugin`.
        shrink: True to shrink tool results as they arrive.
        **settings: ``policy``, ``store``, ``model`` and ``retrieval``, as for the plugin.

    Raises:
        PolicyError: As the plugin.
    """

    name = "ullage:engine"
    _retries = False

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        shrink: bool = True,
        **settings: Unpack[EngineSettings],
    ) -> None:
        super().__init__(engine, max_retries=_STRANDS_RETRIES, shrink=shrink, **settings)

    def init(self, agent: Agent, stash: Any = None) -> None:  # noqa: ARG002 - Strands passes it
        """Prepares an agent, before its session restores it."""
        self._attach(agent)

    async def apply(self, context: ContextState) -> bool:
        """Compacts the messages in place, and returns True if that changed them."""
        agent, messages = context.agent, context.messages
        if context.overflow:
            smaller = partial(self._reduce_refused, agent, messages)
            return await refusals_of(agent).recover(smaller)
        return await self._compact(agent, messages)


class ContextView(EngineSeam, Plugin):
    """Shows the model a shorter conversation than the agent has.

        agent = Agent(model=model, tools=tools, plugins=[ContextView(engine=engine)])

    What is sent is compacted as :class:`~ullage.strands.ContextPlugin` compacts; ``agent.messages``
    and the session keep every message as it arrived. Take the plugin away and nothing has happened.
    The requests are those of a ``View``, see ``docs/view.md``: they go on from one to the next, and
    after a refusal the later ones stay below what was refused. Another process compacts again.

    An agent that was given no conversation manager, or ``NullConversationManager``, gets one that
    changes nothing. Tool results are not shrunk as they arrive, since that would change the
    history; add :class:`~ullage.strands.ToolRouterHook` for that.

    Needs ``strands.middleware``, which Strands has since 1.62; with an older version the agent
    cannot be made.

    Args:
        engine: See :class:`~ullage.strands.ContextPlugin`.
        max_retries: The most times in a row that a refused request is made smaller and sent again.
        **settings: ``policy``, ``store``, ``model`` and ``retrieval``, as for the plugin.

    Raises:
        PolicyError: As the plugin.
    """

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        max_retries: int = MOST_REFUSALS,
        **settings: Unpack[EngineSettings],
    ) -> None:
        super().__init__(engine, max_retries=max_retries, shrink=False, **settings)
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
            shown = await self._messages(agent, live)
        except UllageError as error:
            logger.warning("error=<%s> | the request was left as it is", error)
            return context
        # Other middleware may have written into the copies of the messages that were given, and
        # nobody may write into the messages.
        copies = {id(message): copied for message, copied in zip(live, given, strict=True)}
        shown = [copies.get(id(message)) or copy.deepcopy(message) for message in shown]
        return context.replace(messages=shown)

    async def _messages(self, agent: Any, messages: list[Any]) -> list[Any]:
        """Returns the messages to send, or the fewest possible ones; the provider decides."""
        engine, view = self.engine_of(agent), self._views.of(agent).view_of(messages)
        reading = PlainReading(None, messages)
        request = HostConversation(engine, view).request(reading, **system_and_tools(agent))
        shown = await arun(request)
        limit_count(shown, engine.policy)
        return shown

    async def _reduce_refused(self, agent: Agent, messages: list[Any]) -> None:  # noqa: ARG002 - they stay
        refusals_of(agent).add()
        try:
            await self._views.of(agent).view.arefused()
        except UllageError as error:
            raise ContextWindowOverflowException(
                f"the history cannot be made smaller: {error}"
            ) from error

    def _observe(self, agent: Agent, answer: Any) -> None:
        reported, cached = usage_counts(answer)
        if reported is not None:
            self._views.of(agent).view.observe(reported, cached)
