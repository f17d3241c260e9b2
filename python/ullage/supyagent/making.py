"""Making a summary of the older messages of a history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ullage
from ullage import asking
from ullage.supyagent.client import summarizer_of
from ullage.supyagent.history import as_others, beginning, summarizable
from ullage.supyagent.identity import fingerprint
from ullage.supyagent.summary import ContextSummary
from ullage.supyagent.tokens import FORMAT

# The part of a window that the request for a summary may take.
_REQUEST_SHARE = 0.8
# Tokens of that request beside the messages: what to make of them, in five sections.
_REQUEST_FRAME = 600
# The engine never removes the last request; that of the conversation may be among those that go.
_LAST = {"role": "user", "content": "Go on."}
# What a system message in the middle begins with there, which is shown as one of the user.
_SYSTEM = "[system message]\n"


@dataclass(frozen=True)
class Going:
    """Messages that a summary is to stand for.

    Attributes:
        messages: The whole conversation.
        previous: The summary that it goes on from.
        begin: The first message that is new to it.
        end: Behind the last.
    """

    messages: list[Any]
    previous: ContextSummary | None
    begin: int
    end: int

    @classmethod
    def of(
        cls, messages: list[Any], previous: ContextSummary | None, last: int, recent: int
    ) -> Going | None:
        """What goes up to the message ``last``, but not of the ``recent``; None if nothing does."""
        begin = 0 if previous is None else previous.last_message_idx + 1
        end = summarizable(messages, begin, last, recent)
        return cls(messages, previous, begin, end) if end > begin else None

    def shown(self) -> list[Any]:
        """The messages as the engine is shown them."""
        others = as_others(self.messages, beginning(self.messages), "user", _SYSTEM)
        return [others.get(place, message) for place, message in enumerate(self.messages)]

    def asked(self, shown: list[Any]) -> asking.Asked:
        """The same as the engine is asked for it."""
        previous, said = None, self.previous
        if said is not None:
            previous = asking.Previous(said.messages_summarized, said.content, said.lines)
        # A session that was cut elsewhere has calls without results; the engine takes none.
        going = ullage.repair(shown[self.begin : self.end], FORMAT)
        staying = ullage.repair(shown[self.end :], FORMAT)
        return asking.asked(previous, going, [*staying, _LAST])

    def summary(
        self,
        shown: list[Any],
        asked: asking.Asked,
        left: list[Any],
        counter: ullage.TokenCounter,
    ) -> ContextSummary:
        """The summary in what the engine left."""
        content, lines, stayed = asking.answered(left, asked)
        pinned = {id(message) for message in stayed}
        places = range(self.begin, self.end)
        before = [] if self.previous is None else self.previous.kept
        summary = ContextSummary(
            content=content,
            messages_summarized=self.end,
            first_message_idx=0,
            last_message_idx=self.end - 1,
            lines=lines,
            kept=[*before, *(place for place in places if id(shown[place]) in pinned)],
            seen=len(self.messages),
            fingerprint=fingerprint(self.messages[: self.end]),
        )
        summary.token_count = counter.count(summary.text())
        return summary


class SummaryMaker:
    """Asks a client for summaries.

    Args:
        policy: The settings: prompt, size and patience.
        counter: What counts.
        llm: The client.
        context_limit: The most that a request to it may take.
    """

    def __init__(
        self, policy: ullage.Policy, counter: ullage.TokenCounter, llm: Any, context_limit: int
    ) -> None:
        room = int(context_limit * _REQUEST_SHARE) - _REQUEST_FRAME
        policy = policy.replace(summary_input=max(1, min(policy.summary_input, room)))
        self._counter = counter
        self._engine = asking.summarizing_engine(policy, counter, FORMAT, summarizer_of(llm))

    def make(self, going: Going) -> ContextSummary:
        """The summary.

        Raises:
            SummaryError: If the client gave none.
        """
        shown = going.shown()
        asked = going.asked(shown)
        left = self._engine.view(asked.messages, budget=asking.ANY_SIZE, pins=asked.pins)
        return going.summary(shown, asked, left, self._counter)

    async def amake(self, going: Going) -> ContextSummary:
        """The same beside the event loop, where an async client is awaited."""
        shown = going.shown()
        asked = going.asked(shown)
        left = list(asked.messages)
        await self._engine.acompact(left, budget=asking.ANY_SIZE, pins=asked.pins)
        return going.summary(shown, asked, left, self._counter)
