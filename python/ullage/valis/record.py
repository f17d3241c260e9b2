"""The conversation as it was, for people and programs, before a summary takes its place."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class Record:
    """Knows what stands behind the messages that were made smaller.

    A history that is saved twice has the originals both times, not what was left of them.
    """

    def __init__(self) -> None:
        self._originals: dict[bytes, tuple[list[Any], frozenset[bytes]]] = {}

    def replace(self, new: Any, originals: list[Any], behind: Sequence[Any] = ()) -> None:
        """Remembers what ``new`` stands for; what is put ``behind`` it is among that, too."""
        repeated = frozenset(map(_key, behind))
        self._originals[_key(new)] = (self.whole(originals), repeated)

    def whole(self, messages: list[Any]) -> list[Any]:
        """The messages as they were."""
        if not self._originals:
            return list(messages)
        found: list[Any] = []
        skipped: frozenset[bytes] = frozenset()
        for message in messages:
            key = _key(message)
            if key in skipped:
                continue
            originals, skipped = self._originals.get(key, ([message], frozenset()))
            found += originals
        return found


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


def _key(message: Any) -> bytes:
    written = json.dumps(message, sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).digest()
