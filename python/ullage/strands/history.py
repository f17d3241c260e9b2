"""The rules of providers for a history: valid messages, durable ids, pins, and cuts."""

from __future__ import annotations

from operator import is_
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.types.content import Message

from ullage import ContextManager, Conversation, MessageError, Policy, TokenCounter, repair
from ullage._engine.logger import Logger
from ullage._engine.pins import has_pin
from ullage.strands.agents import PerAgent
from ullage.strands.snapshot import TrackedView, is_same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage import Repaired

logger = Logger(__name__)

# Strands requires a durable id of every message since 1.62.
_HAS_IDS = "tracking_id" in Message.__annotations__

# Its window is never full, so its views repair and never compact.
_REPAIRS = ContextManager(
    Policy(window=1 << 40), counter=TokenCounter.preset("cyber-autoagent"), format="bedrock"
)
_VIEWS: PerAgent[TrackedView] = PerAgent(lambda _: TrackedView(_REPAIRS))


def identify(messages: list[Any], known: Iterable[Any]) -> None:
    """Gives a durable id to each new message without one. ``known`` messages stay as they are.

    Strands does so for every message that it appends. Messages of others are not changed.
    """
    if not _HAS_IDS:
        return
    others = set(map(id, known))
    for message in messages:
        if id(message) not in others and not message.get("tracking_id"):
            message["tracking_id"] = str(uuid4())


def map_items(function: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """Returns the values of a function as a list, or the same list if it changes no item."""
    values = [*map(function, items)]
    return items if all(map(is_, values, items)) else values


def with_pin(message: Any) -> Any:
    """Returns the message if it has a pin, otherwise a copy with one."""
    if has_pin(message):
        return message
    metadata = message.get("metadata") or {}
    custom = {**(metadata.get("custom") or {}), "pinned": True}
    return {**message, "metadata": {**metadata, "custom": custom}}


def repair_request(agent: Any, messages: list[Any]) -> None:
    """Repairs in place what a provider would reject in the messages of a request.

    Costs a comparison of the messages of the last request, and O(new messages). If an earlier
    message has changed, O(messages).
    """
    try:
        valid = _VIEWS.of(agent).view_of(messages).messages(messages)
        if not is_same(valid, messages):
            messages[:] = _repair(messages)
    except (AttributeError, LookupError, TypeError, MessageError) as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)


def repair_history(messages: list[Any]) -> list[Any]:
    """Returns the repaired messages. Calls that may still be answered stay as they are."""
    try:
        waiting = [call.message for call in Conversation(messages, "bedrock").calls if call.waits]
        end = min(waiting, default=len(messages))
        return [*_repair(messages[:end]), *messages[end:]]
    except MessageError as error:
        logger.debug("error=<%s> | the history cannot be read, and was left as it is", error)
        return messages


def _repair(messages: list[Any]) -> Repaired:
    """Returns the repaired messages, gives them ids and logs which rules were broken.

    Raises:
        MessageError: If a message cannot be read.
    """
    whole = repair(messages, "bedrock")
    identify(whole, messages)
    if whole.repairs:
        rules = ", ".join(sorted({done.rule for done in whole.repairs}))
        logger.info(
            "repairs=<%d>, rules=<%s> | the history was repaired", len(whole.repairs), rules
        )
    return whole


class History:
    """The requests, calls and pins of some messages, read once, and where they may be cut.

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
        """Returns the messages that must stay: those with a pin, ``more``, and their partners."""
        fixed = {*self._pins, *more}
        found = set(fixed)
        for call in self._calls:
            pair = {call.message} if call.result is None else {call.message, call.result.message}
            if pair & fixed:
                found |= pair
        return found

    def unanswered_request(self) -> range:
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

        Returns None if there is no place, or nothing before it can be removed.
        """
        role: str | None = None
        for index in range(len(self._roles)):
            if index >= start and self._follows(index, role):
                return self._stay(index, pinned)
            if index in pinned:
                role = self._roles[index]
        steps = [index for index in range(start, len(self._roles)) if self._is_step(index)]
        if not steps:
            return None
        request = self._request_before(steps[0])
        if request is None or request in pinned:
            return self._stay(steps[0], pinned)
        # The request takes the place of one message more.
        index = next((index for index in steps if index > start), steps[0])
        return self._stay(index, pinned | {request})

    def summary_end(self, count: int, pinned: set[int], most: int) -> int:
        """Returns how many messages to summarize, so that roles alternate after it.

        It is ``count``, at most one more or less, and below ``most``; ``pinned`` messages stay
        before the summary.
        """
        last = max((index for index in pinned if index < count), default=None)
        follows = "assistant" if last is None or self._roles[last] == "assistant" else "user"
        most = min(most, len(self._roles) - 1)
        for end in (count, count + 1, count - 1):
            if 1 < end <= most and end - 1 not in pinned and self._roles[end] == follows:
                return end
        return count

    def _stay(self, cut: int, staying: set[int]) -> list[int] | None:
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


def limit_count(messages: list[Any], policy: Policy, pins: Iterable[int] = ()) -> None:
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
