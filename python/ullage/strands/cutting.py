"""Where a history may be cut so that a provider still takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.strands.pins import pinned_indices
from ullage.strands.validity import has_calls, repair_history

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import Policy


@dataclass(frozen=True)
class Cut:
    """A place to cut.

    Attributes:
        index: The first message behind it.
        bridge: Messages in front of it that stay because those behind it answer them.
    """

    index: int
    bridge: tuple[int, ...] = ()


def cut_point(messages: list[Any], start: int, pinned: set[int]) -> Cut | None:
    """The first place from ``start`` on in front of which messages can leave.

    Behind it stands a request of the user; behind a pinned message of the user, an answer to it.
    Where there is neither, it is between two steps of a tool loop, and the request that the loop
    works on stays.

    Returns:
        The place; None if there is none, or nothing in front of it can leave.
    """
    role: str | None = None
    for index in range(len(messages)):
        if index >= start and _follows(messages, index, role):
            return _if_any(Cut(index), pinned)
        if index in pinned:
            role = messages[index]["role"]
    steps = [index for index in range(start, len(messages)) if _is_step(messages, index)]
    if not steps:
        return None
    request = _request_before(messages, steps[0])
    if request is None or request in pinned:
        return _if_any(Cut(steps[0]), pinned)
    # The request takes the place of one message more.
    index = next((index for index in steps if index > start), steps[0])
    return _if_any(Cut(index, (request,)), pinned)


def hold_count(messages: list[Any], policy: Policy, pins: Iterable[int] = ()) -> None:
    """Removes the oldest messages without a note if there are more than the policy allows.

    The engine removes messages only if its note about them is shorter. Pinned messages, the zones
    of the policy, the first request and the last one stay here too.
    """
    most, count = policy.max_messages, len(messages)
    if most is None or count <= most:
        return
    requests = [index for index in range(count) if is_request(messages[index])]
    zones = {*range(policy.keep_first), *range(count - policy.keep_recent, count), *pins}
    zones.update(requests[:1], requests[-1:])
    if requests and messages[requests[-1] - 1]["role"] == "assistant":
        # Without an answer between them the two requests would become one, which grows.
        zones.add(requests[-1] - 1)
    staying = pinned_indices(messages, zones.intersection(range(count)))
    leaving = [index for index in range(count - 1) if index not in staying]
    room = max(1, int(most * policy.low_messages))
    cuts = (cut_point(messages, i + 1, staying) for i in reversed(leaving[: count - room]))
    cut = next(filter(None, cuts), None)
    if cut is not None:
        kept = [*sorted(i for i in staying if i < cut.index), *range(cut.index, count)]
        messages[:] = repair_history([messages[index] for index in kept])


def answering(messages: list[Any]) -> range:
    """What waits for an answer, if anything does: the last request and what was done for it."""
    if not messages or messages[-1]["role"] != "user":
        return range(0)
    request = _request_before(messages, len(messages))
    return range(len(messages) if request is None else request, len(messages))


def alternating(messages: list[Any], count: int, pinned: set[int], most: int) -> int:
    """The number of messages to summarize, one more or less if that makes roles alternate.

    Args:
        messages: The messages.
        count: How many it would be.
        pinned: Indices of those that stay in front of the summary.
        most: How many it may be.
    """
    last = next((index for index in range(count - 1, -1, -1) if index in pinned), None)
    role = "assistant" if last is not None and messages[last]["role"] == "user" else "user"

    def fits(number: int) -> bool:
        message = messages[number]
        return message["role"] != role and not any("toolResult" in b for b in message["content"])

    candidates = (count, count + 1, count - 1)
    allowed = (n for n in candidates if 1 < n <= most and n < len(messages) and n - 1 not in pinned)
    return next((n for n in allowed if fits(n)), count)


def is_request(message: Any) -> bool:
    """Whether the user asks something here, rather than a tool answers."""
    return message["role"] == "user" and not any("toolResult" in b for b in message["content"])


def _follows(messages: list[Any], index: int, role: str | None) -> bool:
    """Whether a history may go on with this message behind one of that role."""
    if role != "user":
        return is_request(messages[index])
    message = messages[index]
    return message["role"] == "assistant" and (not has_calls(message) or _is_step(messages, index))


def _is_step(messages: list[Any], index: int) -> bool:
    """Whether a call stands here whose results come next."""
    if not has_calls(messages[index]) or index + 1 >= len(messages):
        return False
    following = messages[index + 1]
    return following["role"] == "user" and any("toolResult" in b for b in following["content"])


def _request_before(messages: list[Any], index: int) -> int | None:
    return next((i for i in range(index - 1, -1, -1) if is_request(messages[i])), None)


def _if_any(cut: Cut, pinned: set[int]) -> Cut | None:
    """The cut, if a message in front of it would leave."""
    staying = pinned | set(cut.bridge)
    return cut if any(index not in staying for index in range(cut.index)) else None
