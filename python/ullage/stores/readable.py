"""Messages in JSON as lines of text, for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# References of removed messages begin with this.
TRANSCRIPT = "transcript-"
# Fields whose text needs no name in front of it.
_TEXTS = ("content", "parts", "text", "thinking", "output", "response", "result")
# Fields that the heading names, or that say nothing to a reader.
_UNNAMED = ("role", "type", "signature", "cache_control", "cachePoint")


def text_of(value: Any) -> str:
    """Returns a message, a tool result or another value of JSON as text."""
    return "\n".join(_lines_in(value, "content"))


def transcript_as_text(content: bytes) -> bytes:
    """Returns the messages in JSON lines as text; anything else as it is."""
    try:
        messages = [json.loads(line) for line in content.decode().split("\n") if line.strip()]
        if not all(isinstance(message, dict) for message in messages):
            return content
        lines = list(_lines(messages))
    except (ValueError, RecursionError):
        return content
    return "\n".join(lines).encode("utf-8", "backslashreplace")


def _lines(messages: Iterable[dict[str, Any]]) -> Iterator[str]:
    for number, message in enumerate(messages, 1):
        role = message.get("role") or message.get("type") or "message"
        yield f"[message {number}, {role}]"
        yield from _lines_in(message, "")


def _lines_in(value: Any, name: str) -> Iterator[str]:
    """Returns the text of a value, line by line, each value after its name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _UNNAMED:
                yield from _lines_in(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _lines_in(inner, name)
    elif isinstance(value, str):
        yield from _lines_of_text(value, name)
    elif value is not None:
        yield f"{name}: {json.dumps(value, default=str)}"


def _lines_of_text(text: str, name: str) -> Iterator[str]:
    if text.startswith("{"):
        # The arguments of a call in OpenAI's form.
        try:
            yield from _lines_in(json.loads(text), name)
        except ValueError:
            pass
        else:
            return
    first, *others = text.splitlines() or [""]
    yield first if name in _TEXTS else f"{name}: {first}"
    yield from others
