"""Places where a history may be cut so that calls keep their results and roles alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import Conversation
from ullage.strands.history import repair_history

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import Policy


class History:
    """The requests, calls and pins of some messages, read once, and where they may be cut.

    Attributes:
        requests: The messages in which the user asks something.

    Raises:
        MessageError: If the messages cannot be read.
    """

    def __init__(self, messages: list[Any]) -> None:
        conversation = Conversation(messages, "bedrock")
        self.requests = conversation.requests
        self._pins = conversation.pins
        self._roles = conversation.roles
        self._calls = conversation.calls
        self._callers = {call.message for call in self._calls}

    def pinned(self, more: Iterable[int] = ()) -> set[int]:
        """Returns the messages that must stay: those with a pin, ``more``, and their partners.

        A call whose results are pinned stays, and so do the results of a pinned call.
        """
        fixed = {*self._pins, *more}
        found = set(fixed)
        for call in self._calls:
            pair = {call.message} if call.result is None else {call.message, call.result.message}
            if pair & fixed:
                found |= pair
        return found

    def waiting(self) -> range:
        """Returns the places of the last request and of all after it, if it has no answer yet."""
        count = len(self._roles)
        if not count or self._roles[-1] == "assistant":
            return range(0)
        request = self._request_before(count)
        return range(count if request is None else request, count)

    def cut_from(self, start: int, pinned: set[int]) -> list[int] | None:
        """Returns the messages that stay if the history is cut at the first place from ``start``.

        The first message after the cut is a request of the user, or an answer if the last pinned
        message before it is the user's. If there is neither, the cut is between two steps of a tool
        loop, and the request that the loop works on stays.

        Returns:
            Their indices; None if there is no place, or nothing before it can be removed.
        """
        role: str | None = None
        for index in range(len(self._roles)):
            if index >= start and self._follows(index, role):
                return self._kept(index, pinned)
            if index in pinned:
                role = self._roles[index]
        steps = [index for index in range(start, len(self._roles)) if self._is_step(index)]
        if not steps:
            return None
        request = self._request_before(steps[0])
        if request is None or request in pinned:
            return self._kept(steps[0], pinned)
        # The request takes the place of one message more.
        index = next((index for index in steps if index > start), steps[0])
        return self._kept(index, pinned | {request})

    def summary_end(self, count: int, pinned: set[int], most: int) -> int:
        """Returns how many messages to summarize, so that roles alternate after it.

        Args:
            count: The number that was asked for; the result may be one more or less.
            pinned: Indices of the messages that stay before the summary.
            most: The most messages that may be summarized.
        """
        last = max((index for index in pinned if index < count), default=None)
        after = "user" if last is None or self._roles[last] == "assistant" else "assistant"
        follows = "assistant" if after == "user" else "user"
        candidates = (count, count + 1, count - 1)
        most = min(most, len(self._roles) - 1)
        allowed = (n for n in candidates if 1 < n <= most and n - 1 not in pinned)
        return next((n for n in allowed if self._roles[n] == follows), count)

    def _kept(self, cut: int, staying: set[int]) -> list[int] | None:
        kept = sorted(index for index in staying if index < cut)
        return [*kept, *range(cut, len(self._roles))] if len(kept) < cut else None

    def _follows(self, index: int, role: str | None) -> bool:
        """Returns True if this message may come after one of that role."""
        if role is None or role == "assistant":
            return self._roles[index] == "user"
        answers = self._roles[index] == "assistant" and index not in self._callers
        return answers or self._is_step(index)

    def _is_step(self, index: int) -> bool:
        """Returns True if this message has a call, and the next one its results."""
        return index in self._callers and self._roles[index + 1 : index + 2] == ["tool"]

    def _request_before(self, index: int) -> int | None:
        return max((request for request in self.requests if request < index), default=None)


def hold_count(messages: list[Any], policy: Policy, pins: Iterable[int] = ()) -> None:
    """Removes the oldest messages without a note if there are more than the policy allows.

    The engine removes messages only if its note about them is shorter. Pinned messages, the zones
    of the policy, the first request and the last one stay here too.
    """
    most, count = policy.max_messages, len(messages)
    if most is None or count <= most:
        return
    history = History(messages)
    requests = history.requests
    zones = {*range(policy.keep_first), *range(count - policy.keep_recent, count), *pins}
    zones.update(requests[:1], requests[-1:])
    if requests and messages[requests[-1] - 1]["role"] == "assistant":
        # Without an answer between them the two requests would become one, which grows.
        zones.add(requests[-1] - 1)
    staying = history.pinned(zones.intersection(range(count)))
    leaving = [index for index in range(count - 1) if index not in staying]
    room = max(1, int(most * policy.low_messages))
    cuts = (history.cut_from(i + 1, staying) for i in reversed(leaving[: count - room]))
    if (kept := next(filter(None, cuts), None)) is not None:
        messages[:] = repair_history([messages[index] for index in kept])
