"""Haystack's messages as rows of Anthropic's form, and back.

Each content becomes a block, which holds the content itself. So a content that the engine leaves as
it is comes back as the same object.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from haystack.dataclasses import (
    ChatMessage,
    ChatRole,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)

from ullage._hosts.blocks import blocks_of, media, with_parts
from ullage._hosts.rows import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._hosts.rows import Row

_ROLES = {"assistant": "assistant", "system": "system"}


class MessageCodec:
    """Converts the messages. Each becomes one row."""

    def stamp(self, message: ChatMessage) -> tuple[Any, ...]:
        """The contents: Haystack replaces messages, and warns of edits in place."""
        return tuple(message._content)  # noqa: SLF001 - Haystack has no accessor for all of them

    def row(self, message: ChatMessage) -> Row:
        """Returns a message as a row."""
        blocks = [_block(content) for content in self.stamp(message)]
        # Haystack's messages have no id; this one finds the original of a changed row.
        role = _ROLES.get(message.role.value, "user")
        return {"role": role, "content": blocks, "id": str(id(message))}

    def message(self, row: Row, original: ChatMessage | None) -> ChatMessage:
        """Returns a row that the engine made or changed, as a message of the host."""
        contents = [_content(block) for block in blocks_of(row)]
        results = [isinstance(content, ToolCallResult) for content in contents]
        role = ChatRole.TOOL if results and all(results) else ChatRole(row["role"])
        if original is not None and original.role == role:
            return replace(original, _content=contents)
        return ChatMessage(_role=role, _content=contents)

    def dump(self, row: Row) -> Row:
        """Returns a row as JSON-like data, without the parts that the engine removed."""
        return with_parts(row, lambda block: _dump(_content(block)))

    def load(self, row: Row) -> Row:
        """Returns the row of data that :meth:`dump` returned."""
        return with_parts(row, lambda block: _load(block[HOST]))


def is_system(message: ChatMessage) -> bool:
    """True if it is a message of the system prompt."""
    return bool(message.is_from(ChatRole.SYSTEM))


def _dump(content: Any) -> dict[str, Any]:
    role = ChatRole.TOOL if isinstance(content, ToolCallResult) else ChatRole.ASSISTANT
    return ChatMessage(_role=role, _content=[content]).to_dict()  # type: ignore[no-any-return]


def _load(dumped: dict[str, Any]) -> Any:
    (content,) = ChatMessage.from_dict(dumped)._content  # noqa: SLF001 - see `stamp`
    return content


def _call_id(call: ToolCall) -> str:
    # Some providers give their calls no ids.
    return call.id or json.dumps([call.tool_name, call.arguments], sort_keys=True, default=str)


def _block(content: Any) -> dict[str, Any]:
    if isinstance(content, ToolCall):
        call = {"type": "tool_use", "id": _call_id(content), "name": content.tool_name}
        return {**call, "input": content.arguments, HOST: content}
    if isinstance(content, ToolCallResult):
        result = {"type": "tool_result", "tool_use_id": _call_id(content.origin)}
        return {**result, "content": _result_text(content.result), HOST: content}
    if isinstance(content, ReasoningContent):
        # Providers recognize reasoning by the content of `extra`, and need it before its call.
        signature = json.dumps(content.extra, sort_keys=True, default=str) if content.extra else ""
        text = content.reasoning_text
        return {"type": "thinking", "thinking": text, "signature": signature, HOST: content}
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text, HOST: content}
    if isinstance(content, ImageContent):
        block = media("image", content.mime_type or "image/png", content.base64_image)
    else:
        block = media("document", content.mime_type or "application/pdf", content.base64_data)
    return {**block, HOST: content}


def _content(block: dict[str, Any]) -> Any:
    own: Any = block.get(HOST)
    kind = block["type"]
    if kind == "tool_use":
        return own if own.arguments == block["input"] else replace(own, arguments=block["input"])
    if kind == "tool_result":
        content = block.get("content")
        if own is not None and _result_text(own.result) == content:
            return own
        origin = ToolCall("tool", {}, id=block["tool_use_id"]) if own is None else own.origin
        result = content if isinstance(content, str) else list(map(_content, content or ()))
        return ToolCallResult(result, origin, error=own is not None and own.error)
    if own is None or (kind == "text" and block["text"] != own.text):
        return TextContent(block["text"])
    return own


def _result_text(result: str | Sequence[Any]) -> str | list[dict[str, Any]]:
    return result if isinstance(result, str) else list(map(_block, result))
