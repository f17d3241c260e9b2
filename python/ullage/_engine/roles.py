"""Reads roles and contents of messages of OpenAI, Anthropic and the AI SDK."""

from __future__ import annotations

from typing import Any

# OpenAI's newer models call the first role by the second name.
SYSTEM_ROLES = ("system", "developer")


def role_of(message: Any) -> str:
    """Returns the role of a message; empty if it has none."""
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else ""


def is_system(message: Any) -> bool:
    """True if the message is a system message."""
    return role_of(message) in SYSTEM_ROLES


def readable(message: Any) -> Any:
    """Returns the message in a form that the engine reads.

    A missing text becomes an empty one, and plain strings in a list become text parts.
    """
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
