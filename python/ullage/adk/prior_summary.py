"""Writes and reads the summary that replaces older events of a session."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage.adk.events import conversation_events, waiting_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event

# The first line of a compacted content, and the lines before the calls that wait and the request.
HEADER = "[Summary of earlier events in this session. They happened; do not repeat them.]"
WAITING = "[Still going on; an answer will come:]"
REQUEST = "[The user's latest request among them, word for word:]"

# Characters of the report of a tool that is still running.
_WAITING_LINE = 300


@dataclass(frozen=True)
class PriorSummary:
    """The summary that replaces older events, with its request and open calls.

    Args:
        start: The time of the first event that it replaces.
        end: The time of the last one.
        text: The summary.
        request: The parts of the latest request among them.
        waiting: The lines about calls that were still open.
    """

    start: float
    end: float
    text: str
    request: tuple[Any, ...] = ()
    waiting: tuple[str, ...] = ()

    @classmethod
    def read(cls, event: Event) -> PriorSummary | None:
        """Returns the summary in an event of compaction, or in ADK's event about one, or None."""
        compaction = event.actions.compaction
        content = compaction.compacted_content if compaction else event.content
        parts = list(content.parts or []) if content else []
        text = parts[0].text or "" if parts else ""
        if event.author == "user" and not compaction:
            return None
        start = compaction.start_timestamp if compaction else event.timestamp
        end = compaction.end_timestamp if compaction else event.timestamp
        if not text.startswith(HEADER):
            # A summary of another summarizer counts too.
            return cls(start, end, text) if compaction else None
        body, _, going_on = text[len(HEADER) :].lstrip("\n").partition(f"\n\n{WAITING}\n")
        request = tuple(parts[2:]) if len(parts) > 1 and parts[1].text == REQUEST else ()
        return cls(start, end, body, request, tuple(going_on.splitlines()))

    def content(self) -> types.Content:
        """Returns the summary with its request and calls, as content of the user."""
        lines = [HEADER, self.text]
        if self.waiting:
            lines += ["", WAITING, *self.waiting]
        parts = [types.Part(text="\n".join(lines))]
        if self.request:
            parts += [types.Part(text=REQUEST), *self.request]
        return types.Content(role="user", parts=parts)


def last_summary(events: Sequence[Event]) -> tuple[PriorSummary | None, list[Event]]:
    """Returns the last summary in a session, and the events that it does not replace."""
    live = conversation_events(events)
    raw = [event for event in live if not event.actions.compaction]
    found = [
        made for event in live if event.actions.compaction and (made := PriorSummary.read(event))
    ]
    if not found:
        return None, raw
    last = max(reversed(found), key=lambda made: made.end)
    return last, [event for event in raw if event.timestamp > last.end]


def waiting_lines(earlier: PriorSummary | None, new: Sequence[Event]) -> tuple[str, ...]:
    """Returns the calls that are still open: older ones without an answer since, and new ones."""
    answered = {answer.id for event in new for answer in event.get_function_responses()}
    lines = [
        line
        for line in (earlier.waiting if earlier else ())
        if not any(id_ and f"({id_})" in line for id_ in answered)
    ]
    for tool, id_, response in waiting_calls(new):
        said = json.dumps(response, ensure_ascii=False, default=str)[:_WAITING_LINE]
        lines.append(f"• {tool} ({id_}) said {said}")
    return tuple(lines)
