"""Amplifier's messages: OpenAI's form as its code has it, or Anthropic's blocks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ullage import Conversation, MessageError

# The metadata of a system message that a hook put in, which a dynamic system prompt does not
# replace.
_HOOK = "hook"


def with_timestamp(message: Any) -> dict[str, Any]:
    """A copy of a message with the time at which it came in its metadata.

    Raises:
        MessageError: If it is no message that can be read.
    """
    metadata = readable(message).get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    metadata.setdefault("timestamp", datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    return {**message, "metadata": metadata}


def copies(messages: list[Any]) -> list[dict[str, Any]]:
    """Copies of messages, without a time: it is not known when they were said."""
    return [dict(readable(message)) for message in messages]


def readable(message: Any) -> Mapping[str, Any]:
    """The message, which has to be a dict that can be read.

    A message that cannot be read is refused at once, since no request could be made with it.

    Raises:
        MessageError: If it cannot be read.
    """
    if not isinstance(message, Mapping):
        raise MessageError(f"a message is a {type(message).__name__}, not a dict")
    if not isinstance(message.get("role"), str):
        raise MessageError("a message has no role: user, assistant, system or tool")
    Conversation([message])
    return message


def is_hook(message: Any) -> bool:
    """True if a hook added it."""
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
