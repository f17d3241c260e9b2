"""LangChain's messages as rows of Chat's form, and back."""

from __future__ import annotations

import json
from operator import attrgetter
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from ullage._hosts.rows import HOST, Row

# Blocks that the engine reads in LangChain's form.
_SAME = {"text", "image_url", "thinking", "redacted_thinking", "input_audio", "refusal"}
# Blocks that repeat `tool_calls`. LangChain's providers write them again if they are missing.
_INVALID = "invalid_tool_call"
_CALLS = {"tool_use", "function_call", "tool_call", "input_json_delta", _INVALID}
_ROLES = {"human": "user", "system": "system", "function": "function"}


class MessageCodec:
    """Converts the messages. Each becomes one row."""

    stamp = attrgetter("content")

    def row(self, message: BaseMessage) -> Row:
        """Returns a message as a row."""
        row: Row = {"id": message.id, "content": _content(message.content)}
        if isinstance(message, AIMessage):
            row["role"] = "assistant"
            # A call that could not be read is sent too, and answered with the error. One without an
            # id cannot be answered, and LangChain leaves it so.
            invalid = ({**call, "type": _INVALID} for call in message.invalid_tool_calls)
            if calls := [c for c in (*message.tool_calls, *invalid) if c.get("id") is not None]:
                row["tool_calls"] = calls
        elif isinstance(message, ToolMessage):
            row["role"], row["tool_call_id"] = "tool", message.tool_call_id
            if message.name:
                row["name"] = message.name
        else:
            role = getattr(message, "role", "user")
            row["role"] = _ROLES.get(message.type, role)
        return row

    def message(self, row: Row, original: BaseMessage | None) -> BaseMessage:
        """Returns a row that the engine made or changed, as a message of the host."""
        content: Any = row.get("content") or ""
        if isinstance(content, list):
            content = [_block_of_langchain(block) for block in content]
        kind = _KINDS.get(row["role"], HumanMessage)
        if not isinstance(original, kind):
            original = None
        if kind is AIMessage:
            return _answer(row, content, original)
        if original is not None:
            return original.model_copy(update={"content": content})
        if kind is ToolMessage:
            call = row["tool_call_id"]
            return ToolMessage(content, tool_call_id=call, name=row.get("name"), id=row.get("id"))
        return kind(content=content, id=row.get("id"))


_KINDS: dict[str, type[BaseMessage]] = {
    "assistant": AIMessage,
    "tool": ToolMessage,
    "system": SystemMessage,
}


def _answer(row: Row, content: Any, original: Any) -> AIMessage:
    calls = row.get("tool_calls") or []
    invalid = [call for call in calls if call.get("type") == _INVALID]
    valid = [_call(call) for call in calls if call not in invalid]
    changed = {"content": content, "tool_calls": valid, "invalid_tool_calls": invalid}
    if original is None:
        return AIMessage(**changed, id=row.get("id"))
    # OpenAI's own form of the calls, which LangChain would send if `tool_calls` is empty.
    more = {key: v for key, v in original.additional_kwargs.items() if key != "tool_calls"}
    return AIMessage.model_copy(original, update={**changed, "additional_kwargs": more})


def _call(call: dict[str, Any]) -> dict[str, Any]:
    """Returns a call with its arguments as an object, also if the engine wrote them as text."""
    arguments = call.get("args")
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    return {"name": call["name"], "args": arguments, "id": call.get("id"), "type": "tool_call"}


def _content(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_block(block) for block in content if not _is_call(block)]


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALLS


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    kind = block.get("type")
    if kind in _SAME:
        return block  # type: ignore[no-any-return]
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": _address(block)}, HOST: block}
    if kind == "reasoning":
        # OpenAI refuses a call without the reasoning before it. Anthropic refuses one without its
        # signed thinking.
        return {"type": "reasoning.encrypted", "data": _render(block), HOST: block}
    return {"type": "text", "text": _render(block), HOST: block}


def _block_of_langchain(block: dict[str, Any]) -> Any:
    """Returns a block of a row: the block of the message if the engine left it unchanged."""
    own = block.get(HOST)
    if own is None:
        return block
    if block["type"] == "text" and block["text"] != _render(own):
        return {"type": "text", "text": block["text"]}
    return own


def _address(block: dict[str, Any]) -> str:
    """Returns the address of a picture in any form of LangChain or Anthropic."""
    inner = block.get("source")
    source = inner if isinstance(inner, dict) else block
    data = source.get("base64") or source.get("data")
    if data is None:
        return str(source.get("url") or source.get("file_id") or "")
    kind = source.get("mime_type") or source.get("media_type") or "image/png"
    return f"data:{kind};base64,{data}"


def _render(block: dict[str, Any]) -> str:
    return json.dumps(block, default=str, sort_keys=True)
