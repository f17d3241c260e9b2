"""``EventsSummarizer``: the summarizer of an ADK app's ``EventsCompactionConfig``."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.genai import types

from ullage._core import TokenCounter
from ullage.adk.events import abandoned, closed, is_request, seen, waiting
from ullage.adk.summary_text import SummarySettings, SummaryText
from ullage.compression import compress
from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage.summarizer import Summarizer

logger = Logger(__name__)

# What a compacted content begins with, and what stands before the request in it.
HEADER = "[Summary of earlier events in this session. They happened; do not repeat them.]"
REQUEST = "[The user's latest request among them, word for word:]"
WAITING = "[Still going on; an answer will come:]"

# Of a longer request the whole is not carried along: a log that was pasted, not what is wanted.
_LONGEST_REQUEST = 32_000
_REQUEST_TOKENS = 8_000

# Characters of what a tool that goes on has said.
_WAITING_LINE = 300

# Compactions that are remembered, to go on from where they overlap with the next.
_REMEMBERED = 256


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


class EventsSummarizer(BaseEventsSummarizer):
    """Makes the events that stand for others in an ADK session.

    What it makes is the user's content: a summary of at most ``settings.tokens`` tokens, which goes
    on from the last one rather than beside it; the latest request among the events, word for word,
    since ADK compacts the one that is being worked on too; and what long-running tools said that
    are not done. Calls without an answer, and events behind them, are left as they are.

    Args:
        summarizer: A function, plain or async, that takes a ``SummaryRequest`` and returns text.
            Without one, or where it fails or takes too long, it is told without a model.
        settings: How summaries are made.
        counter: What counts; an estimate for Gemini if not given.
    """

    def __init__(
        self,
        summarizer: Summarizer | None = None,
        *,
        settings: SummarySettings | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self.settings = settings or SummarySettings()
        self.counter = counter or TokenCounter.for_model("gemini-2.5-flash")
        self.words = SummaryText(summarizer, self.settings, self.counter)
        self._made: OrderedDict[str, Earlier] = OrderedDict()

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
        if told.reason and not told.by_model:
            logger.debug("reason=<%s> | told without a model", told.reason)
        return self._event(earlier, new, told.text)

    def summarize(self, events: Sequence[Event]) -> Event | None:
        """:meth:`maybe_summarize_events` without an event loop."""
        chosen = self._chosen(events)
        if chosen is None:
            return None
        earlier, new = chosen
        return self._event(earlier, new, self.words.tell(new, earlier.text if earlier else "").text)

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
        # Where windows overlap, the first events are those that the last summary ends with.
        known = [place for place, event in enumerate(new) if event.id in self._made]
        if earlier is None and known:
            rest = _closed(new[known[-1] + 1 :])
            if rest:
                return self._made[new[known[-1]].id], rest
            # The last summary got lost, as where another process was faster: again.
        new = _closed(new)
        return (earlier, new) if new else None

    def _event(self, earlier: Earlier | None, new: list[Event], text: str) -> Event | None:
        made = made_of(earlier, new, text)
        # Not the latest time among them: ADK takes away whatever lies between the two times, also
        # what stands behind these events.
        end = new[-1].timestamp
        content = written(made)
        if end < made.start or _size(content) >= _size_of(new) + (
            _size(written(earlier)) if earlier else 0
        ):
            logger.debug("events=<%d> | a summary would be no shorter", len(new))
            return None
        self._made[new[-1].id] = made
        while len(self._made) > _REMEMBERED:
            self._made.popitem(last=False)
        compaction = EventCompaction(
            start_timestamp=made.start, end_timestamp=end, compacted_content=content
        )
        return Event(
            author="user",
            invocation_id=Event.new_id(),
            actions=EventActions(compaction=compaction),
        )


def _closed(events: list[Event]) -> list[Event]:
    """The events that a model has seen, up to the last place where no call is open."""
    return events[: closed(events[: seen(events)], frozenset(abandoned(events)))[-1]]


def made_of(earlier: Earlier | None, new: Sequence[Event], text: str) -> Earlier:
    """What stands for the events and for those before, with a text about both."""
    request = _request_of(new) or (earlier.request if earlier else ())
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


def _request_of(events: Sequence[Event]) -> tuple[Any, ...]:
    """The parts of the latest request, shorter where it is very long."""
    for event in reversed(events):
        if is_request(event):
            parts = event.content.parts if event.content else None
            return tuple(_bounded(part) for part in parts or [] if not part.thought)
    return ()


def _bounded(part: types.Part) -> types.Part:
    if not part.text or len(part.text) <= _LONGEST_REQUEST:
        return part
    return part.model_copy(update={"text": compress(part.text, _REQUEST_TOKENS).text})


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


def _size(content: types.Content) -> int:
    return len(content.model_dump_json(exclude_none=True, fallback=str))


def _size_of(events: Sequence[Event]) -> int:
    return sum(_size(event.content) for event in events if event.content is not None)
