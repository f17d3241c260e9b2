"""``Requests``: what stands where in a request, and how much room there is for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ullage
from ullage.supyagent.history import first_request, last_request
from ullage.supyagent.summary import ContextSummary, message_of
from ullage.supyagent.tokens import FORMAT
from ullage.supyagent.window import Window

if TYPE_CHECKING:
    from ullage import Policy, TokenCounter
    from ullage.listener import OnCompaction

# The part of the room that a summary may take; a longer one is shortened.
_SUMMARY_SHARE = 0.3
# The part of a window that a reserve may take. A reserve of all of it would leave no room at all.
_RESERVE_SHARE = 0.5


class Requests:
    """Makes the messages of requests.

    Args:
        policy: The settings of the window; if not given, ``Policy.preset("supyagent")``.
        counter: What counts.
        on_compaction: Is told of each cut.
    """

    def __init__(
        self, policy: Policy | None, counter: TokenCounter, on_compaction: OnCompaction | None
    ) -> None:
        self.policy = ullage.Policy.preset("supyagent") if policy is None else policy
        self._counter = counter
        self._on_compaction = on_compaction
        self._window: tuple[int, Window] | None = None

    def head(
        self, summary: ContextSummary | None, messages: list[Any], room: int
    ) -> tuple[list[Any], list[Any]]:
        """The summary with what it stands for and stays all the same; and the messages since."""
        if summary is None:
            return [], messages
        end = summary.last_message_idx + 1
        return [self._within(summary, room), *_kept(summary, messages, end)], messages[end:]

    def made(
        self, summary: ContextSummary | None, messages: list[Any], room: int, recent: int
    ) -> list[Any]:
        """The messages behind the system prompt.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        head, since = self.head(summary, messages, room)
        known = self._window
        if known is None or known[0] != recent:
            window = Window(self.policy, self._counter, recent, self._on_compaction)
            known = self._window = (recent, window)
        return known[1].view(head, since, room)

    def _within(self, summary: ContextSummary, room: int) -> dict[str, Any]:
        """The message of a summary, shortened to its part of the room where it is longer."""
        message = summary.to_message()
        most = int(room * _SUMMARY_SHARE)
        if self._counter.count_messages([message], format=FORMAT) <= most:
            return message
        # The lines behind it go first: they are what it left out.
        frame = message_of(summary.messages_summarized, "")
        budget = max(1, most - self._counter.count_messages([frame], format=FORMAT))
        short = ullage.compress(summary.content, budget, counter=self._counter).text
        return message_of(summary.messages_summarized, short)


def reserve_in(window: int, reserve: int) -> int:
    """The tokens of a window that are kept free for the answer: the reserve, or half of it all."""
    return min(reserve, int(window * _RESERVE_SHARE))


def _kept(summary: ContextSummary, messages: list[Any], end: int) -> list[Any]:
    """Messages in front of ``end`` that stay all the same: requests, and those it names."""
    places = {place for place in summary.kept if 0 <= place < end}
    for request in (first_request(messages, end), last_request(messages)):
        if request is not None and request < end:
            places.add(request)
    return [messages[place] for place in sorted(places)]
