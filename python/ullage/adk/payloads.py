"""``LargePayloadHandler``: replaces results that are too large for a context.

The result is stored first. Then the first of three ways that works describes it: the core's
statistics from a sandbox, the same from this process, or samples. If none of them works, the result
stays unchanged.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from ullage._core import MemoryStore, Payload, StoreError, TokenCounter, reference_of
from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage.adk.arrivals import has_media, has_parts
from ullage.adk.payload_limits import KIND_OF_TOOL, PayloadLimits
from ullage.adk.retrieval import retrieval_tool
from ullage.adk.sandbox import ANALYSIS_TOOL, Sandbox, analysis_tool, as_json
from ullage.adk.strategies import frames
from ullage.compression import compress

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

# Characters of a text that is read again for these fields: this takes some ten milliseconds.
_READ_AGAIN = 1_000_000

# Characters that a shortened text keeps: as many as an item of a sample.
_TEXT = 2_000

# Statistics of more characters are shortened to so many tokens: 2 % of a window of 200,000.
_STATISTICS = 12_000
_STATISTICS_TOKENS = 4_000

HANDLED = "large_payload_handled"

# The program for a sandbox: the same survey, with samples if the kind of data is unknown.
_PROGRAM = """
import json
import ullage
from ullage._core import Payload
kind, payload = {kind!r}, Payload(data)
said = json.loads(payload.survey(kind))
text = payload.text
if text is not None:
    excerpt = ullage.compress(text, {length}, counter=ullage.TokenCounter.with_ratio(1))
    said.update(total_count=text.count("\\n") + 1, excerpt=excerpt.text)
elif kind is None:
    said.update(json.loads(payload.sample()))
print(json.dumps(said))
"""

# Python's message in a sandbox without ullage.
_NO_ULLAGE = "No module named 'ullage"


@dataclass(frozen=True)
class _LargeResult:
    """A large result.

    Attributes:
        tool: The tool.
        payload: The result of the tool.
        named: The kind that the tool is known to return.
        stored: The references of the result, as fields of the metadata.
        tool_context: The context of the call.
    """

    tool: str
    payload: Payload
    named: str | None
    stored: dict[str, Any]
    tool_context: ToolContext

    @property
    def kind(self) -> str | None:
        """The kind of the data, if it is known: by its rows, otherwise by the tool."""
        if self.payload.text is not None:
            return None
        own = self.payload.kind
        return self.named if own == "other" else own


@dataclass(frozen=True)
class _Replacement:
    """The replacement of a result.

    Attributes:
        mode: The way in which it was made.
        result: The replacement.
        template: The kind of data that it was made for.
    """

    mode: str
    result: Any
    template: str | None = None


class LargePayloadHandler(BasePlugin):
    """Replaces large results of a conversation with descriptions.

    A plugin of an app, the callback of an agent, or the ``payloads`` of a ``ContextPlugin``.

    A result of a known shape (metrics, logs, traces, time series) becomes statistics over all of
    its rows. Any other result becomes its shape, the distribution of its fields, and samples. The
    core computes both, at some hundred megabytes a second: here, or in a sandbox that has ullage.

    The result is stored first. :meth:`tools` read it, and it is an artifact of the session if the
    app has an artifact service. If it cannot be stored, it is not replaced.

    Args:
        store: Keeps the results; a ``MemoryStore`` of its own if not given. Give the store of the
            engine, so that one retrieval tool reads everything.
        limits: The sizes of large results; from the environment if not given
            (``SRE_AGENT_LARGE_PAYLOAD_*``, read once).
        sandbox: A code executor of ADK, a function that runs code, or a :class:`Sandbox`. It runs
            the model's own code, and makes the statistics if it has ullage.
        kinds: The kinds of data of your own tools: "metrics", "logs", "traces" or "time_series".
            If the rows are something else, the kind is ignored.
        retrieval: The name of the retrieval tool.
        analysis: The name of the analysis tool.
        name: The name of the plugin, unique in an app.
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
        """Returns the tools for the stored data: retrieval, and analysis with a sandbox."""
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
        """Returns the replacement of a result in the conversation.

        Never raises, except if its task is cancelled. Never changes ``result``. O(length).

        Args:
            tool_name: The tool.
            args: The arguments of the call.
            result: Any return value of the tool.
            tool_context: The context of the call.

        Returns:
            None if the result is not large, was handled before, or could not be handled.
        """
        del args
        if not self.limits.enabled or tool_name in {self._retrieval, self._analysis}:
            return None
        try:
            return await self._replace(tool_name, result, tool_context)
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
        """:meth:`handle` as a callback. ADK names two arguments differently in plugins.

        Args:
            tool: The tool.
            args: The arguments of an agent's tool.
            tool_context: The context of the call.
            tool_response: The return value of an agent's tool.
            tool_args: ``args``, for a plugin.
            result: ``tool_response``, for a plugin.
        """
        called = args if tool_args is None else tool_args
        returned = tool_response if result is None else result
        return await self.handle(tool.name, called, returned, cast("ToolContext", tool_context))

    async def _replace(
        self, tool: str, result: Any, tool_context: ToolContext
    ) -> dict[str, Any] | None:
        started = time.perf_counter()
        if _is_handled(result) or has_parts(result) or has_media(result):
            return None
        payload = Payload(result)
        if not self.limits.is_large(payload):
            return None
        stored = await self._store_whole(tool, payload, tool_context)
        if not stored:
            logger.warning("tool=<%s> | a large result could not be stored, it stays", tool)
            return None
        large = _LargeResult(tool, payload, self._kinds.get(tool), stored, tool_context)
        ways = [self._survey_there] if self.sandbox and not self._surveys_here else []
        ways += [_survey_here] if large.kind is not None else []
        for way in (*ways, self._samples):
            try:
                handled = await way(large)
            except Exception as error:  # noqa: BLE001 - the next one may know better
                self._surveys_here = self._surveys_here or _NO_ULLAGE in str(error)
                logger.warning("tool=<%s>, reason=<%s> | a step failed", tool, error)
                continue
            response = _response(result, handled, large, started)
            if len(json.dumps(response, ensure_ascii=False, default=str)) < payload.chars:
                return response
            logger.debug("tool=<%s>, mode=<%s> | the step made it no shorter", tool, handled.mode)
        return None

    async def _store_whole(
        self, tool: str, payload: Payload, tool_context: ToolContext
    ) -> dict[str, Any]:
        """Stores the whole, a line for each row, also as an artifact, and returns where it is."""
        data, is_whole = await asyncio.to_thread(payload.stored)
        content = payload.json.encode()
        contents = [data] if is_whole else [data, content]
        stored: dict[str, Any] = {}
        try:
            references = await arun(self._artifact_writer.references(tool, *contents))
            stored.update(zip(("reference", "original_reference"), references, strict=False))
        except StoreError as error:
            logger.warning("tool=<%s>, reason=<%s> | a large result is not stored", tool, error)
        name = f"{reference_of(tool, content, 0)}.json"
        part = types.Part(inline_data=types.Blob(data=content, mime_type="application/json"))
        try:
            version = await tool_context.save_artifact(name, part)
            stored["artifact"] = {"filename": name, "version": version}
        except ValueError as error:
            # ADK raises this if the app has no artifact service.
            logger.debug("tool=<%s>, reason=<%s> | the app has no artifact service", tool, error)
        except Exception as error:  # noqa: BLE001 - the store has it, or nothing is taken out
            logger.warning("tool=<%s>, reason=<%s> | the artifact was not saved", tool, error)
        return stored

    async def _survey_there(self, large: _LargeResult) -> _Replacement:
        """Returns the core's survey, made in the sandbox, which needs ullage."""
        kind = None if large.kind == "several" else large.kind
        data, _ = large.payload.stored()
        code = _PROGRAM.format(kind=kind, length=_TEXT)
        sandbox = cast("Sandbox", self.sandbox)
        printed = await sandbox.run(code, as_json(data), large.tool_context)
        mode = "generic_sandbox" if kind is None else "template_sandbox"
        return _Replacement(mode, _bound(json.loads(printed)), kind)

    async def _samples(self, large: _LargeResult) -> _Replacement:
        """Returns a sample, a schema, the distribution of the fields, and how to ask for more."""
        payload, text = large.payload, large.payload.text
        if text is not None:
            lines, counter = text.count("\n") + 1, TokenCounter.with_ratio(1)
            excerpt = await asyncio.to_thread(compress, text, _TEXT, counter=counter)
            hint = f"text of {lines:,} lines"
            said = {"total_count": lines, "schema_hint": hint, "excerpt": excerpt.text}
        else:
            said = json.loads(payload.sample())
            survey = json.loads(await asyncio.to_thread(payload.survey))
            said["shape"] = shape = survey.pop("shape")
            if not said["schema_hint"]:
                # Rows without fields, such as the numbers of a dict by name.
                hint = f"{shape['type']} of {shape['length']:,} values: {shape['of']}"
                said["schema_hint"] = hint
            said["field_distribution"] = _bound(survey.pop("fields", survey))
        said["code_generation_prompt"] = self._prompt(large)
        return _Replacement("code_generation_prompt", said)

    def _prompt(self, large: _LargeResult) -> str:
        """Returns the instructions by which the model reads the whole result."""
        size = f"{large.payload.items:,} items, {large.payload.chars:,} characters"
        opening = f"The full result of {large.tool} ({size}) is too large for the context; above is"
        lines = [f"{opening} a sample. Nothing is lost: it is stored."]
        reference, is_text = large.stored.get("reference"), large.payload.text is not None
        if self.sandbox is not None and reference is not None:
            data = "the text as a str" if is_text else "the parsed JSON"
            lines.append(
                f"To analyze all of it, write Python code that finds `data` ({data}), computes what"
                f" you need (counts, groups, percentiles, outliers) and prints it, and call"
                f" {self._analysis}(reference={reference!r}, analysis_code=...)."
            )
        if reference is not None:
            by_row = "line by line" if is_text else "a line for each row, or by JSON pointer"
            lines.append(
                f"To read parts of it, call {self._retrieval}(reference={reference!r}, ...) with a"
                f" pattern, lines, head or tail: {by_row}."
            )
        else:
            name = large.stored["artifact"]["filename"]
            lines.append(f"It is saved as the artifact {name!r} of this session.")
        return "\n".join(lines)


async def _survey_here(large: _LargeResult) -> _Replacement:
    """Returns the core's statistics, for known kinds of data."""
    # Meanwhile other threads and the event loop continue.
    said = json.loads(await asyncio.to_thread(large.payload.survey, large.named))
    kinds = {part["kind"] for part in said.get("parts", {"": said}).values()}
    if kinds == {"other"}:
        raise ValueError(f"no rows of {large.named}")
    return _Replacement("template_core", _bound(said), said["kind"])


def _bound(said: Any) -> Any:
    """Returns the statistics, shortened if there are too many."""
    written = json.dumps(said, ensure_ascii=False)
    return said if len(written) <= _STATISTICS else compress(written, _STATISTICS_TOKENS).text


def _response(
    result: Any, handled: _Replacement, large: _LargeResult, started: float
) -> dict[str, Any]:
    kept = _small_fields(result)
    metadata = kept.pop("metadata", None)
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    if "result" in kept:
        metadata["original_result"] = kept.pop("result")
    metadata |= {HANDLED: True, "handling_mode": handled.mode}
    if handled.template is not None:
        metadata["template_used"] = handled.template
    metadata["original_items"] = large.payload.items
    metadata["original_chars"] = large.payload.chars
    metadata["processing_ms"] = round((time.perf_counter() - started) * 1_000, 2)
    return {**kept, "result": handled.result, "metadata": metadata | large.stored}


def _small_fields(result: Any) -> dict[str, Any]:
    """Returns the fields beside the data, in any frame around it; outer fields win."""
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
    is_short = isinstance(value, (str, list, tuple, Mapping)) and len(value) <= _SMALL_FIELD
    return is_short and len(json.dumps(value, default=str)) <= _SMALL_FIELD


def _is_handled(result: Any) -> bool:
    metadata = result.get("metadata") if isinstance(result, Mapping) else None
    return isinstance(metadata, Mapping) and bool(metadata.get(HANDLED))
