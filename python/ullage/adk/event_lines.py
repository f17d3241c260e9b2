"""An event in a few lines, as a history of bullets has it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage.adk.events import is_private
from ullage.adk.strategies import one_liner

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.genai import types

# Characters of what a user, a model and a thought say, and of arguments: the SRE agent's.
USER = 200
SAID = 200
THOUGHT = 150
ARGUMENTS = 100


def event_lines(event: Event) -> list[str]:
    """A line for each part; nothing for credentials and confirmations."""
    if event.content is None or is_private(event):
        return []
    return _lines(event.author, event.content)


def content_lines(content: types.Content) -> list[str]:
    """A line for each part of a content of a request; what a model says is a thought."""
    return _lines("Thought" if content.role == "model" else "user", content)


def _lines(author: str, content: types.Content) -> list[str]:
    lines = (_line(author, part) for part in content.parts or [])
    return [line for line in lines if line]


def _line(author: str, part: Any) -> str:
    if part.function_call:
        return f"• Called tool: {part.function_call.name}({_arguments(part.function_call.args)})"
    if part.function_response:
        name = part.function_response.name or ""
        return f"  └ {name}: {one_liner(name, part.function_response.response)}"
    if part.text and part.text.strip():
        return _words(author, part)
    return f"• {author}: a file" if part.inline_data or part.file_data else ""


def _words(author: str, part: Any) -> str:
    if author == "user":
        return f"• User: {_short(part.text, USER)}"
    if part.thought:
        return f"• Thought: {_short(part.text, THOUGHT)}"
    return f"• {author}: {_short(part.text, SAID)}"


def _arguments(args: Any) -> str:
    if not args:
        return ""
    written = ", ".join(f"{key}={_value(value)}" for key, value in dict(args).items())
    return _short(written, ARGUMENTS)


def _value(value: Any) -> str:
    if isinstance(value, (str, int, float, bool)):
        return repr(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str, longest: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."
