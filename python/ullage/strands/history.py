"""Histories that providers take: edits, pins, durable ids, repairs and places to cut."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.types.content import Message

from ullage import ContextManager, Conversation, MessageError, Policy, TokenCounter, repair
from ullage._engine.logger import Logger
from ullage._engine.pins import has_pin
from ullage.strands.agents import PerAgent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import Repaired, View

logger = Logger(__name__)

# Strands requires a durable id of every message since 1.62.
_HAS_IDS = "tracking_id" in Message.__annotations__


_CONTENT = itemgetter("content")


class MessageSnapshot:
    """A row of messages as they were when they were added to it.

    What puts another message, content or block in the place of one, or sets a pin, is seen; what
    writes into a block is not. Comparing costs less than a tenth of a microsecond a message, for
    which the row keeps columns rather than an object for each message.
    """

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self.messages: list[Any] = []
        self._contents: list[Any] = []
        # The messages that had a pin: few, so they are looked up rather than compared one by one.
        self._pinned: set[int] = set()
        self.add(messages)

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, messages: Iterable[Any]) -> None:
        """These come behind."""
        new = [*messages]
        self.messages += new
        self._contents += map(_copied, new)
        self._pinned |= _pinned(new)

    def forget(self, oldest: int) -> None:
        """So many of the oldest are forgotten."""
        self._pinned.difference_update(map(id, self.messages[:oldest]))
        del self.messages[:oldest]
        del self._contents[:oldest]

    def begins(self, messages: list[Any]) -> bool:
        """True if these messages begin with the row, and nothing in it has changed."""
        count = len(self.messages)
        return count <= len(messages) and self._are(messages[:count])

    def kept_at_end(self, messages: list[Any]) -> int:
        """Counts the messages at the end that are those at the end of the row, unchanged."""
        count = len(self.messages)
        if count <= len(messages) and self._are(messages[len(messages) - count :]):
            return count
        kept = 0
        for message, index in zip(reversed(messages), range(count - 1, -1, -1), strict=False):
            if not self.is_still(index, message):
                break
            kept += 1
        return kept

    def is_still(self, index: int, message: Any) -> bool:
        """True if a message of the row is this one, unchanged."""
        return (
            is_same([self.messages[index]], [message])
            and is_same([self._contents[index]], _contents([message]))
            and has_pin(message) is (id(self.messages[index]) in self._pinned)
        )

    def _are(self, messages: list[Any]) -> bool:
        return (
            is_same(self.messages, messages)
            and is_same(self._contents, _contents(messages))
            and _pinned(messages) == self._pinned
        )


class TrackedView:
    """A view of messages that other code may edit.

    A request without an edit costs a comparison of the messages, and O(new messages).

    Args:
        engine: Decides what the model sees.
        state: The state of another view of these messages.
    """

    def __init__(self, engine: ContextManager, state: dict[str, Any] | None = None) -> None:
        self.view = engine.open(state, append_only=True)
        self._seen = MessageSnapshot()

    def following(self, messages: list[Any]) -> View:
        """The view. It reads the messages again if one of them was edited."""
        if self._seen.begins(messages):
            self._seen.add(messages[len(self._seen) :])
        else:
            self.view.release()
            self._seen = MessageSnapshot(messages)
        return self.view


# Nothing is ever due to it: its views repair, and do nothing else.
_REPAIRS = ContextManager(
    Policy(window=1 << 40), counter=TokenCounter.preset("cyber-autoagent"), format="bedrock"
)
_VIEWS: PerAgent[TrackedView] = PerAgent(lambda _: TrackedView(_REPAIRS))


class History:
    """The requests, calls and results of some messages, as they are when it is made.

    Raises:
        MessageError: If the messages cannot be read.
    """

    def __init__(self, messages: list[Any]) -> None:
        conversation = Conversation(messages, "bedrock")
        self._messages = messages
        self._roles = conversation.roles
        self._calls = conversation.calls
        self._callers = {call.message for call in self._calls}

    def pinned(self, more: Iterable[int] = ()) -> set[int]:
        """The messages that may not leave: those with a pin, ``more``, and their partners.

        A call whose results are pinned stays, and so do the results of a pinned call.
        """
        fixed = {n for n, message in enumerate(self._messages) if has_pin(message)}.union(more)
        found = set(fixed)
        for call in self._calls:
            pair = {call.message} if call.result is None else {call.message, call.result.message}
            if pair & fixed:
                found |= pair
        return found

    def requests(self) -> list[int]:
        """The messages in which the user asks something, rather than a tool answers."""
        return [index for index, role in enumerate(self._roles) if role == "user"]

    def waiting(self) -> range:
        """Returns the range of messages that wait for an answer: the last request and its calls."""
        count = len(self._roles)
        if not count or self._roles[-1] == "assistant":
            return range(0)
        request = self._request_before(count)
        return range(count if request is None else request, count)

    def cut_from(self, start: int, pinned: set[int]) -> list[int] | None:
        """The messages that stay if the history is cut at the first place from ``start`` on.

        Behind the cut stands a request of the user; behind a pinned message of the user, an answer
        to it. Where there is neither, it is between two steps of a tool loop, and the request that
        the loop works on stays.

        Returns:
            Their indices; None if there is no place, or nothing in front of it can leave.
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
        """The number of messages to summarize, one more or less if that makes roles alternate.

        Args:
            count: How many it would be.
            pinned: Indices of those that stay in front of the summary.
            most: How many it may be.
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
        """True if a history may go on with this message behind one of that role."""
        if role is None or role == "assistant":
            return self._roles[index] == "user"
        answers = self._roles[index] == "assistant" and index not in self._callers
        return answers or self._is_step(index)

    def _is_step(self, index: int) -> bool:
        """True if the results of a call that is here come next."""
        return index in self._callers and self._roles[index + 1 : index + 2] == ["tool"]

    def _request_before(self, index: int) -> int | None:
        return next((n for n in range(index - 1, -1, -1) if self._roles[n] == "user"), None)


def hold_count(messages: list[Any], policy: Policy, pins: Iterable[int] = ()) -> None:
    """Removes the oldest messages without a note if there are more than the policy allows.

    The engine removes messages only if its note about them is shorter. Pinned messages, the zones
    of the policy, the first request and the last one stay here too.
    """
    most, count = policy.max_messages, len(messages)
    if most is None or count <= most:
        return
    history = History(messages)
    requests = history.requests()
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


def identify(messages: list[Any], known: Iterable[Any]) -> None:
    """Gives a durable id to each message that has none, except to those that were known before.

    Strands does so for every message that it appends. Messages of others are not changed.
    """
    if not _HAS_IDS:
        return
    others = set(map(id, known))
    for message in messages:
        if id(message) not in others and not message.get("tracking_id"):
            message["tracking_id"] = str(uuid4())


def with_pin(message: Any) -> Any:
    """The message with a pin: itself if it has one, otherwise a copy."""
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
        valid = _VIEWS.of(agent).following(messages).messages(messages)
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
        logger.info("repairs=<%d>, rules=<%s> | repaired", len(whole.repairs), rules)
    return whole


def is_same(before: list[Any], now: list[Any]) -> bool:
    """True if these are the same items. Only those that were replaced are read."""
    try:
        return before == now
    except RecursionError:
        # One was replaced, by one that is nested too deeply to be compared.
        return False


def _contents(messages: list[Any]) -> list[Any]:
    try:
        return [*map(_CONTENT, messages)]
    except KeyError:
        return [message.get("content") for message in messages]


def _copied(message: Any) -> Any:
    content = message.get("content")
    return [*content] if isinstance(content, list) else content


def _pinned(messages: list[Any]) -> set[int]:
    return {id(one) for one in messages if "metadata" in one and has_pin(one)}
