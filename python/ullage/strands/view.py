"""The view: a shorter request, and a history that stays whole."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from strands.hooks import AfterModelCallEvent, BeforeInvocationEvent
from strands.plugins import Plugin
from strands.types.exceptions import ContextWindowOverflowException

from ullage.strands.agents import PerAgent, note_seam
from ullage.strands.passive import PassiveConversationManager
from ullage.strands.plugin import MOST_REFUSALS
from ullage.strands.reduction import Reduction
from ullage.strands.remembered import Remembered

if TYPE_CHECKING:
    from strands import Agent
    from strands.middleware import InvokeModelContext

    from ullage import ContextManager, Policy
    from ullage.store import Store


class _Shadow:
    """The messages of an agent as the model is shown them."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self._seen = Remembered()

    def follow(self, live: list[Any]) -> None:
        """Takes up what is new in the history; begins anew if something older has changed."""
        if not self._seen.begins(live):
            self.messages, self._seen = [], Remembered()
        new = live[len(self._seen) :]
        self.messages += new
        self._seen.add(new)


class ContextView(Plugin):
    """Shows the model a shorter conversation than the agent has.

        agent = Agent(model=model, tools=tools, plugins=[ContextView(engine=engine)])

    What is sent is compacted as :class:`~ullage.strands.ContextPlugin` compacts; ``agent.messages``
    and the session keep every message as it arrived. For agents whose transcripts are read by
    people or by other programs, and for trying a policy: take the plugin away and nothing has
    happened.

    The view goes on from one request to the next: what is above the high mark is compacted once,
    and then messages are added at the end, so that the provider's prompt cache keeps its value. It
    is made anew when an older message of the history changes, and by another process.

    The history grows for as long as the agent lives, and Strands copies it for every request. An
    agent that was given no conversation manager, or ``NullConversationManager``, gets one that
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
        super().__init__()
        self._reduction = Reduction(engine, max_retries, policy=policy, store=store, model=model)
        self._offers_retrieval = retrieval
        self._shadows = PerAgent(lambda _: _Shadow())

    @property
    def name(self) -> str:
        """What Strands knows the plugin by."""
        return "ullage:view"

    def init_agent(self, agent: Agent) -> None:
        """Registers the view for the requests of an agent."""
        from strands.middleware import InvokeModelStage

        note_seam(agent, type(self).__name__)
        PassiveConversationManager.take_over(agent)
        agent.add_middleware(InvokeModelStage.Input, self.request)
        agent.add_hook(self.before_invocation, BeforeInvocationEvent)
        agent.add_hook(self.after_model_call, AfterModelCallEvent)
        if self._offers_retrieval:
            self._reduction.offer_retrieval(agent)

    def engine_of(self, agent: Agent) -> ContextManager:
        """What decides for this agent."""
        return self._reduction.engine_of(agent)

    async def request(self, context: InvokeModelContext) -> InvokeModelContext:
        """The request with the messages that the model is shown.

        Where other middleware has added or removed messages before, the view is of those messages,
        and of this request alone.
        """
        agent: Any = context.agent
        given, live = context.messages, agent.messages
        if len(given) != len(live):
            shown = list(given)
            await self._reduction.compact(agent, shown)
            return context.replace(messages=shown)
        shadow = self._shadows.of(agent)
        shadow.follow(live)
        await self._reduction.compact(agent, shadow.messages)
        return context.replace(messages=_shown(shadow.messages, live, given))

    def before_invocation(self, event: BeforeInvocationEvent) -> None:
        """Forgets the refusals that ended the last invocation."""
        self._reduction.begin(event.agent)

    async def after_model_call(self, event: AfterModelCallEvent) -> None:
        """Learns from an answer; makes a refused view smaller and sends it again."""
        agent: Any = event.agent
        shown = self._shadows.of(agent).messages
        if event.stop_response is not None:
            self._reduction.begin(agent)
            await self._reduction.observe(agent, shown, event.stop_response.message)
        elif isinstance(event.exception, ContextWindowOverflowException) and not event.retry:
            event.retry = await self._reduction.recover(agent, shown)


def _shown(view: list[Any], live: list[Any], given: list[Any]) -> list[Any]:
    """A view of the live messages, made of the copies of them that were given for the request.

    Other middleware may have written into the copies, and nobody may write into the messages.
    """
    same = next(
        (
            n
            for n, (one, other) in enumerate(zip(reversed(view), reversed(live), strict=False))
            if one is not other
        ),
        min(len(view), len(live)),
    )
    front, rest = view[: len(view) - same], len(live) - same
    copies = {id(one): mine for one, mine in zip(live[:rest], given, strict=False)} if front else {}
    return [*(copies.get(id(one)) or copy.deepcopy(one) for one in front), *given[rest:]]
