"""Reads the engine's notes about removed messages in a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ullage._core import removal_note
from ullage.report.reports import LastSummary

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage._core import TokenCounter

# Notes begin with the first, also after other words; a summary in one begins with the second.
_NOTE = "[ullage: "
_SUMMARY = "Summary of them:\n"
# The note is at the first removed message. Before it are system messages, the task, the messages of
# ``keep_first`` and pins, and rarely more than these.
_FRONT = 64


@dataclass(frozen=True)
class Note:
    """The engine's note about removed messages.

    Attributes:
        messages: The number of removed messages.
        body: The text about them; may be empty.
    """

    messages: int
    body: str

    @property
    def is_summary(self) -> bool:
        """True if the text is a summary, and not only lines of the messages."""
        return self.body.startswith(_SUMMARY)


def note_in(messages: Iterable[Any]) -> Note | None:
    """Returns the first note near the beginning of messages of any format."""
    return next((note for m in islice(messages, _FRONT) if (note := _find_note(m))), None)


def last_summary(messages: Iterable[Any], counter: TokenCounter) -> LastSummary | None:
    """Returns the summary in the messages, if there is one."""
    note = note_in(messages)
    if note is None or not note.is_summary:
        return None
    return LastSummary(note.messages, counter.count(note.body))


def _find_note(value: Any) -> Note | None:
    # By the methods of the base class, because a host's subclass may change them.
    if isinstance(value, str):
        said = removal_note(value) if str.__contains__(value, _NOTE) else None
        return None if said is None else Note(*said)
    if isinstance(value, dict):
        value = dict.values(value)
    elif isinstance(value, list):
        value = list.__iter__(value)
    elif not isinstance(value, tuple):
        # ADK's contents and their parts.
        value = (getattr(value, "parts", None), getattr(value, "text", None))
        if value == (None, None):
            return None
    return next((note for part in value if (note := _find_note(part))), None)
