"""The words of a summary of events: a model's, the core's, or a line for each event."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ullage import _core
from ullage._core import Engine, Policy
from ullage._engine.summarizer import NOBODY, Answer, Asker, SummaryRequest
from ullage.adk.event_lines import event_lines
from ullage.adk.events import content_of, is_private
from ullage.adk.fitting import fitting
from ullage.adk.meter import SummaryUsage, collect_usage, estimate
from ullage.adk.model_summarizer import summarizer_of
from ullage.adk.requests import FORMAT
from ullage.compression import compress
from ullage.telemetry import Telemetry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.adk.events.event import Event
    from google.genai import types

    from ullage._core import TokenCounter
    from ullage.adk.model_summarizer import SummarizerOrModel

# What a summary without a model is told as; the others are the core's.
TOOL_LINES = "tool-lines"


@dataclass(frozen=True)
class SummarySettings:
    """How a summary is made.

    Args:
        prompt: What the model is asked for, see ``Policy.summary_prompt``.
        fallback: What is said where no model answers: "tool-lines", a line for each event, with
            what each tool is asked for; or "sections" or "one-liners", see
            ``Policy.summary_fallback``.
        tokens: The most that a summary takes.
        lines: The most that is added in lines with what a model's summary has lost.
        request: The most that the latest request takes, which stands behind the summary word for
            word. A longer one is shortened: it is a log that was pasted, not what is wanted.
        input: The most that a model is given.
        timeout: Seconds that it has.
    """

    prompt: str = "ullage"
    fallback: str = TOOL_LINES
    tokens: int = 2_000
    lines: int = 500
    request: int = 8_000
    input: int = 60_000
    timeout: float = 60.0

    def within(self, budget: int) -> SummarySettings:
        """The same with a summary and a request that leave half of a budget to newer events."""
        part = budget // 4
        return replace(
            self,
            tokens=min(self.tokens, part),
            lines=min(self.lines, part // 4),
            request=min(self.request, part),
        )


@dataclass(frozen=True)
class Told:
    """A summary.

    Args:
        text: Its words.
        usage: What the model used that wrote it; None where none did.
        reason: Why none did.
    """

    text: str
    usage: SummaryUsage | None = None
    reason: str = ""


class SummaryText:
    """Makes the words of summaries, each with the former one as input.

    Args:
        summarizer: What writes them, or None.
        settings: How.
        counter: What counts.
    """

    def __init__(
        self,
        summarizer: SummarizerOrModel | None,
        settings: SummarySettings,
        counter: TokenCounter,
    ) -> None:
        summarizer = summarizer_of(summarizer)
        policy = Policy(
            summary_timeout=settings.timeout,
            summary_prompt=settings.prompt,
            summary_fallback="sections" if settings.fallback == TOOL_LINES else settings.fallback,
        )
        self._settings = settings
        self._counter = counter
        self._has_summarizer = summarizer is not None
        Engine(policy, counter, store=None, format=FORMAT, summarizer=summarizer)
        self._asker = Asker(summarizer, policy, Telemetry(None))

    def tell(self, events: Sequence[Event], previous: str) -> Told:
        """The summary of the events and of what was said of older ones."""
        request = self._request(contents_of(events), previous)
        with collect_usage() as found:
            answer = Answer(None, NOBODY) if request is None else self._asker.ask(request)
        return self._told(events, previous, answer, request, found)

    async def atell(self, events: Sequence[Event], previous: str) -> Told:
        """The same beside the event loop."""
        request = self._request(contents_of(events), previous)
        with collect_usage() as found:
            answer = Answer(None, NOBODY) if request is None else await self._asker.aask(request)
        return self._told(events, previous, answer, request, found)

    def shorten_request(self, text: str) -> str:
        """The text of a request, shorter where it takes more than the settings allow."""
        if self._counter.count(text) <= self._settings.request:
            return text
        return compress(text, self._settings.request, counter=self._counter).text

    def _request(self, contents: list[types.Content], previous: str) -> SummaryRequest | None:
        if not self._has_summarizer:
            return None
        values = _core.summary_request(
            contents,
            self._counter,
            format=FORMAT,
            previous=previous,
            prompt=self._settings.prompt,
            max_tokens=self._settings.tokens,
            input=self._settings.input,
        )
        values["messages"] = contents
        return SummaryRequest(**values)

    def _told(
        self,
        events: Sequence[Event],
        previous: str,
        answer: Answer,
        request: SummaryRequest | None,
        found: list[SummaryUsage],
    ) -> Told:
        contents = contents_of(events)
        if answer.text is None:
            return Told(self._without_model(events, contents, previous), reason=answer.reason)
        text = _core.audited_summary(
            contents,
            self._counter,
            format=FORMAT,
            previous=previous,
            summary=answer.text,
            max_tokens=self._settings.tokens,
            lines=self._settings.lines,
        )
        if not found:
            asked, said = self._counter.count(str(request)), self._counter.count(answer.text)
            found.append(SummaryUsage("", estimate(asked, said)))
        return Told(text, found[-1])

    def _without_model(
        self, events: Sequence[Event], contents: list[types.Content], previous: str
    ) -> str:
        if self._settings.fallback != TOOL_LINES:
            return _core.summary_without_model(
                contents,
                self._counter,
                format=FORMAT,
                previous=previous,
                fallback=self._settings.fallback,
                max_tokens=self._settings.tokens,
            )
        lines = [line for line in previous.splitlines() if line.strip()]
        lines += [line for event in events for line in event_lines(event)]
        return fitting(lines, self._settings.tokens, self._counter)


def contents_of(events: Sequence[Event]) -> list[Any]:
    """What a model may read of the events: no credentials, and nothing that is empty."""
    contents = (None if is_private(event) else content_of(event) for event in events)
    return [content for content in contents if content is not None]
