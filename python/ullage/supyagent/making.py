"""Making a summary of the older messages of a history."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import ullage
from ullage.steps import Step
from ullage.supyagent.client import summarizer_of
from ullage.supyagent.history import summary_end, with_other_system_messages
from ullage.supyagent.identity import fingerprint
from ullage.supyagent.summary import ContextSummary
from ullage.supyagent.tokens import FORMAT

if TYPE_CHECKING:
    from ullage.steps import Steps

# The part of a window that the request for a summary may take.
_REQUEST_SHARE = 0.8
# Tokens of that request beside the messages: what to make of them, in five sections.
_REQUEST_FRAME = 600
# What a system message in the middle begins with there, which is shown as one of the user.
_SYSTEM = "[system message]\n"


# The words that Supyagent asks for, which the lines after the summary are a part of.
_MOST_WORDS = 600


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
        end = summary_end(messages, begin, last, recent)
        return cls(messages, previous, begin, end) if end > begin else None

    def shown(self) -> list[Any]:
        """The messages as the engine is shown them."""
        return with_other_system_messages(self.messages, "user", _SYSTEM)

    def before(self) -> ullage.Summary | None:
        """The summary that the new one continues."""
        said = self.previous
        return None if said is None else ullage.Summary(said.content, said.lines)

    def summary(
        self, made: ullage.Summary, counter: ullage.TokenCounter, most_words: float
    ) -> ContextSummary:
        """The summary as Supyagent keeps it, in at most so many words with its lines."""
        before = [] if self.previous is None else self.previous.kept
        summary = ContextSummary(
            content=made.text,
            messages_summarized=self.end,
            first_message_idx=0,
            last_message_idx=self.end - 1,
            lines=made.lines,
            kept=[*before, *made.left_out(range(self.begin, self.end))],
            seen=len(self.messages),
            fingerprint=fingerprint(self.messages[: self.end]),
        )
        while summary.lines and len(summary.text().split()) > most_words:
            summary.lines = summary.lines.rpartition("\n")[0]
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
        # Another prompt asks for as many words as `summary_tokens` allows.
        self._most_words = _MOST_WORDS if policy.summary_prompt == "supyagent" else math.inf
        policy = policy.replace(summaries="required")
        self._engine = ullage.ContextManager(
            policy, counter=counter, summarizer=summarizer_of(llm), format=FORMAT
        )

    def make(self, going: Going) -> Steps[ContextSummary]:
        """The summary. An event loop awaits an async client.

        Raises:
            SummaryError: If the client gave none.
        """
        shown, places, previous = going.shown(), (going.begin, going.end), going.before()
        made = yield Step(
            partial(self._engine.summarize, shown, places, previous=previous),
            partial(self._engine.asummarize, shown, places, previous=previous),
        )
        return going.summary(made, self._counter, self._most_words)
