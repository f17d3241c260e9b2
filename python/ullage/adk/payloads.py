"""``LargePayloadHandler``: what stands for a result that is too large for a context.

What it takes out is stored first, whole; then the first of these steps that works says what is in
it, and a result that none of them can deal with is left to whoever comes next.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from google.adk.plugins.base_plugin import BasePlugin

from ullage._core import MemoryStore, Payload, StoreError
from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.logger import Logger
from ullage.adk.analysis import ANALYSIS_TOOL, analysis_tool
from ullage.adk.media import has_media, has_parts
from ullage.adk.payload_limits import KIND_OF_TOOL, PayloadLimits
from ullage.adk.payload_steps import NO_ULLAGE, Handled, Step, steps
from ullage.adk.payload_storage import Stored, save_artifact, store_payload
from ullage.adk.retrieval import retrieval_tool
from ullage.adk.sandbox import Sandbox
from ullage.adk.strategies import frames

if TYPE_CHECKING:
    from google.adk.code_executors.base_code_executor import BaseCodeExecutor
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.function_tool import FunctionTool
    from google.adk.tools.tool_context import ToolContext

    from ullage.adk.sandbox import Runs
    from ullage.stores.protocol import Store

logger = Logger(__name__)

# Fields beside the data that stay as they are: a status, an id, a message; not more data.
_SMALL_FIELD = 500
_SMALL_FIELDS = 20

# Characters of a text that is read again for them: some ten milliseconds.
_READ_AGAIN = 1_000_000

HANDLED = "large_payload_handled"


class LargePayloadHandler(BasePlugin):
    """Takes large results out of a conversation, and says what is in them.

    A plugin of an app, the ``after_tool_callback`` of an agent, or the ``payloads`` of a
    ``ContextPlugin``.

    A result of a known shape (metrics, logs, traces, time series) becomes statistics over all of
    its rows, and any other its shape, how its fields are distributed, and samples. Both are
    computed by the core, at some hundred megabytes a second: here, or in a sandbox that has ullage.

    The whole is stored before: readable by :meth:`tools`, and saved as an artifact of the session
    where the app has an artifact service. Where it could not be kept, nothing is taken out.

    Args:
        store: Where the whole is kept; a ``MemoryStore`` of its own if not given. Give the store of
            the engine, so that one retrieval tool reads everything.
        limits: From what size on; from the environment if not given (``SRE_AGENT_LARGE_PAYLOAD_*``,
            read once).
        sandbox: A code executor of ADK, a function that runs code, or a :class:`Sandbox`. It runs
            the model's own code, and makes the statistics if it has ullage.
        kinds: Kinds of what your own tools return, beside those that are known: "metrics", "logs",
            "traces" or "time_series". Where the rows are something else, the name counts nothing.
        retrieval: What the retrieval tool is called.
        analysis: What the analysis tool is called.
        name: The name of the plugin, of which an app has one of each.
    """

    def __init__(
        self,
        store: Store | None = None,
        *,
        limits: PayloadLimits | None = None,
        sandbox: Sandbox | BaseCodeExecutor | Runs | None = None,
        kinds: Mapping[str, str] | None = None,
        retrieval: str = "retrieve",
        analysis: str = ANALYSIS_TOOL,
        name: str = "ullage_large_payloads",
    ) -> None:
        super().__init__(name)
        self.store: Store = MemoryStore() if store is None else store
        self.limits = PayloadLimits.from_env() if limits is None else limits
        if sandbox is None or isinstance(sandbox, Sandbox):
            self.sandbox = sandbox
        else:
            self.sandbox = Sandbox(sandbox)
        self._kinds = {**KIND_OF_TOOL, **(kinds or {})}
        self._retrieval = retrieval
        self._analysis = analysis
        self._artifact_writer = ArtifactWriter(self.store)
        self._surveys_here = False

    def tools(self) -> list[FunctionTool]:
        """The tools that read the stored data: retrieval, and analysis where there is a sandbox."""
        tools = [retrieval_tool(self.store, name=self._retrieval)]
        if self.sandbox is not None:
            tools.append(analysis_tool(self.store, self.sandbox, name=self._analysis))
        return tools

    async def handle(
        self,
        tool_name: str,
        args: Mapping[str, Any] | None,
        result: Any,
        tool_context: ToolContext,
    ) -> dict[str, Any] | None:
        """What stands for a result in the conversation.

        Never raises but for a cancelled task; ``result`` is never changed. O(length).

        Args:
            tool_name: The tool.
            args: What it was called with.
            result: What it returned, whatever that is.
            tool_context: The context of the call.

        Returns:
            None where the result is not large, was handled before, or could not be.
        """
        del args
        if not self.limits.enabled or tool_name in {self._retrieval, self._analysis}:
            return None
        try:
            return await self._handled(tool_name, result, tool_context)
        except Exception:
            logger.exception("tool=<%s> | a large result was not handled", tool_name)
            return None

    async def after_tool_callback(
        self,
        tool: BaseTool,
        args: dict[str, Any] | None = None,
        tool_context: ToolContext | None = None,
        tool_response: Any = None,
        *,
        tool_args: dict[str, Any] | None = None,
        result: Any = None,
    ) -> dict[str, Any] | None:
        """:meth:`handle` as a callback: ADK names two arguments otherwise in plugins and agents.

        Args:
            tool: The tool.
            args: What an agent's tool was called with.
            tool_context: The context of the call.
            tool_response: What an agent's tool returned.
            tool_args: ``args``, for a plugin.
            result: ``tool_response``, for a plugin.
        """
        called = args if tool_args is None else tool_args
        returned = tool_response if result is None else result
        return await self.handle(tool.name, called, returned, cast("ToolContext", tool_context))

    async def _handled(
        self, tool: str, result: Any, tool_context: ToolContext
    ) -> dict[str, Any] | None:
        started = time.perf_counter()
        if _is_handled(result) or has_parts(result) or has_media(result):
            return None
        payload = Payload(result)
        if not self.limits.is_large(payload):
            return None
        stored = await self._stored(tool, payload, tool_context)
        if not stored:
            logger.warning("tool=<%s> | a large result could not be kept anywhere: it stays", tool)
            return None
        context = Step(
            tool=tool,
            payload=payload,
            kind=self._kinds.get(tool),
            stored=stored,
            sandbox=self.sandbox,
            tool_context=tool_context,
            retrieval=self._retrieval,
            analysis=self._analysis if self.sandbox is not None else None,
            is_surveyed_here=self._surveys_here,
        )
        for step in steps(context):
            try:
                handled = await step(context)
            except Exception as error:  # noqa: BLE001 - the next one may know better
                self._surveys_here = self._surveys_here or NO_ULLAGE in str(error)
                logger.warning("tool=<%s>, reason=<%s> | a step failed", tool, error)
                continue
            response = _response(result, handled, payload, stored, started)
            if len(json.dumps(response, ensure_ascii=False, default=str)) < payload.chars:
                return response
            logger.debug("tool=<%s>, mode=<%s> | no shorter", tool, handled.mode)
        return None

    async def _stored(self, tool: str, payload: Payload, tool_context: ToolContext) -> Stored:
        stored = Stored()
        try:
            stored = await store_payload(self._artifact_writer, tool, payload)
        except StoreError as error:
            logger.warning("tool=<%s>, reason=<%s> | a large result is not stored", tool, error)
        artifact = await save_artifact(tool_context, tool, payload)
        return stored.with_artifact(artifact)


def _response(
    result: Any, handled: Handled, payload: Payload, stored: Stored, started: float
) -> dict[str, Any]:
    kept = _small_fields(result)
    metadata = kept.pop("metadata", None)
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    if "result" in kept:
        metadata["original_result"] = kept.pop("result")
    metadata[HANDLED] = True
    metadata["handling_mode"] = handled.mode
    if handled.template is not None:
        metadata["template_used"] = handled.template
    metadata["original_items"] = payload.items
    metadata["original_chars"] = payload.chars
    metadata["processing_ms"] = round((time.perf_counter() - started) * 1_000, 2)
    metadata |= stored.metadata()
    return {**kept, "result": handled.result, "metadata": metadata}


def _small_fields(result: Any) -> dict[str, Any]:
    """What stands beside the data, in any frame around it; what is outside wins."""
    small: dict[str, Any] = {}
    for frame in frames(result, _READ_AGAIN):
        for key, value in frame.items() if isinstance(frame, Mapping) else ():
            if len(small) == _SMALL_FIELDS:
                return small
            if str(key) not in small and _is_small(value):
                small[str(key)] = value
    return small


def _is_small(value: Any) -> bool:
    if isinstance(value, (bool, int, float, type(None))):
        return True
    # What is long is told by its length alone.
    is_short = isinstance(value, (str, list, tuple, Mapping)) and len(value) <= _SMALL_FIELD
    return is_short and len(json.dumps(value, default=str)) <= _SMALL_FIELD


def _is_handled(result: Any) -> bool:
    metadata = result.get("metadata") if isinstance(result, Mapping) else None
    return isinstance(metadata, Mapping) and bool(metadata.get(HANDLED))
