"""``ContextFilterPlugin``: ADK's plugin of that name, with requests that are always valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.adk.plugins import context_filter_plugin

from ullage import repair
from ullage._engine.logger import Logger
from ullage.adk.conversations import with_pending_answers
from ullage.adk.requests import FORMAT

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse

logger = Logger(__name__)


class ContextFilterPlugin(context_filter_plugin.ContextFilterPlugin):
    """Keeps the last invocations of a request, and applies a filter to them.

        App(name="sre", root_agent=agent, plugins=[ContextFilterPlugin(num_invocations_to_keep=5)])

    Parameters and defaults are those of ADK's plugin, and valid requests are the same. Other
    requests are repaired: a result whose call the filter removed becomes text, a call without its
    result gets one, and the user speaks first and last. If the filter leaves nothing to send, the
    request stays unchanged.

    Only the request changes, and only its number of invocations is bounded. A ``ContextPlugin``
    after this one keeps the request inside the model's window.
    """

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Filters the request, and repairs it."""
        whole = llm_request.contents
        # A copy, because a filter may change it in place.
        llm_request.contents = list(whole)
        await super().before_model_callback(
            callback_context=callback_context, llm_request=llm_request
        )
        for left in (llm_request.contents, whole):
            try:
                # The model answers the last message of the user or of a tool.
                newest = whole[-1:] if left and left[-1].role == "model" else []
                kept = [*left, *newest]
                contents = with_pending_answers(repair(kept, FORMAT), kept, llm_request)
            except Exception as error:  # noqa: BLE001 - a filter may return anything
                logger.warning("error=<%s> | the contents cannot be repaired", error)
                continue
            if contents:
                llm_request.contents = contents
                return None
        llm_request.contents = whole
        return None
