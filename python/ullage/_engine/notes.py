"""The engine's notes in place of removed messages, as they stand in a conversation."""

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
# The note stands at the first message that left: in front of it are system messages, the task, what
# ``keep_first`` keeps and pins, and hardly ever more than these.
_FRONT = 64


@dataclass(frozen=True)
class Note:
    """The engine's note about removed messages.

    Attributes:
        messages: How many they were.
        body: What it says of them; empty if nothing.
    """

    messages: int
    body: str

    @property
    def is_summary(self) -> bool:
        """True if that is a summary, and not only lines of theirs."""
        return self.body.startswith(_SUMMARY)


def note_in(messages: Iterable[Any]) -> Note | None:
    """The first note in some messages of any format, near their beginning."""
    return next((note for m in islice(messages, _FRONT) if (note := _found(m))), None)


def last_summary(messages: Iterable[Any], counter: TokenCounter) -> LastSummary | None:
    """The summary that stands in some messages, if one does."""
    note = note_in(messages)
    if note is None or not note.is_summary:
        return None
    return LastSummary(note.messages, counter.count(note.body))


def _found(value: Any) -> Note | None:
    # By the methods of the base class: those of the host's subclass may be anything.
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
    return next((note for part in value if (note := _found(part))), None)
