"""Summaries of messages that the host chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ullage._engine.steps import aside
from ullage._engine.summarizer import SummaryAnswer, SummaryRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._core import Engine
    from ullage._engine.steps import Steps
    from ullage._engine.stopwatch import Stopwatch
    from ullage._engine.summarizer import SummaryCaller

_NOTHING = SummaryAnswer(None, "there was nothing to summarize")
# Precedes the lines in the text of a summary.
LINES = "Lines from these messages that the summary leaves out:"


@dataclass(frozen=True)
class Summary:
    """A summary of some messages. ``str(summary)`` is its text, followed by its lines.

    Attributes:
        text: The summary.
        lines: Useful lines of the messages that the text leaves out; empty if there are none.
        messages: The indices of the summarized messages in the list. System messages and pinned
            ones, with the calls and results that belong to them, are not summarized.
        by: "summarizer", or "engine" if it was written without a model.
        warnings: Problems, such as the error of the summarizer.
    """

    text: str
    lines: str = ""
    messages: list[range] = field(default_factory=list)
    by: Literal["summarizer", "engine"] = "summarizer"
    warnings: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.text}\n\n{LINES}\n{self.lines}" if self.lines else self.text

    def left_out(self, places: range) -> list[int]:
        """Returns the indices of ``places`` that it does not summarize. O(places)."""
        summarized = {place for span in self.messages for place in span}
        return [place for place in places if place not in summarized]

    @classmethod
    def _of(cls, values: dict[str, Any]) -> Summary:
        spans = [range(span["start"], span["end"]) for span in values.pop("messages")]
        return cls(messages=spans, **values)


@dataclass(frozen=True)
class RangeRequest:
    """The messages to summarize, and the summary before them.

    Attributes:
        messages: The conversation, as it was when the summary was asked for.
        places: The chosen messages.
        pins: Places of further messages that must stay.
        previous: The summary that the new one continues.
    """

    messages: list[Any]
    places: range
    pins: Sequence[int]
    previous: Summary | str | None

    def arguments(self) -> dict[str, Any]:
        """The arguments that both calls into the core share."""
        previous = self.previous
        if not isinstance(previous, Summary):
            previous = Summary(previous or "")
        return {
            "messages": self.messages,
            "start": self.places.start,
            "end": self.places.stop,
            "pins": list(self.pins),
            "previous": previous.text,
            "previous_lines": previous.lines,
        }


class RangeSummarizer:
    """Summarizes a range of a conversation, by the host's summarizer or without a model.

    Args:
        engine: Writes the request, bounds the answer and adds the lines that it leaves out.
        caller: Calls the summarizer.
        stopwatch: Measures everything but the summarizer.
    """

    def __init__(self, engine: Engine, caller: SummaryCaller, stopwatch: Stopwatch) -> None:
        self._engine = engine
        self._caller = caller
        self._stopwatch = stopwatch

    def summary(self, asked: RangeRequest) -> Steps[Summary]:
        """Returns the summary, after waiting for the summarizer."""
        request = yield from aside(self._request, asked)
        answer = _NOTHING if request is None else (yield from self._caller.call(request))
        return (yield from aside(self._summary, asked, answer))

    def _request(self, asked: RangeRequest) -> SummaryRequest | None:
        with self._stopwatch.running():
            values = self._engine.range_request(**asked.arguments())
        request = SummaryRequest._of(values, asked.messages)  # noqa: SLF001
        return request if request.messages or request.previous else None

    def _summary(self, asked: RangeRequest, answer: SummaryAnswer) -> Summary:
        with self._stopwatch.running():
            values = self._engine.range_summary(
                **asked.arguments(), text=answer.text, reason=answer.reason
            )
        return Summary._of(values)  # noqa: SLF001


def request_for(
    messages: Sequence[Any],
    places: range | tuple[int, int] | None,
    pins: Sequence[int],
    previous: Summary | str | None,
) -> RangeRequest:
    """Returns the arguments of :meth:`ContextManager.summarize`, with a copy of the list.

    Raises:
        TypeError: If an argument is of another type.
    """
    held = list(messages)
    if places is None:
        places = range(len(held))
    elif isinstance(places, tuple):
        places = range(*places)
    if getattr(places, "step", None) != 1:
        raise TypeError(f"the range must be (first, end) or a range of step 1; got {places!r}")
    if not isinstance(previous, (Summary, str, type(None))):
        raise TypeError(f"previous must be a Summary or text; got {type(previous).__name__}")
    return RangeRequest(held, places, pins, previous)
