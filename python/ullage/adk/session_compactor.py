"""``SessionCompactor``: a ``ContextCompactor`` in the runner of an ADK app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.plugins.base_plugin import BasePlugin

from ullage._core import BudgetError, PolicyError
from ullage._engine.logger import Logger
from ullage.adk.compactor import CompactionConfig, ContextCompactor
from ullage.adk.conversations import session_key
from ullage.adk.requests import FORMAT
from ullage.manager import ContextManager

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    from ullage._core import Policy
    from ullage.stores.protocol import Store

logger = Logger(__name__)


class SessionCompactor(BasePlugin):
    """Compacts the session of a run: before it begins, and between its calls.

    A compaction is written into the session, and the next request has it. A request may still be
    above ``token_budget``, because of a single large result. The engine then reduces it, for this
    request only. Nothing here ends a run: errors are logged, and the request stays unchanged.

    The budget is for the contents, without the system instruction and the tools.

    Args:
        compactor: A compactor, or its configuration.
        policy: The engine's policy for reducing a request.
        store: Keeps outputs that do not fit a request; without one they are shortened.
        name: The name of the plugin, unique in an app.

    Raises:
        PolicyError: If the compactor is invalid.
    """

    def __init__(
        self,
        compactor: ContextCompactor | CompactionConfig | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        name: str = "ullage_session_compactor",
    ) -> None:
        super().__init__(name=name)
        if compactor is None or isinstance(compactor, CompactionConfig):
            compactor = ContextCompactor(compactor)
        if not isinstance(compactor, ContextCompactor):
            raise PolicyError(
                "compactor: must be a ContextCompactor or a CompactionConfig;"
                f" got a {type(compactor).__name__}"
            )
        self.compactor = compactor
        self._engine = ContextManager(
            policy, counter=self.compactor.counter, store=store, format=FORMAT
        )
        self._at_work: set[str] = set()

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Compacts the events of earlier runs."""
        await self._compact(invocation_context)
        return None

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Compacts the events of this run, and keeps the request inside the budget."""
        await self._compact(callback_context._invocation_context)  # noqa: SLF001 - has the services
        try:
            contents = list(llm_request.contents)
            try:
                await self._engine.acompact(contents, self.compactor.config.token_budget)
            except BudgetError as error:
                logger.warning("error=<%s> | the request stays above its budget", error)
                await self._engine.acompact(contents, error.floor)
            llm_request.contents = contents
        except Exception:
            logger.exception("the request was not compacted")
        return None

    async def _compact(self, context: InvocationContext) -> None:
        session = context.session
        # Parallel agents share a session, and the others continue meanwhile.
        key = session_key(session)
        if key in self._at_work:
            return
        self._at_work.add(key)
        try:
            await self.compactor.compact(session, context.session_service)
        except Exception:
            logger.exception("session=<%s> | the session was not compacted", key)
        finally:
            self._at_work.discard(key)
