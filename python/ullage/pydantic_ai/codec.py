"""Pydantic AI's messages as rows of Anthropic's form, and back.

Each part becomes a block, which holds the part itself. So a part that the engine leaves unchanged
comes back as the same object.
"""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ullage._engine.lru_cache import LruCache
from ullage._hosts.blocks import blocks_of, media, text_of, with_parts
from ullage._hosts.rows import HOST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage._hosts.rows import Row

# All other parts are parts of requests.
_OF_RESPONSES = {
    "text",
    "thinking",
    "file",
    "tool-call",
    "builtin-tool-call",
    "builtin-tool-return",
}
# Retries of this kind are deprecated, and their class warns when it is created.
_RETRY = "retry-prompt"
_RESULTS = ("tool-return", _RETRY)
# The most names of new calls that are kept, for results that the engine writes.
_MOST_NAMES = 4_096


class MessageCodec:
    """Converts the messages. Each becomes one row."""

    stamp = attrgetter("parts")

    def __init__(self) -> None:
        self._names: LruCache[str] = LruCache(_MOST_NAMES)

    def row(self, message: Any) -> Row:
        """Returns a message as a row."""
        blocks = [block for part in message.parts for block in _blocks(part)]
        if isinstance(message, ModelRequest):
            return {"role": "user", "content": blocks}
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                self._names.put(part.tool_call_id, part.tool_name)
        # The time distinguishes the answers of a model.
        return {"role": "assistant", "content": blocks, "id": message.timestamp.isoformat()}

    def message(self, row: Row, original: Any) -> Any:
        """Returns a row that the engine made or changed, as a message of the host."""
        content = blocks_of(row)
        if row["role"] == "assistant":
            parts = [self._part(block, TextPart) for block in content]
            known = original if isinstance(original, ModelResponse) else ModelResponse([])
            return replace(known, parts=parts)
        return ModelRequest([self._part(block, UserPromptPart) for block in content])

    def _part(self, block: dict[str, Any], text: Any) -> Any:
        own: Any = block.get(HOST)
        kind = block["type"]
        if kind == "tool_use":
            return (
                own if own.args_as_dict() == block["input"] else replace(own, args=block["input"])
            )
        if kind == "tool_result":
            return self._result(block["tool_use_id"], text_of(block.get("content")), own)
        if own is None or (kind == "text" and block["text"] != _text_of(own)):
            return text(content=block["text"])
        return own

    def _result(self, call: str, content: str, own: Any) -> Any:
        if own is None:
            return ToolReturnPart(self._names.get(call) or "tool", content, call)
        if content == _result_text(own):
            return own
        if isinstance(own, ToolReturnPart):
            return replace(own, content=content)
        # A retry of older versions becomes a result.
        return ToolReturnPart(own.tool_name, content, own.tool_call_id)

    def dump(self, row: Row) -> Row:
        """Returns a row as JSON-like data, without the parts that the engine removed."""
        text = TextPart if row["role"] == "assistant" else UserPromptPart
        return with_parts(row, lambda block: _dump(self._part(block, text)))

    def load(self, row: Row) -> Row:
        """Returns the row of data that :meth:`dump` returned."""
        return with_parts(row, lambda block: _load(block[HOST]))


def _dump(part: Any) -> Any:
    message: Any = ModelResponse if part.part_kind in _OF_RESPONSES else ModelRequest
    return ModelMessagesTypeAdapter.dump_python([message(parts=[part])], mode="json")


def _load(dumped: Any) -> Any:
    (message,) = ModelMessagesTypeAdapter.validate_python(dumped)
    return message.parts[0]


def _blocks(part: Any) -> Iterator[dict[str, Any]]:
    """Returns the blocks of a part: one, or one for each item of a user's content."""
    if isinstance(part, UserPromptPart) and not isinstance(part.content, str):
        for item in part.content:
            yield {**_item(item), HOST: replace(part, content=[item])}
    elif isinstance(part, ToolCallPart):
        call = {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name}
        yield {**call, "input": part.args_as_dict(), HOST: part}
    elif part.part_kind in _RESULTS and part.tool_name:
        result = {"type": "tool_result", "tool_use_id": part.tool_call_id}
        yield {**result, "content": _result_text(part), HOST: part}
    elif isinstance(part, ThinkingPart) and part.id == "redacted_thinking":
        yield {"type": "redacted_thinking", "data": part.signature or "", HOST: part}
    elif isinstance(part, ThinkingPart):
        # OpenAI refuses a call without the reasoning before it. It recognizes reasoning by its id.
        signature = part.signature or part.id or ""
        yield {"type": "thinking", "thinking": part.content, "signature": signature, HOST: part}
    else:
        yield {"type": "text", "text": _text_of(part), HOST: part}


def _item(item: Any) -> dict[str, Any]:
    if isinstance(item, ImageUrl):
        return {"type": "image", "source": {"type": "url", "url": item.url}}
    if isinstance(item, BinaryContent) and item.media_type.startswith("image/"):
        return media("image", item.media_type, base64.b64encode(item.data).decode())
    return {"type": "text", "text": _word(item)}


def _word(item: Any) -> str:
    """Returns the text of an item, or a placeholder for a file."""
    if isinstance(item, str):
        return item
    text = getattr(item, "content", None)
    return text if isinstance(text, str) else f"[{getattr(item, 'kind', type(item).__name__)}]"


def _text_of(part: Any) -> str:
    """Returns the text of a part, or the text that counts for it in a request."""
    content = getattr(part, "content", None)
    if isinstance(content, str):
        return content
    if isinstance(part, UserPromptPart):
        return _word(part.content[0])
    if part.part_kind == _RETRY:
        return str(part.model_response())
    (dumped,) = _dump(part)
    return json.dumps(dumped["parts"][0], sort_keys=True)


def _result_text(part: Any) -> str:
    return str(part.model_response() if part.part_kind == _RETRY else part.model_response_str())
