"""``ContextPlugin``: ullage for every agent of an app."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.plugins.base_plugin import BasePlugin

from ullage.adk.hooks import Hooks

if TYPE_CHECKING:
    from google.adk.agents.base_agent import BaseAgent
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types
    from typing_extensions import Unpack

    from ullage.adk.hooks import Settings
    from ullage.usage.tracker import UsageTracker

# The name that ADK knows the plugin by; an app can have one of each name.
NAME = "ullage_context"


class ContextPlugin(BasePlugin):
    """Keeps the requests of every agent of an app inside the window of its model.

        app = App(name="sre", root_agent=agent, plugins=[ContextPlugin()])

    * A tool's response is shortened before it enters the session, the whole stored where the
      engine has a store; above 200,000 characters or 500 items nothing enters.
    * Before a model call the request is compacted if it is above the high mark, with its system
      instruction and its tools counted, also in the middle of an invocation. The outcome stands
      until the high mark is reached again, so that the prompt keeps its beginning, and the
      provider its cache. Broken histories are mended. Only the request changes; the session
      keeps every event.
    * What the provider refuses for its length is sent again with less, at most three times.
    * What calls use is added up in ``usage``, by session and agent; a session that has used up the
      tracker's budget gets the pause of the SRE agent in place of an answer. What a resumed session
      used before comes from its events; agents called as tools count to the session of the user.
      What providers report corrects the engine's counter.

    A callback never raises: what goes wrong is logged, and ADK goes on without it.

    One plugin may serve several runners and threads, and several runs of a session at once. It
    remembers the last compaction of 64 conversations (an agent in a session), and has the state of
    the session keep it for other processes, by a key that begins with ``ullage/``. Beside the
    engine's own cost, a call takes one pass over the contents that were compacted.

    Args:
        name: The plugin's name.
        **settings: ``engine``, ``usage``, ``payloads``, ``guard`` and ``remember``, of which none
            has to be given: see ``ullage.adk.hooks.Settings``.

    Raises:
        PolicyError: If a setting is not what it should be.
    """

    def __init__(self, *, name: str = NAME, **settings: Unpack[Settings]) -> None:
        super().__init__(name)
        self._hooks = Hooks(**settings)

    @property
    def usage(self) -> UsageTracker:
        """What sessions have used."""
        return self._hooks.usage

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Stops a session over its budget; brings any other request inside its window."""
        return await self._hooks.before_model(callback_context, llm_request)

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Counts what the call used."""
        await self._hooks.after_model(callback_context, llm_response)
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Sends a request again with less that was refused for its length."""
        return await self._hooks.model_error(callback_context, llm_request, error)

    async def after_agent_callback(
        self, *, agent: BaseAgent, callback_context: CallbackContext
    ) -> types.Content | None:
        """Lets go of what only the running invocation needs."""
        await self._hooks.after_agent(callback_context)
        return None

    async def after_tool_callback(
        self,
        *,
        tool: BaseTool,
        tool_args: dict[str, Any],
        tool_context: ToolContext,
        result: dict[str, Any],
    ) -> dict[str, Any] | None:
        """Makes a response shorter that is too long."""
        return await self._hooks.after_tool(tool, tool_args, tool_context, result)
