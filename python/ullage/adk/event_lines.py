"""Writes events as lines. ``Summarizer`` needs no model and no session."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ullage._core import TokenCounter
from ullage.adk.dict_events import as_events
from ullage.adk.events import is_private
from ullage.adk.strategies import failure, one_liner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event
    from google.genai import types

    from ullage.adk.dict_events import AnyEvent


# Characters of what a user, a model and a thought say, and of arguments: the SRE agent's.
USER = 200
SAID = 200
THOUGHT = 150
ARGUMENTS = 100


def event_lines(event: Event) -> list[str]:
    """Returns a line for each part, without credentials and confirmations."""
    if event.content is None or is_private(event):
        return []
    return _lines(event.author, event.content)


def content_lines(content: types.Content) -> list[str]:
    """Returns a line for each part of a request's content. The words of a model are a thought."""
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


_GAP = re.compile(r"^\[([\d,]+) older lines have no room here\]$")

# A line about failures, or a finding of an analysis, from any tool.
_FINDS = re.compile(
    r": failed: |\b[1-9][\d,]* (?:failed|ERROR|CRITICAL|FATAL|ALERT|EMERGENCY)\b"
    r'|(?:root_cause|\bbottleneck|\banomalies)"?: (?!0\b|null|""|\[\]|\{\})'
)

_ASKED = "• User: "

# The share of the room for the newest lines. The next step continues from the latest events. The
# rest is for older lines that say more.
_NEWEST = 0.6

# Findings of a history that are named: the document's number.
_FINDINGS = 10


def fit_lines(lines: Sequence[str], tokens: int, counter: TokenCounter) -> str:
    """The lines that have room, in their order, and how many do not.

    The newest come first; then the first request of all, what else users asked, and words that are
    no bullet, such as a summary that was there before; then what failed, then the rest, the newest
    first.
    """
    left_out = sum(_number(line) for line in lines)
    known = [line for line in lines if not _GAP.match(line)]
    sizes = [counter.count(line) + 1 for line in known]
    if not left_out and sum(sizes) <= tokens:
        return "\n".join(known)
    rest = tokens - counter.count(_gap(left_out + len(known))) - 1
    kept: set[int] = set()
    newest = rest * _NEWEST
    for place in reversed(range(len(known))):
        newest -= sizes[place]
        if newest < 0:
            break
        kept.add(place)
        rest -= sizes[place]
    first = next((place for place, line in enumerate(known) if line.startswith(_ASKED)), None)
    others = [place for place in reversed(range(len(known))) if place not in kept]
    for place in sorted(others, key=lambda place: -1 if place == first else _rank(known[place])):
        if sizes[place] <= rest:
            kept.add(place)
            rest -= sizes[place]
    left_out += len(known) - len(kept)
    shown = [known[place] for place in sorted(kept)]
    return "\n".join([_gap(left_out), *shown] if left_out else shown)


def findings_in(text: str) -> list[str]:
    """Returns the newest lines of a summary about a failure, a cause, a bottleneck or anomalies."""
    found = [line.strip(" •└") for line in text.splitlines() if _FINDS.search(line)]
    return found[-_FINDINGS:]


def _rank(line: str) -> int:
    """Returns the rank of a line: smaller for a more informative line."""
    if line.startswith(_ASKED) or not line.startswith(("• ", "  └ ")):
        return 0
    return 1 if _FINDS.search(line) else 2


def _gap(lines: int) -> str:
    return f"[{lines:,} older lines have no room here]"


def _number(line: str) -> int:
    found = _GAP.match(line)
    return int(found[1].replace(",", "")) if found else 0


@dataclass(frozen=True)
class EventSummary:
    """A summary of events as lines.

    Args:
        summary_text: A line for each part of the events.
        key_findings: Lines about failures, causes, bottlenecks and anomalies, the newest ten.
        tools_used: The tools that were called, sorted.
        error_count: Results that report a failure. Words about errors in a result do not count.
        events_summarized: The number of events.
        token_estimate: The tokens of the text.
    """

    summary_text: str = ""
    key_findings: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    error_count: int = 0
    events_summarized: int = 0
    token_estimate: int = 0


class Summarizer:
    """Summarizes events as lines, without a model.

    Args:
        tokens: The most tokens of a summary of several events.
        counter: Counts tokens; an estimate for Gemini if not given.
    """

    def __init__(self, tokens: int = 2_000, *, counter: TokenCounter | None = None) -> None:
        self.tokens = tokens
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")

    def summarize_event(self, event: AnyEvent) -> str:
        """Returns an event as lines, one for each part."""
        return "\n".join(event_lines(as_events([event])[0]))

    def summarize_events(self, events: Sequence[AnyEvent]) -> EventSummary:
        """Events in as many of their lines as have room: ADK's, or the dicts of an SRE agent."""
        events = as_events(events)
        lines = [line for event in events for line in event_lines(event)]
        text = fit_lines(lines, self.tokens, self.counter)
        answers = [one for event in events for one in event.get_function_responses()]
        calls = {call.name or "" for event in events for call in event.get_function_calls()}
        return EventSummary(
            summary_text=text,
            key_findings=findings_in("\n".join(lines)),
            tools_used=sorted(calls),
            error_count=sum(bool(failure(one.response)) for one in answers),
            events_summarized=len(events),
            token_estimate=self.counter.count(text),
        )
