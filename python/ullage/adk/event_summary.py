"""``Summarizer``: events in words, without a model, a session or a place to put them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ullage._core import TokenCounter
from ullage.adk.dict_events import as_events
from ullage.adk.event_lines import event_lines
from ullage.adk.fitting import findings_in, fitting
from ullage.adk.strategies import failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.adk.dict_events import AnyEvent


@dataclass(frozen=True)
class EventSummary:
    """Events in words.

    Args:
        summary_text: A line for each thing that happened.
        key_findings: Lines about failures, causes, bottlenecks and anomalies, the newest ten.
        tools_used: The tools that were called, sorted.
        error_count: Results that report a failure. Words about errors in a result are none.
        events_summarized: How many events there were.
        token_estimate: What the text takes.
    """

    summary_text: str = ""
    key_findings: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    error_count: int = 0
    events_summarized: int = 0
    token_estimate: int = 0


class Summarizer:
    """Puts events into words by what each tool is asked for, without a model.

    Args:
        tokens: The most that the words about several events take.
        counter: What counts; an estimate for Gemini if not given.
    """

    def __init__(self, tokens: int = 2_000, *, counter: TokenCounter | None = None) -> None:
        self.tokens = tokens
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")

    def summarize_event(self, event: AnyEvent) -> str:
        """An event in a line for each of its parts."""
        return "\n".join(event_lines(as_events([event])[0]))

    def summarize_events(self, events: Sequence[AnyEvent]) -> EventSummary:
        """Events in as many of their lines as have room: ADK's, or the dicts of an SRE agent."""
        events = as_events(events)
        lines = [line for event in events for line in event_lines(event)]
        text = fitting(lines, self.tokens, self.counter)
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
