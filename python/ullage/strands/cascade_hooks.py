"""When a manager of the cascade acts: before and after a model call, and at the end."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    BeforeInvocationEvent,
    BeforeModelCallEvent,
    HookRegistry,
)
from strands.types.exceptions import ContextWindowOverflowException

from ullage import UllageError
from ullage.logger import Logger
from ullage.steps import Steps, arun
from ullage.strands.budget import reductions
from ullage.strands.managing import held
from ullage.strands.session import RestorableConversationManager

if TYPE_CHECKING:
    from ullage import ContextManager
    from ullage.strands.agents import PerAgent
    from ullage.strands.known import Known
    from ullage.strands.settings import CascadeSettings

logger = Logger(__name__)


class CascadeHooks(RestorableConversationManager):
    """The hooks of :class:`~ullage.strands.MappingConversationManager`, all of them awaited.

    Strands calls the methods of a conversation manager in its event loop and waits for them; hooks
    it awaits. So what asks for a summary or writes a file is done here.
    """

    settings: CascadeSettings
    engine: ContextManager | None
    _known: PerAgent[Known]

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Registers the check before each model call, and what follows on a refusal."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(BeforeInvocationEvent, self._before_invocation)
        registry.add_callback(BeforeModelCallEvent, self._before_model_call)
        registry.add_callback(AfterModelCallEvent, self._after_model_call)
        registry.add_callback(AfterInvocationEvent, self._after_invocation)

    @abstractmethod
    async def areduce_context(self, agent: Any, e: Exception | None = None, **_: Any) -> None:
        """Makes the history smaller."""

    @abstractmethod
    def engine_for(self, agent: Any) -> ContextManager:
        """What decides for this agent."""

    @abstractmethod
    def _managed(self, agent: Any) -> Steps[None]:
        """What is done before a request."""

    async def _amanage(self, agent: Any) -> None:
        try:
            await arun(self._managed(agent))
        except UllageError as error:
            # The provider decides: it may count less than we do, and what our store cannot keep may
            # still fit. If it does not, the provider says so, and the history is reduced.
            logger.warning("error=<%s> | the history was left as it is", error)

    def _before_invocation(self, event: BeforeInvocationEvent) -> None:
        known = self._known.of(event.agent)
        known.invoked, known.overflows, known.given_up = True, 0, None

    async def _before_model_call(self, event: BeforeModelCallEvent) -> None:
        agent = event.agent
        if self.engine is not None:
            await self._amanage(agent)
            return
        # A hook that stands before this one, such as PromptBudgetHook, may have done it already.
        if not self._known.of(agent).is_checked(agent.messages):
            await self._amanage(agent)
            await self._aensure(agent)
        try:
            await arun(held(agent, self.engine_for(agent)))
        except UllageError as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _aensure(self, agent: Any) -> None:
        try:
            for options in reductions(agent, self.settings):
                await self.areduce_context(agent, **options)
        except (UllageError, ContextWindowOverflowException) as error:
            logger.warning("error=<%s> | the history was left as it is", error)

    async def _after_model_call(self, event: AfterModelCallEvent) -> None:
        known = self._known.of(event.agent)
        if not isinstance(event.exception, ContextWindowOverflowException):
            known.overflows = 0
            return
        if event.retry:
            return
        # Strands would ask for the reduction too, but in its event loop, and call itself again for
        # each try. What cannot be reduced is left to it, so that the overflow gets out.
        try:
            await self.areduce_context(event.agent, event.exception)
        except ContextWindowOverflowException as error:
            logger.warning("error=<%s> | the overflow is raised", error)
            known.given_up = (event.exception, error)
            return
        event.retry = True

    async def _after_invocation(self, event: AfterInvocationEvent) -> None:
        known = self._known.of(event.agent)
        put_off, known.invoked, known.put_off = known.put_off, False, False
        if put_off:
            await self._amanage(event.agent)
