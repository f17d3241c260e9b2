"""Amplifier's messages: OpenAI's form as its code has it, or Anthropic's blocks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ullage import MessageError, validate

# The metadata of a system message that a hook put in, which a dynamic system prompt does not
# replace.
_HOOK = "hook"
# The blocks that belong to a call: Anthropic's, and Amplifier's own names for them.
_CALLS = frozenset({"tool_use", "tool_call"})
_RESULTS = frozenset({"tool_result"})
# The rule without which a message could not be counted, so that no request would work any more.
_READABLE = "message-can-be-read"


def stamped(message: Any) -> dict[str, Any]:
    """A copy of a message with the time at which it came in its metadata.

    Raises:
        MessageError: If it is no message that can be read.
    """
    metadata = readable(message).get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    metadata.setdefault("timestamp", datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    return {**message, "metadata": metadata}


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
    for found in validate([message]):
        # Other violations depend on the messages around it.
        if found.rule == _READABLE:
            raise MessageError(f"the message cannot be read: {found.problem}; {found.remedy}")
    return message


def is_system(message: Any) -> bool:
    """True if a message is the system's."""
    return bool(message.get("role") in {"system", "developer"})


def is_hook(message: Any) -> bool:
    """True if a hook added it."""
    return bool(source(message) == _HOOK)


def source(message: Any) -> Any:
    """Returns the origin that a message states."""
    metadata = message.get("metadata")
    return metadata.get("source") if isinstance(metadata, dict) else None


def is_result(message: Any) -> bool:
    """True if a message has results of tools."""
    return message.get("role") == "tool" or _has(message, _RESULTS)


def is_of_a_tool(message: Any) -> bool:
    """True if a message makes calls or has results."""
    return bool(message.get("tool_calls")) or is_result(message) or _has(message, _CALLS)


def _has(message: Any, kinds: frozenset[str]) -> bool:
    content = message.get("content")
    if not isinstance(content, list):
        return False
    return any(isinstance(block, dict) and block.get("type") in kinds for block in content)
