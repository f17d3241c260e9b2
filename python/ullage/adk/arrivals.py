"""``Arrivals``: shortens a tool's response before it enters the session."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from google.genai import types

from ullage._engine.artifact_writer import ArtifactWriter
from ullage._engine.logger import Logger
from ullage._engine.steps import arun
from ullage.adk.conversations import invocation_of
from ullage.adk.guard import characters

if TYPE_CHECKING:
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.tool_context import ToolContext

    from ullage import ContextManager
    from ullage._hosts.engines import Engines
    from ullage.adk.guard import Guard

logger = Logger(__name__)

# ADK's key for a tool's return value that is not a dict.
_RESULT = "result"

# The key for the other fields of a response that already has ``result``.
_OTHERS = "others"

# The engine's form of a value that is neither text nor a list of blocks.
_TEXT = {"result"}

_PARTS = (types.Part, types.Content, types.Blob)


class Payloads(Protocol):
    """The handler of large payloads, which comes first: ``ullage.adk.payloads`` has one."""

    async def handle(
        self, tool_name: str, args: dict[str, Any], result: Any, tool_context: ToolContext
    ) -> dict[str, Any] | None:
        """Returns the replacement of a large result, or None if it is not large."""


class Arrivals:
    """Makes tool responses shorter as they arrive: payloads, then the engine, then the guard.

    A step that fails is logged, and the next one gets the response of the step before it.

    Args:
        engines: Shorten responses.
        payloads: Handles large payloads, or None.
        guard: The last limit.
    """

    def __init__(self, engines: Engines, payloads: Payloads | None, guard: Guard) -> None:
        self._engines = engines
        self._payloads = payloads
        self._guard = guard

    async def shorten(
        self, tool: BaseTool, args: dict[str, Any], context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        """Returns the replacement of a response, or None if it stays."""
        if not result or has_parts(result):
            # A long-running tool has returned nothing yet, or it is a picture, for example.
            return None
        left = await self._handle(tool.name, args, result, context)
        if left is None:
            left = await self._shrink(tool.name, result, context)
        try:
            guarded = self._guard.guarded(left)
            if guarded is not None:
                return await self._store_whole(tool.name, left, guarded, context)
        except Exception:
            logger.exception("tool=<%s> | the guard failed, the response is unchanged", tool.name)
        if left is result:
            return None
        return left if isinstance(left, dict) else {_RESULT: left}

    async def _handle(
        self, tool: str, args: dict[str, Any], result: Any, context: ToolContext
    ) -> Any:
        if self._payloads is None:
            return None
        try:
            return await self._payloads.handle(tool, args, result, context)
        except Exception:
            logger.exception("tool=<%s> | the payload was not handled", tool)
            return None

    async def _shrink(self, tool: str, result: Any, context: ToolContext) -> Any:
        try:
            return await _by_key(self._engine(context), tool, result)
        except Exception:
            logger.exception("tool=<%s> | the response was left as it is", tool)
            return result

    def _engine(self, context: ToolContext) -> ContextManager:
        """The engine for the model of the agent that called the tool."""
        model = getattr(invocation_of(context).agent, "canonical_model", None)
        return self._engines.of(getattr(model, "model", None))

    async def _store_whole(
        self, tool: str, left: Any, guarded: dict[str, Any], context: ToolContext
    ) -> dict[str, Any]:
        """Returns the guarded response, with the reference of the original if there is a store."""
        try:
            store = self._engine(context).store
            if store is None:
                return guarded
            text = json.dumps(left, ensure_ascii=False, default=str)
            content = text.encode("utf-8", "surrogatepass")
            (reference,) = await arun(ArtifactWriter(store).references(tool, content))
        except Exception:
            logger.exception("tool=<%s> | the full response was not stored", tool)
            return guarded
        return {**guarded, "full_output": f"stored as {reference}"}


async def _by_key(engine: ContextManager, tool: str, result: Any) -> Any:
    """Returns the shortened response with its keys; the same object if nothing is too long.

    A value that was shortened by itself is not shortened again, because its reference must stay.
    """
    if not isinstance(result, dict):
        return await engine.ashrink(tool, result)
    if len(result) == 1:
        ((key, value),) = result.items()
        if not isinstance(value, dict):
            # The engine recognizes a single text or list.
            return await engine.ashrink(tool, result)
        inner = await _by_key(engine, tool, value)
        return result if inner is value else {key: inner}
    shortened = {}
    for key, value in result.items():
        # No shorter value takes this many tokens, except for scripts that are checked below.
        if characters(value) > engine.policy.shrink_above:
            shorter = await engine.ashrink(tool, value)
            if shorter is not value:
                shortened[key] = _plain(value, shorter)
    rest = {key: value for key, value in result.items() if key not in shortened}
    left = await engine.ashrink(tool, rest)
    if left is not rest:
        # One text replaces the rest.
        name = _RESULT if _RESULT not in shortened else _OTHERS
        return {**shortened, name: left[_RESULT]}
    return (
        {key: shortened.get(key, value) for key, value in result.items()} if shortened else result
    )


def _plain(value: Any, shorter: Any) -> Any:
    """Returns the value for a key: text, rather than a response of its own."""
    wrapped = not isinstance(value, str) and isinstance(shorter, dict) and set(shorter) == _TEXT
    return shorter[_RESULT] if wrapped else shorter


def has_parts(result: Any) -> bool:
    """True if a result holds parts of a content, which ADK sends unchanged."""
    return any(isinstance(one, _PARTS) for one in _values(result))


def has_media(result: Any) -> bool:
    """True if a result holds bytes, or a picture, a sound or a file as MCP returns them."""
    return any(
        isinstance(one, (bytes, bytearray)) or (isinstance(one, Mapping) and _is_media(one))
        for one in _values(result)
    )


def _values(result: Any) -> Iterator[Any]:
    for value in result.values() if isinstance(result, Mapping) else [result]:
        yield from value if isinstance(value, (list, tuple)) else [value]


def _is_media(part: Mapping[Any, Any]) -> bool:
    return (part.get("type") in {"image", "audio"} and "data" in part) or (
        part.get("type") == "resource" and "resource" in part
    )
