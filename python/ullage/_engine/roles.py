"""Messages with roles and contents, as OpenAI's, Anthropic's and the AI SDK's hosts write them."""

from __future__ import annotations

from typing import Any

# OpenAI's newer models call the first role by the second name.
SYSTEM_ROLES = ("system", "developer")


def role_of(message: Any) -> str:
    """The role of a message; empty if it has none."""
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def is_system(message: Any) -> bool:
    """True if a message is the system's."""
    return role_of(message) in SYSTEM_ROLES


def readable(message: Any) -> Any:
    """The message, with an empty text where a host wrote none, and texts as parts."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if isinstance(content, str):
        return message
    if content is None and not message.get("tool_calls") and message.get("role") != "tool":
        return {**message, "content": ""}
    if isinstance(content, list) and any(isinstance(part, str) for part in content):
        parts = [{"type": "text", "text": p} if isinstance(p, str) else p for p in content]
        return {**message, "content": parts}
    return message
