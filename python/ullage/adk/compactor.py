"""``ContextCompactor``: compaction of a session by whoever runs it, and what a model is to see."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ullage._core import Policy, PolicyError, TokenCounter
from ullage._engine.steps import run
from ullage.adk.dict_events import as_events
from ullage.adk.event_lines import findings_in
from ullage.adk.events import contents_of, live, older
from ullage.adk.requests import FORMAT
from ullage.adk.summarizer import Earlier, EventsSummarizer, SummarySettings, last_summary
from ullage.adk.working_context import (
    CompactionConfig,
    SessionSummary,
    WorkingContext,
    contents_within,
    tools_in,
)
from ullage.manager import ContextManager

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event
    from google.adk.sessions.base_session_service import BaseSessionService
    from google.adk.sessions.session import Session

    from ullage.adk.dict_events import AnyEvent
    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.stores.protocol import Store

# Sessions that are remembered; a service has thousands, of which few are at work.
_SESSIONS = 1_000


@dataclass(frozen=True)
class _Known:
    """What is remembered of a session.

    Args:
        earlier: The summary so far.
        last: The id of the last event that it stands for.
        turn: How many events it stands for.
        compactions: How often it was made.
        at: When it was last made.
    """

    earlier: Earlier
    last: str
    turn: int
    compactions: int
    at: float


class ContextCompactor:
    """Keeps the older events of a session as a summary, and the newest in full.

    :meth:`compact` writes the summary into the session, as ADK's own compaction does, so that every
    later request is assembled from it. :meth:`get_working_context` changes nothing: it says what a
    model is to see, within the budget.

    One compactor serves any number of sessions and threads; nothing of one session reaches another.

    Args:
        config: When, and how far.
        summarizer: As of :class:`EventsSummarizer`.
        settings: How summaries are made.
        counter: What counts; an estimate for Gemini if not given.
        store: Where outputs go that the budget has no room for; without one they are shortened.

    Raises:
        PolicyError: If the configuration or the summarizer is anything else.
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
        self._sessions: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def should_compact(self, events: Sequence[AnyEvent]) -> bool:
        """Whether there are enough events since the last compaction, and they are too long."""
        earlier, raw = last_summary(as_events(events))
        return self._is_due(earlier, raw)

    async def compact(self, session: Session, service: BaseSessionService) -> Event | None:
        """Writes a summary of the older events into the session where one is due.

        The newest ``recent_events_count`` stay, and more where a call would lose its result. What
        is stored already is not changed. The request that is being worked on stands in the summary
        word for word where it is older than that.

        Returns:
            The event of the compaction, or None where none is due, or none would help.

        Raises:
            Exception: Whatever the service raises.
        """
        earlier, raw = last_summary(session.events)
        if not self._is_due(earlier, raw):
            return None
        leaving = raw[: older(raw, self.config.recent_events_count)]
        if not leaving:
            return None
        # The compaction before goes in front, so that the new one stands for it too.
        before = [event for event in live(session.events) if event.actions.compaction][-1:]
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
        """What a model is to see of a session: a summary of what is older, and the newest events.

        Below the trigger, or of few events, all of them. Only what is new since the last time is
        summarized, with that summary. A summarizer that has to be awaited runs in a thread.

        Args:
            session_id: What the session is known by.
            events: All of its events: ADK's, or the dicts of an SRE agent with ``type``,
                ``content`` and ``tool_name``.
            existing_summary: What is known of the first ``last_compaction_turn`` events, where this
                compactor has not seen the session before.

        Raises:
            BudgetError: If what must stay does not fit into the budget.
        """
        given = events
        events = as_events(given)
        earlier, new, turn = self._recalled(session_id, events, existing_summary)
        recent = self.config.recent_events_count
        split = older(new, recent) if self._is_due(earlier, new) else 0
        if split:
            earlier, _ = run(self._summarizer.writer.earlier(earlier, new[:split]))
            turn += split
            self._remember(session_id, earlier, new[split - 1].id, turn)
            new = new[split:]
        contents = contents_within(earlier, new, events, self._engine)
        known = self._known(session_id)
        dicts = {made.id: one for made, one in zip(events, given, strict=True) if made is not one}
        return WorkingContext(
            summary=_summary_of(earlier, turn),
            recent_events=[dicts.get(event.id, event) for event in new],
            contents=contents,
            total_token_estimate=self._tokens(contents),
            compaction_applied=split > 0,
            last_compaction_timestamp=known.at if known else None,
        )

    def get_compaction_stats(self, session_id: str) -> dict[str, Any]:
        """How often a session's working context was compacted, when last, and to what."""
        known = self._known(session_id)
        if known is None:
            return {
                "compactions": 0,
                "events_compacted": 0,
                "summary_tokens": 0,
                "last_compaction": None,
            }
        return {
            "compactions": known.compactions,
            "events_compacted": known.turn,
            "summary_tokens": self.counter.count(known.earlier.text),
            "last_compaction": known.at,
        }

    def clear_session(self, session_id: str) -> None:
        """Forgets a session."""
        with self._lock:
            self._sessions.pop(session_id, None)

    def _is_due(self, earlier: Earlier | None, raw: list[Event]) -> bool:
        if len(raw) < self.config.min_events_for_compaction:
            return False
        contents = [earlier.content()] if earlier else []
        return self._tokens([*contents, *contents_of(raw)]) > self.config.compaction_trigger_tokens

    def _tokens(self, contents: Sequence[Any]) -> int:
        # Stored events do not change, so that only those are read that were not read before.
        return self.counter.count_messages(contents, FORMAT, append_only=True) if contents else 0

    def _recalled(
        self, session_id: str, events: Sequence[Event], existing: SessionSummary | None
    ) -> tuple[Earlier | None, list[Event], int]:
        """The summary so far, the events behind it, and how many are in front."""
        earlier, raw = last_summary(events)
        known = self._known(session_id)
        ids = [event.id for event in raw]
        if known is not None and known.last in ids:
            return known.earlier, raw[ids.index(known.last) + 1 :], known.turn
        if existing is not None and existing.summary_text and earlier is None:
            turn = min(max(existing.last_compaction_turn, 0), len(raw))
            start = raw[0].timestamp if raw else 0.0
            seen = Earlier(start, start, existing.summary_text)
            writer = self._summarizer.writer
            made, _ = run(writer.earlier(seen, raw[:turn], existing.summary_text))
            return made, raw[turn:], turn
        return earlier, raw, 0

    def _remember(self, session_id: str, earlier: Earlier, last: str, turn: int) -> None:
        with self._lock:
            before = self._sessions.pop(session_id, None)
            count = before.compactions if before else 0
            self._sessions[session_id] = _Known(earlier, last, turn, count + 1, time.time())
            while len(self._sessions) > _SESSIONS:
                self._sessions.popitem(last=False)

    def _known(self, session_id: str) -> _Known | None:
        with self._lock:
            return self._sessions.get(session_id)


@cache
def get_context_compactor(config: CompactionConfig | None = None) -> ContextCompactor:
    """The compactor of this process for a configuration; each session has its own memory in it."""
    if config is None:
        return get_context_compactor(CompactionConfig())
    return ContextCompactor(config)


def _summary_of(earlier: Earlier | None, turn: int) -> SessionSummary:
    if earlier is None:
        return SessionSummary()
    return SessionSummary(
        summary_text=earlier.text,
        key_findings=findings_in(earlier.text),
        tools_used=tools_in(earlier.text),
        last_compaction_turn=turn,
    )
