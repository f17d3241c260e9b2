"""``ContextCompactor``: compacts a session, and returns the contents for a model."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from google.genai import types

from ullage._core import Policy, PolicyError, TokenCounter
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import run
from ullage.adk.dict_events import as_events
from ullage.adk.event_lines import findings_in
from ullage.adk.events import contents_of, is_request, live_events, older_count
from ullage.adk.prior_summary import PriorSummary, last_summary
from ullage.adk.requests import FORMAT
from ullage.adk.summarizer import EventsSummarizer, SummarySettings
from ullage.manager import ContextManager
from ullage.validity import repair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

    from ullage.adk.dict_events import AnyEvent
    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.stores.protocol import Store


# The least budget: half of it for the summary and the request, the rest for the newest call and its
# result, whose frames take some 200 tokens.
LEAST_BUDGET = 500


@dataclass(frozen=True)
class CompactionConfig:
    """The limits of a compaction.

    Args:
        token_budget: The most tokens of a working context, from 500 on. A summary takes at most a
            quarter of it, and so does the request after the summary.
        compaction_trigger_tokens: Above this size, older events are summarized.
        recent_events_count: The number of newest events that stay whole.
        min_events_for_compaction: Fewer events are not compacted.
        chars_per_token: Characters of a token. If not given, tokens are estimated by content type,
            because no ratio fits both prose and hexadecimal digits.

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
    """The known facts about a session's older events.

    Args:
        summary_text: The summary.
        key_findings: Its lines about failures, causes, bottlenecks and anomalies, the newest ten.
        tools_used: The tools that it names, sorted.
        last_compaction_turn: The number of events that it replaces.
    """

    summary_text: str = ""
    key_findings: list[str] = field(default_factory=list)
    tools_used: list[str] = field(default_factory=list)
    last_compaction_turn: int = 0


@dataclass(frozen=True)
class WorkingContext:
    """The part of a session that a model sees.

    Args:
        summary: The summary of the older events.
        recent_events: The newer events, as the given objects.
        total_token_estimate: The tokens of the contents.
        compaction_applied: True if older events were summarized now.
        last_compaction_timestamp: The time of the last compaction.
        contents: The contents to send: the summary and the newer events, shortened if necessary.
    """

    summary: SessionSummary
    recent_events: list[AnyEvent]
    total_token_estimate: int = 0
    compaction_applied: bool = False
    last_compaction_timestamp: float | None = None
    contents: list[types.Content] = field(default_factory=list)


def contents_within(
    earlier: PriorSummary | None,
    recent: Sequence[Event],
    events: Sequence[Event],
    engine: ContextManager,
) -> list[types.Content]:
    """Returns the contents of a working context, valid and inside the engine's window.

    Raises:
        BudgetError: If the contents that must stay do not fit.
    """
    if earlier is not None and any(map(is_request, recent)):
        # A newer request is among the recent events.
        earlier = replace(earlier, request=())
    contents = [earlier.content()] if earlier else []
    contents = list(repair([*contents, *contents_of(_with_calls(recent, events))], FORMAT))
    if engine.counter.count_messages(contents, FORMAT) <= engine.policy.window:
        return contents
    return engine.view(contents, engine.policy.window)


def _with_calls(recent: Sequence[Event], events: Sequence[Event]) -> list[Event]:
    """Returns the events, with the call before an answer that came long after it."""
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
    """Returns an event with only this call."""
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


# Sessions that are remembered. A service has thousands, and few are active.
_SESSIONS = 1_000


@dataclass(frozen=True)
class _SessionMemory:
    """The memory of one session.

    Args:
        earlier: The summary so far.
        last: The id of the last event that it replaces.
        turn: The number of events that it replaces.
        compactions: The number of compactions.
        at: The time of the last one.
    """

    earlier: PriorSummary
    last: str
    turn: int
    compactions: int
    at: float


class ContextCompactor:
    """Keeps the older events of a session as a summary, and the newest whole.

    :meth:`compact` writes the summary into the session, like ADK's own compaction, so every later
    request has it. :meth:`get_working_context` changes nothing. It returns the contents for a
    model, within the budget.

    One compactor serves any number of sessions and threads, and keeps sessions apart.

    Args:
        config: The limits.
        summarizer: As for :class:`EventsSummarizer`.
        settings: The settings of summaries.
        counter: Counts tokens; an estimate for Gemini if not given.
        store: Keeps outputs that do not fit the budget; without one they are shortened.

    Raises:
        PolicyError: If the configuration or the summarizer is invalid.
    """

    def __init__(
        self,
        config: CompactionConfig | None = None,
        summarizer: SummarizerOrModel | None = None,
        *,
        settings: SummarySettings | None = None,
        counter: TokenCounter | None = None,
        store: Store | None = None,
    ) -> None:
        if config is not None and not isinstance(config, CompactionConfig):
            raise PolicyError(f"config: must be a CompactionConfig; got a {type(config).__name__}")
        self.config = config or CompactionConfig()
        if counter is None and self.config.chars_per_token is not None:
            counter = TokenCounter.with_ratio(self.config.chars_per_token)
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")
        settings = (settings or SummarySettings()).within(self.config.token_budget)
        self._summarizer = EventsSummarizer(summarizer, settings=settings, counter=self.counter)
        policy = Policy.preset("adk-session").replace(
            window=self.config.token_budget, keep_recent=self.config.recent_events_count
        )
        self._engine = ContextManager(policy, counter=self.counter, store=store, format=FORMAT)
        self._sessions: LruCache[_SessionMemory] = LruCache(_SESSIONS)

    def should_compact(self, events: Sequence[AnyEvent]) -> bool:
        """True if enough events came since the last compaction and they are too long."""
        earlier, raw = last_summary(as_events(events))
        return self._is_due(earlier, raw)

    async def compact(self, session: Session, service: BaseSessionService) -> Event | None:
        """Writes a summary of the older events into the session, if one is due.

        The newest ``recent_events_count`` events stay, and more if a call would lose its result.
        Stored events are not changed. If the current request is older, the summary has it word for
        word.

        Returns:
            The event of the compaction, or None if none is due or none would help.

        Raises:
            Exception: Any error of the service.
        """
        earlier, raw = last_summary(session.events)
        if not self._is_due(earlier, raw):
            return None
        leaving = raw[: older_count(raw, self.config.recent_events_count)]
        if not leaving:
            return None
        # The earlier compaction comes first, so that the new one replaces it too.
        before = [event for event in live_events(session.events) if event.actions.compaction][-1:]
        event = await self._summarizer.maybe_summarize_events(events=[*before, *leaving])
        if event is None:
            return None
        return await service.append_event(session=session, event=event)

    def get_working_context(
        self,
        session_id: str,
        events: Sequence[AnyEvent],
        existing_summary: SessionSummary | None = None,
    ) -> WorkingContext:
        """Returns what a model sees of a session: a summary of older events, and the newest events.

        Below the trigger, or with few events, it returns all events. Only events since the last
        summary are summarized, and the summary continues the last one. An async summarizer runs in
        a thread.

        Args:
            session_id: The id of the session.
            events: All of its events: ADK's, or the dicts of an SRE agent with ``type``,
                ``content`` and ``tool_name``.
            existing_summary: The summary of the first ``last_compaction_turn`` events, if this
                compactor has not seen the session before.

        Raises:
            BudgetError: If the contents that must stay do not fit into the budget.
        """
        given = events
        events = as_events(given)
        earlier, new, turn = self._recalled(session_id, events, existing_summary)
        recent = self.config.recent_events_count
        split = older_count(new, recent) if self._is_due(earlier, new) else 0
        if split:
            earlier, _ = run(self._summarizer.writer.write(earlier, new[:split]))
            turn += split
            count = self.get_compaction_stats(session_id)["compactions"] + 1
            last = new[split - 1].id
            self._sessions.put(session_id, _SessionMemory(earlier, last, turn, count, time.time()))
            new = new[split:]
        contents = contents_within(earlier, new, events, self._engine)
        dicts = {made.id: one for made, one in zip(events, given, strict=True) if made is not one}
        return WorkingContext(
            summary=_summary_of(earlier, turn),
            recent_events=[dicts.get(event.id, event) for event in new],
            contents=contents,
            total_token_estimate=self._tokens(contents),
            compaction_applied=split > 0,
            last_compaction_timestamp=self.get_compaction_stats(session_id)["last_compaction"],
        )

    def get_compaction_stats(self, session_id: str) -> dict[str, Any]:
        """Returns the count of compactions of a session, the time of the last, and its result."""
        known = self._sessions.get(session_id)
        return {
            "compactions": known.compactions if known else 0,
            "events_compacted": known.turn if known else 0,
            "summary_tokens": self.counter.count(known.earlier.text) if known else 0,
            "last_compaction": known.at if known else None,
        }

    def clear_session(self, session_id: str) -> None:
        """Forgets a session."""
        self._sessions.take(session_id)

    def _is_due(self, earlier: PriorSummary | None, raw: list[Event]) -> bool:
        if len(raw) < self.config.min_events_for_compaction:
            return False
        contents = [earlier.content()] if earlier else []
        return self._tokens([*contents, *contents_of(raw)]) > self.config.compaction_trigger_tokens

    def _tokens(self, contents: Sequence[Any]) -> int:
        # Stored events do not change, so only new events are read.
        return self.counter.count_messages(contents, FORMAT, append_only=True) if contents else 0

    def _recalled(
        self, session_id: str, events: Sequence[Event], existing: SessionSummary | None
    ) -> tuple[PriorSummary | None, list[Event], int]:
        """Returns the summary so far, the events after it, and the number of events before."""
        earlier, raw = last_summary(events)
        known = self._sessions.get(session_id)
        ids = [event.id for event in raw]
        if known is not None and known.last in ids:
            return known.earlier, raw[ids.index(known.last) + 1 :], known.turn
        if existing is not None and existing.summary_text and earlier is None:
            turn = min(max(existing.last_compaction_turn, 0), len(raw))
            start = raw[0].timestamp if raw else 0.0
            seen = PriorSummary(start, start, existing.summary_text)
            writer = self._summarizer.writer
            made, _ = run(writer.write(seen, raw[:turn], existing.summary_text))
            return made, raw[turn:], turn
        return earlier, raw, 0


@cache
def get_context_compactor(config: CompactionConfig | None = None) -> ContextCompactor:
    """Returns this process's compactor for a configuration. It keeps sessions apart."""
    if config is None:
        return get_context_compactor(CompactionConfig())
    return ContextCompactor(config)


def _summary_of(earlier: PriorSummary | None, turn: int) -> SessionSummary:
    if earlier is None:
        return SessionSummary()
    return SessionSummary(
        summary_text=earlier.text,
        key_findings=findings_in(earlier.text),
        tools_used=tools_in(earlier.text),
        last_compaction_turn=turn,
    )
