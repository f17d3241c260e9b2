"""``EventsSummarizer``: the summarizer of an ADK app's ``EventsCompactionConfig``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction

from ullage._core import TokenCounter
from ullage._engine.logger import Logger
from ullage.adk.events import abandoned, closed, seen
from ullage.adk.meter import as_fields
from ullage.adk.newest import Newest
from ullage.adk.summary_chain import SummaryChain
from ullage.adk.summary_text import SummarySettings, SummaryText
from ullage.adk.unfolded import unfolded
from ullage.adk.written_summary import Earlier, made_of, read_back, written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai.types import Content

    from ullage.adk.model_summarizer import SummarizerOrModel
    from ullage.adk.summary_text import Told

logger = Logger(__name__)

# Compactions that are remembered, to go on from where they overlap with the next; and sessions that
# were shown before their compaction.
_REMEMBERED = 256


class _Before(NamedTuple):
    """The summary in front of events, and the time up to which it tells of them."""

    earlier: Earlier
    end: float


class EventsSummarizer(BaseEventsSummarizer):
    """Makes the events that stand for others in an ADK session.

    What it makes is the user's content: a summary of at most ``settings.tokens`` tokens, which goes
    on from the last one rather than beside it; the latest request among the events, word for word,
    since ADK compacts the one that is being worked on too; and what long-running tools said that
    are not done. Calls without an answer, and events behind them, are left as they are.

    Where ADK compacts by invocations, it leaves the last summary out of what it gives. Then put
    :meth:`plugin` among the plugins of the app, so that each summary goes on from the last one, by
    any ``overlap_size`` and in any process. Threads may share a summarizer.

    Args:
        summarizer: A model of ADK, the id of one, or a function, plain or async, that takes a
            ``SummaryRequest`` and returns text. If it is not given, fails or takes too long, the
            summary is made without a model.
        settings: How summaries are made.
        counter: What counts; an estimate for Gemini if not given.

    Raises:
        PolicyError: If the summarizer is neither a function nor a model.
    """

    def __init__(
        self,
        summarizer: SummarizerOrModel | None = None,
        *,
        settings: SummarySettings | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self.settings = settings or SummarySettings()
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")
        self.words = SummaryText(summarizer, self.settings, self.counter)
        self._made: Newest[Earlier] = Newest(_REMEMBERED)
        self._before: Newest[_Before] = Newest(_REMEMBERED)

    def plugin(self) -> BasePlugin:
        """What shows this summarizer the sessions that ADK compacts."""
        return SummaryChain(self._note)

    def _note(self, invocation_id: str, events: Sequence[Event]) -> None:
        """Takes note of the summary that stands in front of an invocation."""
        known = unfolded(events)
        if known.earlier is not None:
            self._before.put(invocation_id, _Before(known.earlier, known.end))

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """The event that stands for these, or None where it would be no shorter.

        Args:
            events: Events in their order; the first may be the summary of those before, as ADK
                gives it.
        """
        chosen = self._chosen(events)
        if chosen is None:
            return None
        earlier, new = chosen
        told = await self.words.atell(new, earlier.text if earlier else "")
        if told.reason:
            logger.debug("reason=<%s> | told without a model", told.reason)
        return self._event(earlier, new, told)

    def summarize(self, events: Sequence[Event]) -> Event | None:
        """:meth:`maybe_summarize_events` without an event loop."""
        chosen = self._chosen(events)
        if chosen is None:
            return None
        earlier, new = chosen
        return self._event(earlier, new, self.words.tell(new, earlier.text if earlier else ""))

    def _chosen(self, events: Sequence[Event]) -> tuple[Earlier | None, list[Event]] | None:
        """What is known of older events, and the events to summarize."""
        earlier: Earlier | None = None
        new: list[Event] = []
        for event in events:
            before = read_back(event)
            if before is None:
                new.append(event)
            elif earlier is None or not new:
                earlier = before
        if earlier is None and new:
            known = self._gone_on_from(new)
            if known is not None:
                return known
        new = _closed(new)
        return (earlier, new) if new else None

    def _gone_on_from(self, events: list[Event]) -> tuple[Earlier, list[Event]] | None:
        """The summary that these events go on from, where ADK did not give it, and the new ones."""
        before = self._before.take(events[-1].invocation_id)
        if before is not None:
            rest = _closed([event for event in events if event.timestamp > before.end])
            return (before.earlier, rest) if rest else None
        # Where windows overlap, the first events are those that the last summary ends with.
        made = [(place, self._made.get(event.id)) for place, event in enumerate(events)]
        place, earlier = next(((at, one) for at, one in reversed(made) if one), (0, None))
        rest = _closed(events[place + 1 :]) if earlier is not None else []
        # Without any, the last summary got lost, as where another process was faster: again.
        return (earlier, rest) if earlier is not None and rest else None

    def _event(self, earlier: Earlier | None, new: list[Event], told: Told) -> Event | None:
        made = made_of(earlier, new, told.text, self.words.shorten_request)
        # Not the latest time among them: ADK takes away whatever lies between the two times, also
        # what stands behind these events.
        end = new[-1].timestamp
        content = written(made)
        if end < made.start or _size(content) >= _size_of(new) + (
            _size(written(earlier)) if earlier else 0
        ):
            logger.debug("events=<%d> | a summary would be no shorter", len(new))
            return None
        self._made.put(new[-1].id, made)
        compaction = EventCompaction(
            start_timestamp=made.start, end_timestamp=end, compacted_content=content
        )
        used: dict[str, Any] = {}
        if told.usage is not None:
            model, usage = told.usage
            used = {"model_version": model or None, **as_fields(usage)}
        return Event(
            author="user",
            invocation_id=Event.new_id(),
            actions=EventActions(compaction=compaction),
            **used,
        )


def _closed(events: list[Event]) -> list[Event]:
    """The events that a model has seen, up to the last place where no call is open."""
    return events[: closed(events[: seen(events)], frozenset(abandoned(events)))[-1]]


def _size(content: Content) -> int:
    return len(content.model_dump_json(exclude_none=True, fallback=str))


def _size_of(events: Sequence[Event]) -> int:
    return sum(_size(event.content) for event in events if event.content is not None)
