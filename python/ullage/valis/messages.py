"""Reads the texts of messages, and writes any value as JSON."""

from __future__ import annotations

import json
import math
from typing import Any, TypeGuard

import ullage
from ullage.stores import records

# The engine accepts the same depth: MAX_MESSAGE_DEPTH in src/wire.
_DEEPEST = 272
_JSON = json.JSONEncoder(sort_keys=True, allow_nan=False)


def text_parts(message: Any) -> list[str]:
    """Returns the texts in a message's content."""
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [content]
    texts = (part["text"] if is_text(part) else part for part in parts)
    return [text for text in texts if isinstance(text, str)]


def with_text(message: Any, text: str) -> Any:
    """Returns the message with one new text instead of all its texts. Other content is kept."""
    content = message["content"]
    if not isinstance(content, list):
        return {**message, "content": text}
    others = [part for part in content if not is_text(part)]
    return {**message, "content": [{"type": "text", "text": text}, *others]}


def is_text(part: Any) -> TypeGuard[dict[str, Any]]:
    """True if the content part is a text."""
    return (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def written(value: Any) -> str:
    """Returns a value as JSON with sorted keys. A value that JSON does not have becomes a string.

    Raises:
        MessageError: If the value is nested too deeply, or contains itself.
    """
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _JSON.encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """Returns the value with JSON's types only. Other objects become strings.

    Bytes are written as in :mod:`ullage.stores.records`.

    Raises:
        MessageError: If the value is nested too deeply, or contains itself.
    """
    if depth > _DEEPEST:
        raise ullage.MessageError(
            f"a message has more than {_DEEPEST} nested levels, or contains itself; write the"
            " inner value as a string"
        )
    if isinstance(value, dict):
        return {str(key): plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner, depth + 1) for inner in value]
    if isinstance(value, (bytes, bytearray)):
        return records.to_json(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
