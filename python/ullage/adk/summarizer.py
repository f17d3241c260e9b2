"""``EventsSummarizer``: the summarizer of an ADK app's ``EventsCompactionConfig``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.plugins.base_plugin import BasePlugin

from ullage._core import Policy, TokenCounter
from ullage._engine.logger import Logger
from ullage._engine.lru_cache import LruCache
from ullage._engine.steps import Step, arun, run
from ullage.adk.event_lines import event_lines, fit_lines
from ullage.adk.events import (
    abandoned_calls,
    contents_of,
    cut_points,
    is_request,
    seen_count,
)
from ullage.adk.meter import SummaryUsage, as_fields, collect_usage, estimate
from ullage.adk.model_summarizer import summarizer_of
from ullage.adk.prior_summary import PriorSummary, last_summary, waiting_lines
from ullage.adk.requests import FORMAT
from ullage.compression import compress
from ullage.manager import ContextManager

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from google.adk.agents.invocation_context import InvocationContext
    from google.genai import types

    from ullage._engine.steps import Steps
    from ullage.adk.model_summarizer import SummarizerOrModel

logger = Logger(__name__)

# Compactions that are remembered, so that an overlapping one continues them; and sessions that were
# shown before their compaction.
_REMEMBERED = 256


@dataclass(frozen=True)
class SummarySettings:
    """The settings of a summary.

    Args:
        prompt: The form of the summary, see ``Policy.summary_prompt``.
        fallback: The summary if no model answers: "tool-lines", a line for each event; or
            "sections" or "one-liners", see ``Policy.summary_fallback``.
        tokens: The most tokens of a summary.
        lines: The most tokens of lines that are added because the model's summary lacks them.
        request: The most tokens of the latest request, which follows the summary word for word. A
            longer one is shortened, because it is probably a pasted log.
        input: The most tokens that a model reads.
        timeout: Seconds that the model has.
    """

    prompt: Literal["ullage", "cyber-autoagent", "supyagent", "valis"] = "ullage"
    fallback: Literal["tool-lines", "sections", "one-liners"] = "tool-lines"
    tokens: int = 2_000
    lines: int = 500
    request: int = 8_000
    input: int = 60_000
    timeout: float = 60.0

    def within(self, budget: int) -> SummarySettings:
        """Returns settings whose summary and request leave half of a budget to newer events."""
        part = budget // 4
        return replace(
            self,
            tokens=min(self.tokens, part),
            lines=min(self.lines, part // 4),
            request=min(self.request, part),
        )


class EventsSummarizer(BaseEventsSummarizer):
    """Makes the summary events of an ADK session.

    A summary event is the user's content. It has a summary of at most ``settings.tokens`` tokens,
    which continues the last one; the latest request among the events, word for word, because ADK
    also compacts the current one; and the results of unfinished long-running tools. Open calls, and
    events after them, do not change.

    If ADK compacts by invocations, it does not pass on the last summary. Then add :meth:`plugin` to
    the plugins of the app, so that each summary continues the last one, with any ``overlap_size``
    and in any process. Threads may share a summarizer.

    Args:
        summarizer: A model of ADK, the id of one, or a function, plain or async, that takes a
            ``SummaryRequest`` and returns text. If it is not given, fails or takes too long, the
            summary is made without a model.
        settings: The settings of summaries.
        counter: Counts tokens; an estimate for Gemini if not given.

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
        self.settings = settings = settings or SummarySettings()
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")
        summarizer = summarizer_of(summarizer)
        policy = Policy(
            summary_timeout=settings.timeout,
            summary_prompt=settings.prompt,
            summary_fallback="sections" if settings.fallback == "tool-lines" else settings.fallback,
            summary_tokens=settings.tokens,
            summary_lines=settings.lines,
            summary_input=settings.input,
        )
        self._by_lines = settings.fallback == "tool-lines"
        self._is_alone = self._by_lines and summarizer is None
        self._engine = ContextManager(
            policy, counter=self.counter, format=FORMAT, summarizer=summarizer
        )
        self._made: LruCache[PriorSummary] = LruCache(_REMEMBERED)
        self._before: LruCache[PriorSummary] = LruCache(_REMEMBERED)

    def plugin(self) -> BasePlugin:
        """Returns a plugin that shows this summarizer the sessions before ADK compacts them."""
        return SummaryChain(self._note)

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Returns the event that replaces these, or None if it would not be shorter.

        Args:
            events: Events in their order. The first may be ADK's event of the summary before.
        """
        return await arun(self._event(events))

    def summarize(self, events: Sequence[Event]) -> Event | None:
        """:meth:`maybe_summarize_events` without an event loop."""
        return run(self._event(events))

    def _write(
        self, earlier: PriorSummary | None, new: Sequence[Event], text: str | None = None
    ) -> Steps[tuple[PriorSummary, SummaryUsage | None]]:
        """Returns a summary of all events so far, and the usage of its model.

        Args:
            earlier: The summary of the events before.
            new: The new events.
            text: The text of the summary, if it exists already.
        """
        used = None
        if text is None:
            text, used = yield from self._text(earlier.text if earlier else "", new)
        request = self._request(new) or (earlier.request if earlier else ())
        times = [event.timestamp for event in new[:1]] + ([earlier.start] if earlier else [])
        # Not the latest time among them, because ADK removes all events between the two times, also
        # those after these events.
        end = new[-1].timestamp if new else earlier.end if earlier else 0.0
        waiting = waiting_lines(earlier, new)
        return PriorSummary(min(times, default=0.0), end, text, request, waiting), used

    def _note(self, invocation_id: str, events: Sequence[Event]) -> None:
        """Remembers the summary before an invocation."""
        earlier, _ = last_summary(events)
        if earlier is not None:
            self._before.put(invocation_id, earlier)

    def _event(self, events: Sequence[Event]) -> Steps[Event | None]:
        earlier, new = self._chosen(events)
        if not new:
            return None
        made, usage = yield from self._write(earlier, new)
        content = made.content()
        before = _size([earlier.content()] if earlier else []) + _size(e.content for e in new)
        if made.end < made.start or _size([content]) >= before:
            logger.debug("events=<%d> | a summary would not be shorter", len(new))
            return None
        self._made.put(new[-1].id, made)
        compaction = EventCompaction(
            start_timestamp=made.start, end_timestamp=made.end, compacted_content=content
        )
        used: dict[str, Any] = {}
        if usage is not None:
            used = {"model_version": usage.model or None, **as_fields(usage.usage)}
        return Event(
            author="user",
            invocation_id=Event.new_id(),
            actions=EventActions(compaction=compaction),
            **used,
        )

    def _chosen(self, events: Sequence[Event]) -> tuple[PriorSummary | None, list[Event]]:
        """Returns the summary of older events, and the events to summarize."""
        earlier: PriorSummary | None = None
        new: list[Event] = []
        for event in events:
            before = PriorSummary.read(event)
            if before is None:
                new.append(event)
            elif earlier is None or not new:
                earlier = before
        if earlier is not None or not new:
            return earlier, _finished_events(new)
        # The summary that these continue, if ADK did not pass it.
        before = self._before.take(new[-1].invocation_id)
        rest = _finished_events([e for e in new if e.timestamp > before.end]) if before else []
        if rest:
            return before, rest
        # If windows overlap, the first events are the last ones of the previous summary.
        for place in range(len(new) - 1, -1, -1):
            known = self._made.get(new[place].id)
            if known is not None:
                rest = _finished_events(new[place + 1 :])
                # If there are none, the last summary was lost, for example to a faster process.
                return (known, rest) if rest else (None, _finished_events(new))
        return None, _finished_events(new)

    def _text(
        self, previous: str, events: Sequence[Event]
    ) -> Steps[tuple[str, SummaryUsage | None]]:
        if self._is_alone:
            return self._lines(previous, events), None
        contents, engine = contents_of(events), self._engine
        with collect_usage() as found:
            summary = yield Step(
                partial(engine.summarize, contents, previous=previous),
                partial(engine.asummarize, contents, previous=previous),
            )
        if summary.by == "engine":
            logger.debug(
                "reason=<%s> | the summary was written without a model", "; ".join(summary.warnings)
            )
            return (self._lines(previous, events) if self._by_lines else summary.text), None
        if not found:
            asked = self.counter.count(previous) + self.counter.count_messages(contents, FORMAT)
            written = self.counter.count(summary.text)
            found.append(SummaryUsage("", estimate(min(asked, self.settings.input), written)))
        return str(summary), found[-1]

    def _lines(self, previous: str, events: Sequence[Event]) -> str:
        lines = [line for line in previous.splitlines() if line.strip()]
        lines += [line for event in events for line in event_lines(event)]
        return fit_lines(lines, self.settings.tokens, self.counter)

    def _request(self, events: Sequence[Event]) -> tuple[Any, ...]:
        """Returns the parts of the latest request, shortened if it is very long."""
        for event in reversed(events):
            if is_request(event):
                parts = (event.content.parts if event.content else None) or []
                return tuple(self._bound(part) for part in parts if not part.thought)
        return ()

    def _bound(self, part: types.Part) -> types.Part:
        most = self.settings.request
        if not part.text or self.counter.count(part.text) <= most:
            return part
        text = compress(part.text, most, counter=self.counter).text
        return part.model_copy(update={"text": text})


class SummaryChain(BasePlugin):
    """Shows a summarizer each session before ADK compacts it.

    ADK gives a summarizer only events, without the session and without earlier summaries.

    Args:
        note: Takes the id of an invocation and the events of its session.
        name: The name of the plugin, unique in an app.
    """

    def __init__(
        self, note: Callable[[str, Sequence[Event]], None], name: str = "ullage_summary_chain"
    ) -> None:
        super().__init__(name=name)
        self._note = note

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Shows the session, which ADK compacts next. Never raises."""
        try:
            self._note(invocation_context.invocation_id, invocation_context.session.events)
        except Exception:
            logger.exception("the last summary was not found, so a new one starts")


def _finished_events(events: list[Event]) -> list[Event]:
    """Returns the events that a model has seen, up to the last place without an open call."""
    return events[
        : cut_points(events[: seen_count(events)], frozenset(abandoned_calls(events)))[-1]
    ]


def _size(contents: Any) -> int:
    return sum(
        len(content.model_dump_json(exclude_none=True, fallback=str))
        for content in contents
        if content is not None
    )
