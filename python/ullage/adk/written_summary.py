"""What stands for events: how it is written as content of the user, and read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage.adk.events import is_request, waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.events.event import Event

# What a compacted content begins with, and what stands before the request in it.
HEADER = "[Summary of earlier events in this session. They happened; do not repeat them.]"
REQUEST = "[The user's latest request among them, word for word:]"
WAITING = "[Still going on; an answer will come:]"

# Characters of what a tool that goes on has said.
_WAITING_LINE = 300


@dataclass(frozen=True)
class Earlier:
    """What an earlier compaction left.

    Args:
        start: The time of the first event that it stands for.
        text: The summary.
        request: The parts of the latest request among them.
        waiting: The lines about calls that went on.
    """

    start: float
    text: str
    request: tuple[Any, ...] = ()
    waiting: tuple[str, ...] = ()


def made_of(
    earlier: Earlier | None,
    new: Sequence[Event],
    text: str,
    shorten: Callable[[str], str],
) -> Earlier:
    """What stands for the events and for those before, with a text about both.

    Args:
        earlier: What stands for those before.
        new: The events.
        text: The summary.
        shorten: Shortens the text of a request where it is too long.
    """
    request = _request_of(new, shorten) or (earlier.request if earlier else ())
    times = [event.timestamp for event in new[:1]] + ([earlier.start] if earlier else [])
    return Earlier(min(times, default=0.0), text, request, _waiting_lines(earlier, new))


def written(made: Earlier) -> types.Content:
    """A summary with what goes with it, as content of the user."""
    lines = [HEADER, made.text]
    if made.waiting:
        lines += ["", WAITING, *made.waiting]
    parts = [types.Part(text="\n".join(lines))]
    if made.request:
        parts += [types.Part(text=REQUEST), *made.request]
    return types.Content(role="user", parts=parts)


def read_back(event: Event) -> Earlier | None:
    """What :func:`written` wrote, from an event of compaction or from ADK's event about one."""
    compaction = event.actions.compaction
    content = compaction.compacted_content if compaction else event.content
    parts = list(content.parts or []) if content else []
    text = parts[0].text or "" if parts else ""
    if event.author == "user" and not compaction:
        return None
    if not text.startswith(HEADER):
        # Another's summary is one all the same.
        return Earlier(compaction.start_timestamp, text) if compaction else None
    body = text[len(HEADER) :].lstrip("\n")
    body, _, going_on = body.partition(f"\n\n{WAITING}\n")
    request = tuple(parts[2:]) if len(parts) > 1 and parts[1].text == REQUEST else ()
    start = compaction.start_timestamp if compaction else event.timestamp
    return Earlier(start, body, request, tuple(going_on.splitlines()))


def _request_of(events: Sequence[Event], shorten: Callable[[str], str]) -> tuple[Any, ...]:
    """The parts of the latest request, shorter where it is very long."""
    for event in reversed(events):
        if is_request(event):
            parts = event.content.parts if event.content else None
            return tuple(_bounded(part, shorten) for part in parts or [] if not part.thought)
    return ()


def _bounded(part: types.Part, shorten: Callable[[str], str]) -> types.Part:
    text = shorten(part.text) if part.text else part.text
    return part if text == part.text else part.model_copy(update={"text": text})


def _waiting_lines(earlier: Earlier | None, new: Sequence[Event]) -> tuple[str, ...]:
    """What goes on: what went on before and was not answered since, and what began."""
    answered = {answer.id for event in new for answer in event.get_function_responses()}
    lines = [
        line
        for line in (earlier.waiting if earlier else ())
        if not any(id_ and f"({id_})" in line for id_ in answered)
    ]
    for tool, id_, response in waiting(new):
        said = json.dumps(response, ensure_ascii=False, default=str)[:_WAITING_LINE]
        lines.append(f"• {tool} ({id_}) said {said}")
    return tuple(lines)
