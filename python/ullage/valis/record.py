"""The conversation as it was, for people and programs, before a summary takes its place."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from typing import Any

from ullage.valis.summarizing import said_in

# Conversations that are remembered; one middleware may serve several.
_CONVERSATIONS = 64


class Record:
    """Knows what stands behind the conversations that were made smaller.

    A host goes on from what it was given back, so a history that is saved twice has the originals
    both times, not what was left of them.
    """

    def __init__(self) -> None:
        self._given: deque[tuple[list[bytes], list[Any]]] = deque(maxlen=_CONVERSATIONS)

    def gave(self, left: list[Any], originals: list[Any]) -> None:
        """Remembers that ``left`` was given back for ``originals``."""
        whole = self.whole(originals)
        self._given.append((_keys(left), whole))

    def whole(self, messages: list[Any]) -> list[Any]:
        """The messages as they were."""
        keys = _keys(messages) if self._given else []
        # Of two that match, the newer one is what the host went on from.
        for left, originals in reversed(list(self._given)):
            if left and keys[: len(left)] == left:
                talk = [message for message in messages if not _is_prompt(message)]
                return [*originals, *talk[len(left) :]]
        return list(messages)


def as_json(messages: list[Any]) -> str:
    """The messages as JSON; what is none is written as text."""
    return json.dumps(messages, indent=2, default=str)


def as_markdown(messages: list[Any]) -> str:
    """The messages for people, every word of them."""
    lines = ["# Conversation History\n"]
    for number, message in enumerate(messages, 1):
        role = message.get("role", "unknown") if isinstance(message, dict) else "unknown"
        lines += [f"## Message {number} ({role})\n", said(message), "\n"]
    return "\n".join(lines)


def said(message: Any) -> str:
    """All that a message says."""
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    calls = message.get("tool_calls") or ()
    return "\n".join(_text(part) for part in (*parts, *calls) if part is not None)


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("type") == "text":
        return str(part["text"])
    return json.dumps(part, indent=2, default=str, ensure_ascii=False)


def _is_prompt(message: Any) -> bool:
    """Whether it is a system prompt, which may be another one in the next request."""
    role = message.get("role") if isinstance(message, dict) else None
    return role == "system" and said_in(message) is None


def _keys(messages: list[Any]) -> list[bytes]:
    """A digest of each message but the system prompts."""
    talk = (message for message in messages if not _is_prompt(message))
    written = (json.dumps(message, sort_keys=True, default=str) for message in talk)
    return [hashlib.sha256(text.encode()).digest() for text in written]
