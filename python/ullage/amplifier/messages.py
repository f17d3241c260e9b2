"""Reads Amplifier's messages, which have OpenAI's form or Anthropic's blocks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ullage import Conversation, MessageError

# The source of a system message of a hook. A dynamic system prompt does not replace it.
_HOOK = "hook"


def with_timestamp(message: Any) -> dict[str, Any]:
    """Returns a copy of a message with the time of its arrival in its metadata.

    Raises:
        MessageError: If it cannot be read.
    """
    metadata = readable(message).get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    metadata.setdefault("timestamp", datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    return {**message, "metadata": metadata}


def copies(messages: list[Any]) -> list[dict[str, Any]]:
    """Returns copies of messages, without a time, because the time is unknown."""
    return [dict(readable(message)) for message in messages]


def readable(message: Any) -> Mapping[str, Any]:
    """Returns the message.

    Raises:
        MessageError: If it cannot be read, because no request could be made with it.
    """
    if not isinstance(message, Mapping):
        raise MessageError(f"a message must be a dict; got a {type(message).__name__}")
    if not isinstance(message.get("role"), str):
        raise MessageError(
            "a message has no 'role'; set it to 'user', 'assistant', 'system' or 'tool'"
        )
    Conversation([message])
    return message


def is_hook(message: Any) -> bool:
    """True if a hook added the message."""
    return bool(source(message) == _HOOK)


def source(message: Any) -> Any:
    """Returns the origin that a message states."""
    metadata = message.get("metadata")
    return metadata.get("source") if isinstance(metadata, dict) else None


def is_result(message: Any) -> bool:
    """True if a message has results of tools."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return message.get("role") == "tool" or any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks
    )
