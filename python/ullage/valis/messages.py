"""Messages as they are read and counted here, whatever a host wrote."""

from __future__ import annotations

import json
import math
from typing import Any, TypeGuard

import ullage
from ullage.stores import records

# As deep as the engine takes a message, MAX_MESSAGE_DEPTH in src/wire.
_DEEPEST = 272
_JSON = json.JSONEncoder(sort_keys=True, allow_nan=False)


def text_parts(message: Any) -> list[str]:
    """The texts of a message's content."""
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [content]
    texts = (part["text"] if is_text(part) else part for part in parts)
    return [text for text in texts if isinstance(text, str)]


def with_text(message: Any, text: str) -> Any:
    """The message with another text for all of its texts; what else is in it stays."""
    content = message["content"]
    if not isinstance(content, list):
        return {**message, "content": text}
    others = [part for part in content if not is_text(part)]
    return {**message, "content": [{"type": "text", "text": text}, *others]}


def is_text(part: Any) -> TypeGuard[dict[str, Any]]:
    """True if it is a part with a text."""
    return (
        isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def written(value: Any) -> str:
    """A value as JSON, the same for the same value; what JSON has no word for becomes a text.

    Raises:
        MessageError: If it is nested too deeply, or holds itself.
    """
    try:
        return _JSON.encode(value)
    except (TypeError, ValueError, RecursionError):
        return _JSON.encode(plain(value))


def plain(value: Any, depth: int = 0) -> Any:
    """The value in JSON's words: what has none becomes a text, and bytes what records make of them.

    Raises:
        MessageError: If it is nested too deeply, or holds itself.
    """
    if depth > _DEEPEST:
        raise ullage.MessageError(
            f"a message is nested deeper than {_DEEPEST} levels; give the value as a text"
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
