"""Messages of LangChain as plain values, in OpenAI's chat form."""

from __future__ import annotations

import json
from typing import Any

_ROLES = {
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "tool": "tool",
}
# The blocks of an answer that `tool_calls` says again.
_CALLS = frozenset(("tool_use", "tool_call", "function_call"))


def is_message(value: Any) -> bool:
    """True if a value has the fields of a message of LangChain."""
    return isinstance(value, dict) and value.get("type") in _ROLES and "content" in value


def message(value: dict[str, Any]) -> dict[str, Any]:
    """Returns a message in OpenAI's chat form."""
    role = _ROLES[value["type"]]
    content = value["content"]
    if role == "tool":
        if not isinstance(content, (str, list)):
            content = json.dumps(content)
        return {"role": role, "tool_call_id": str(value.get("tool_call_id")), "content": content}
    calls = [_call(call) for call in value.get("tool_calls") or [] if isinstance(call, dict)]
    if isinstance(content, list):
        content = [block for block in content if not _is_call(block)]
    found = {"role": role, "content": content}
    if role != "assistant" or not calls:
        return found
    return {**found, "content": content or None, "tool_calls": calls}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call.get("args") or {}, ensure_ascii=False)
    function = {"name": str(call.get("name")), "arguments": arguments}
    return {"id": str(call.get("id")), "type": "function", "function": function}


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALLS
