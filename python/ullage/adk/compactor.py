"""``ContextCompactor``: compacts a session, and returns the contents for a model."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

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
    from google.genai import types

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


_TOOL = re.compile(r"^• Called tool: ([^\s(]+)", re.MULTILINE)

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

    earlier: PriorSummary | None = None
    last: str = ""
    turn: int = 0
    compactions: int = 0
    at: float | None = None


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
        self._write = self._summarizer._write  # noqa: SLF001 - the same package
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
        memory, new = self._recalled(session_id, events, existing_summary)
        recent = self.config.recent_events_count
        split = older_count(new, recent) if self._is_due(memory.earlier, new) else 0
        if split:
            earlier, _ = run(self._write(memory.earlier, new[:split]))
            turn, count = memory.turn + split, memory.compactions + 1
            memory = _SessionMemory(earlier, new[split - 1].id, turn, count, time.time())
            self._sessions.put(session_id, memory)
            new = new[split:]
        contents = self._contents(memory.earlier, new)
        dicts = {made.id: one for made, one in zip(events, given, strict=True) if made is not one}
        return WorkingContext(
            summary=_summary_of(memory.earlier, memory.turn),
            recent_events=[dicts.get(event.id, event) for event in new],
            contents=contents,
            total_token_estimate=self._tokens(contents),
            compaction_applied=split > 0,
            last_compaction_timestamp=memory.at,
        )

    def get_compaction_stats(self, session_id: str) -> dict[str, Any]:
        """Returns the count of compactions of a session, the time of the last, and its result."""
        known = self._sessions.get(session_id) or _SessionMemory()
        return {
            "compactions": known.compactions,
            "events_compacted": known.turn,
            "summary_tokens": self.counter.count(known.earlier.text) if known.earlier else 0,
            "last_compaction": known.at,
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

    def _contents(self, earlier: PriorSummary | None, recent: list[Event]) -> list[types.Content]:
        """Returns the summary and the events as contents, valid and inside the budget."""
        if earlier is not None and any(map(is_request, recent)):
            # A newer request is among the recent events.
            earlier = replace(earlier, request=())
        contents = [earlier.content()] if earlier else []
        # A call that waits gets an answer too, since the contents are sent as they are.
        contents = list(repair([*contents, *contents_of(recent)], FORMAT))
        return self._engine.view(contents, self.config.token_budget)

    def _recalled(
        self, session_id: str, events: Sequence[Event], existing: SessionSummary | None
    ) -> tuple[_SessionMemory, list[Event]]:
        """Returns the memory of a session, and the events after its summary."""
        earlier, raw = last_summary(events)
        known = self._sessions.get(session_id) or _SessionMemory()
        ids = [event.id for event in raw]
        if known.last in ids:
            return known, raw[ids.index(known.last) + 1 :]
        turn = 0
        if existing is not None and existing.summary_text and earlier is None:
            turn = min(max(existing.last_compaction_turn, 0), len(raw))
            start = raw[0].timestamp if raw else 0.0
            seen = PriorSummary(start, start, existing.summary_text)
            earlier, _ = run(self._write(seen, raw[:turn], existing.summary_text))
        return replace(known, earlier=earlier, turn=turn), raw[turn:]


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
        tools_used=sorted(set(_TOOL.findall(earlier.text))),
        last_compaction_turn=turn,
    )
