"""Writes and reads the texts for the model: a summary's message, and a part of the prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ullage
from ullage._engine.roles import SYSTEM_ROLES, is_system, role_of
from ullage.valis.files import HISTORY, is_path_in
from ullage.valis.messages import text_parts

# A part of the system prompt that tells the model how to read removed content.
SEGMENT = """
## Context Management

Your conversation history is automatically managed to stay within context limits:

1. **Large outputs** are saved to `/tool_outputs/` with a preview shown
2. **File contents** from write/edit operations are replaced with pointers, and saved as they were
   to `/tool_inputs/`
3. **If context gets very long**, a summary is created and full history saved to
   `/conversation_history/`

**To recover information:**
- Use `read_file("/tool_outputs/...")` to view full tool outputs
- Use `grep("keyword", "/conversation_history/")` to search past conversations
- Use `ls("/conversation_history/")` to see saved conversations

The original, uncompacted conversation is always preserved on the filesystem.
"""

_FORMAT = "ai-sdk"
_BEGIN = "[CONVERSATION SUMMARY]"
_END = "[END SUMMARY]"
_ROLES = (*SYSTEM_ROLES, "user")
_INTRODUCTION = (
    "The following is a summary of the conversation so far. The full conversation \n"
    "has been saved to /conversation_history/ and can be searched with grep()."
)
# The greatest length of the line that names the history of a summary.
_LONGEST_PLACE = 400
# The line that names the history. Between these texts are the path of the history, and the number
# of messages after the summary that are also in the history.
_SAVED = ("\n\n[Saved to ", ", with the next ", " messages]")


@dataclass(frozen=True)
class SummaryNote:
    """The content of a summary's message.

    Attributes:
        summary: The summary.
        path: The file with the history before the summary, or an empty string if it is unknown.
        behind: The number of messages after the summary that are also in that file.
    """

    summary: str
    path: str = ""
    behind: int = 0

    def message(self, role: str) -> dict[str, Any]:
        """Returns the message with the summary."""
        head, middle, tail = _SAVED
        place = f"{head}{self.path}{middle}{self.behind}{tail}"
        text = f"\n{_BEGIN}\n{_INTRODUCTION}\n\n{self.summary}{place}\n\n{_END}\n"
        return {"role": role, "content": text}


def summary_note(message: Any) -> SummaryNote | None:
    """Returns the content of a summary's message, or None for another message."""
    texts = text_parts(message) if role_of(message) in _ROLES else []
    # Not a regular expression, which would take quadratic time for a text without an end.
    text, begin, end = texts[0].strip() if len(texts) == 1 else "", f"{_BEGIN}\n", f"\n\n{_END}"
    if not (text.startswith(begin) and text.endswith(end)):
        return None
    _, blank_line, summary = text[len(begin) : -len(end)].partition("\n\n")
    if not blank_line:
        return None
    head, middle, tail = _SAVED
    line = summary[-_LONGEST_PLACE:].rpartition(head)[2]
    path, _, behind = line.removesuffix(tail).partition(middle)
    if not (line.endswith(tail) and behind.isdecimal() and is_path_in(HISTORY, path)):
        return SummaryNote(summary)
    return SummaryNote(summary[: -len(head + line)], path, int(behind))


def summary_first(messages: list[Any]) -> list[Any]:
    """Returns the messages with their summary directly after the system messages."""
    place = summary_place(messages)
    if place is None:
        return messages
    rest = messages[:place] + messages[place + 1 :]
    begin = next((n for n, m in enumerate(rest) if not is_system(m)), len(rest))
    return [*rest[:begin], messages[place], *rest[begin:]]


def summary_before(messages: list[Any], newest: int) -> list[Any]:
    """Returns the messages with their summary directly before the ``newest`` last messages.

    This is the order for a view. A view assumes that a new message replaces the messages that were
    removed at its place. No message was removed before the first request. So a summary there would
    be used for every conversation.
    """
    place = summary_place(messages)
    if place is None:
        return messages
    rest = messages[:place] + messages[place + 1 :]
    end = len(rest) - newest
    return [*rest[:end], messages[place], *rest[end:]]


def summary_place(messages: list[Any]) -> int | None:
    """Returns the index of the first summary, or None if there is none."""
    return next(
        (n for n, message in enumerate(messages) if summary_note(message) is not None), None
    )


def role_in(messages: list[Any]) -> str:
    """Returns the role for a summary. Anthropic accepts no system message in the list."""
    system = any(is_system(message) for message in messages)
    return "user" if not system and format_of(messages) == "anthropic" else "system"


def format_of(messages: list[Any]) -> str:
    """Returns the wire format of the messages, or Valis' own if it is ambiguous: the AI SDK's."""
    try:
        return ullage.detect_format(messages)
    except ullage.MessageError:
        return _FORMAT
