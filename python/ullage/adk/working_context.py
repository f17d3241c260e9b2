"""What a model is to see of a session, and how much of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from google.genai import types

from ullage._core import PolicyError
from ullage.adk.events import contents_of, is_request
from ullage.adk.requests import FORMAT
from ullage.validity import repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event

    from ullage.adk.dict_events import AnyEvent
    from ullage.adk.summarizer import Earlier
    from ullage.manager import ContextManager


# The least budget: half of it for what is summarized, the rest for the newest call and its result,
# whose places take some 200 tokens.
LEAST_BUDGET = 500


@dataclass(frozen=True)
class CompactionConfig:
    """When a session is compacted, and how far.

    Args:
        token_budget: The most that a working context takes, from 500 on. A summary takes at most a
            quarter of it, and so does the request that stands behind the summary.
        compaction_trigger_tokens: Above it older events are summarized.
        recent_events_count: So many of the newest events stay in full.
        min_events_for_compaction: Fewer events are not compacted.
        chars_per_token: Characters of a token; by what they say if not given, since no ratio is
            right for prose and hexadecimal digits alike.

    Raises:
        PolicyError: If a number is out of range.
    """

    token_budget: int = 32_000
    compaction_trigger_tokens: int = 24_000
    recent_events_count: int = 5
    min_events_for_compaction: int = 10
    chars_per_token: float | None = None

    def __post_init__(self) -> None:
        if self.token_budget < LEAST_BUDGET:
            raise PolicyError(
                f"token_budget: must be at least {LEAST_BUDGET}, which a summary, a request and the"
                f" newest call take; got {self.token_budget:,}"
            )
        if not 0 < self.compaction_trigger_tokens <= self.token_budget:
            raise PolicyError(
                f"compaction_trigger_tokens: must be from 1 to token_budget, {self.token_budget:,};"
                f" got {self.compaction_trigger_tokens:,}"
            )
        if self.recent_events_count < 0 or self.min_events_for_compaction < 0:
            raise PolicyError(
                "recent_events_count and min_events_for_compaction cannot be negative"
            )


@dataclass(frozen=True)
class SessionSummary:
    """What is known of a session's older events.

    Args:
        summary_text: The summary.
        key_findings: Its lines about failures, causes, bottlenecks and anomalies, the newest ten.
        tools_used: The tools that it names, sorted.
        last_compaction_turn: How many events it stands for.
    """

    summary_text: str = ""
    key_findings: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    last_compaction_turn: int = 0


@dataclass(frozen=True)
class WorkingContext:
    """What a model is to see of a session.

    Args:
        summary: What is known of the older events.
        recent_events: The newer ones, as they were given.
        total_token_estimate: What the contents take.
        compaction_applied: Whether older events were summarized now.
        last_compaction_timestamp: When that last happened.
        contents: What to send: the summary, and the newer events, shortened where the budget asks.
    """

    summary: SessionSummary
    recent_events: list[AnyEvent]
    total_token_estimate: int = 0
    compaction_applied: bool = False
    last_compaction_timestamp: float | None = None
    contents: list[types.Content] = field(default_factory=list)


def contents_within(
    earlier: Earlier | None,
    recent: Sequence[Event],
    events: Sequence[Event],
    engine: ContextManager,
) -> list[types.Content]:
    """The contents of a working context, valid and inside the window of the engine.

    Raises:
        BudgetError: If what must stay does not fit.
    """
    if earlier is not None and any(map(is_request, recent)):
        # A newer request stands among the recent events.
        earlier = replace(earlier, request=())
    contents = [earlier.content()] if earlier else []
    contents = list(repair([*contents, *contents_of(_with_calls(recent, events))], FORMAT))
    if engine.counter.count_messages(contents, FORMAT) <= engine.policy.window:
        return contents
    return engine.view(contents, engine.policy.window)


def _with_calls(recent: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """The events, with the call in front of an answer that came long after it."""
    known: set[str] = set()
    out: list[Event] = []
    for event in recent:
        known |= {call.id or "" for call in event.get_function_calls()}
        late = [one.id for one in event.get_function_responses() if one.id and one.id not in known]
        out += [call for id_ in late for call in _call(id_, events)]
        known.update(late)
        out.append(event)
    return out


def _call(id_: str, events: Sequence[Event]) -> list[Event]:
    """The event of a call with nothing in it but that call."""
    for event in reversed(events):
        for part in (event.content.parts or []) if event.content else []:
            if part.function_call and part.function_call.id == id_:
                content = types.Content(role="model", parts=[part])
                return [event.model_copy(update={"content": content})]
    return []


_TOOL = re.compile(r"^• Called tool: ([^\s(]+)", re.MULTILINE)


def tools_in(text: str) -> list[str]:
    """The tools that a summary names, sorted."""
    return sorted(set(_TOOL.findall(text)))
