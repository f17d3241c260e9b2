"""``ContextCallbacks``: ullage for one agent, for those who use no plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.adk.hooks import Hooks

if TYPE_CHECKING:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from typing_extensions import Unpack

    from ullage.adk.hooks import Settings
    from ullage.usage.tracker import UsageTracker


class ContextCallbacks:
    """What ``ContextPlugin`` does, as callbacks of an agent.

        agent = LlmAgent(name="sre", model=model, tools=tools, **ContextCallbacks().fields())

    Several agents may share one object. Do not use it beside the plugin: usage would count twice.

    Args:
        **settings: As for ``ContextPlugin``.

    Raises:
        PolicyError: If a setting is not what it should be.
    """

    def __init__(self, **settings: Unpack[Settings]) -> None:
        self._hooks = Hooks(**settings)

    @property
    def usage(self) -> UsageTracker:
        """What sessions have used."""
        return self._hooks.usage

    def fields(self) -> dict[str, Any]:
        """The callbacks by the names of an agent's fields."""
        return {
            "before_model_callback": self.before_model_callback,
            "after_model_callback": self.after_model_callback,
            "on_model_error_callback": self.on_model_error_callback,
            "after_tool_callback": self.after_tool_callback,
            "after_agent_callback": self.after_agent_callback,
        }

    async def before_model_callback(
        self, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Stops a session over its budget; brings any other request inside its window."""
        return await self._hooks.before_model(callback_context, llm_request)

    async def after_model_callback(
        self, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Counts what the call used."""
        await self._hooks.after_model(callback_context, llm_response)
        return None

    async def on_model_error_callback(
        self, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Sends a request again with less that was refused for its length."""
        return await self._hooks.model_error(callback_context, llm_request, error)

    async def after_agent_callback(self, callback_context: CallbackContext) -> None:
        """Lets go of what only the running invocation needs."""
        await self._hooks.after_agent(callback_context)

    async def after_tool_callback(
        self,
        tool: BaseTool,
        args: dict[str, Any],
        tool_context: ToolContext,
        tool_response: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Makes a response shorter that is too long."""
        return await self._hooks.after_tool(tool, args, tool_context, tool_response)
