"""What Amplifier's messages are: OpenAI's form as its code has it, or Anthropic's blocks."""

from __future__ import annotations

from typing import Any

# The metadata of a system message that a hook put in, which a dynamic system prompt does not
# stand for.
HOOK = "hook"
# The blocks that belong to a call: Anthropic's, and Amplifier's own names for them.
_CALLS = frozenset({"tool_use", "tool_call"})
_RESULTS = frozenset({"tool_result"})


def is_system(message: Any) -> bool:
    """Whether a message is the system's."""
    return bool(message.get("role") in {"system", "developer"})


def source(message: Any) -> Any:
    """Where a message says that it comes from."""
    metadata = message.get("metadata")
    return metadata.get("source") if isinstance(metadata, dict) else None


def is_hook(message: Any) -> bool:
    """Whether a hook put it in."""
    return bool(source(message) == HOOK)


def is_tool_message(message: Any) -> bool:
    """Whether a message makes calls or has results."""
    return bool(message.get("tool_calls")) or is_result(message) or _has(message, _CALLS)


def calls_of(message: Any) -> list[str]:
    """The ids of the calls in a message."""
    calls = message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    ids = [call.get("id") or call.get("tool_call_id") for call in calls if isinstance(call, dict)]
    return list(map(str, [*ids, *(block.get("id") for block in _blocks(message, _CALLS))]))


def results_of(message: Any) -> list[str]:
    """The ids of the calls that the results in a message belong to."""
    is_one = message.get("role") == "tool" and "tool_call_id" in message
    own = [message["tool_call_id"]] if is_one else []
    blocks = _blocks(message, _RESULTS)
    ids = [*own, *(block.get("tool_use_id") or block.get("tool_call_id") for block in blocks)]
    return list(map(str, ids))


def is_result(message: Any) -> bool:
    """Whether a message has results of tools."""
    return message.get("role") == "tool" or _has(message, _RESULTS)


def _has(message: Any, kinds: frozenset[str]) -> bool:
    return bool(_blocks(message, kinds))


def _blocks(message: Any, kinds: frozenset[str]) -> list[Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [b for b in content if isinstance(b, dict) and b.get("type") in kinds]
