"""Selects messages that stay whole: the newest, and those that a user's function rates high."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage._engine.calling import acall
from ullage._engine.logger import Logger
from ullage._engine.roles import is_system

if TYPE_CHECKING:
    from ullage import TokenCounter

logger = Logger(__name__)

# A user's function: messages in, a score from 0 to 1 for each out.
Importance: TypeAlias = Callable[[list[Any]], Sequence[float] | Awaitable[Sequence[float]]]

# A message with at least this score stays whole if it fits.
IMPORTANT = 0.5
# The share of the target for important messages, and also the share for the newest. The rest is for
# the task and for lines of removed messages. Amplifier protects a share of the number of messages.
# If these are too long together, it removes all of them.
SHARE = 0.35
# The number of cached scores, which is enough for the views of a long session.
_REMEMBERED = 20_000
# The seconds that the function may take for one compaction, as for a summarizer.
TIMEOUT = 60.0


def newest(messages: list[Any], target: int, counter: TokenCounter) -> set[int]:
    """Returns the indices of the newest messages that fit in their share of the target."""
    order = (n for n in reversed(range(len(messages))) if not is_system(messages[n]))
    return within(order, messages, int(target * SHARE), counter)


def within(order: Iterable[int], messages: list[Any], room: int, counter: TokenCounter) -> set[int]:
    """Returns the first indices of an order whose messages fit in ``room`` tokens together."""
    chosen: set[int] = set()
    for index in order:
        room -= counter.count_messages([messages[index]])
        if room < 0:
            break
        chosen.add(index)
    return chosen


class Judge:
    """Calls a user's function, once for each message.

    Args:
        importance: The function, plain or async; a plain one runs in a thread. It gets the messages
            without a score, and returns as many numbers.
    """

    def __init__(self, importance: Importance) -> None:
        self._importance = importance
        # By the id of the message. The value has the message too, so that its id is not reused.
        self._scores: dict[int, tuple[Any, float]] = {}

    async def important(
        self, messages: list[Any], excluded: set[int], target: int, counter: TokenCounter
    ) -> set[int]:
        """Returns the indices of the most important messages that fit in their share of the target.

        ``excluded`` messages stay whole anyway. If the function raises, takes too long, or does not
        return a number for each message, no message is important.
        """
        judged = [n for n, message in enumerate(messages) if not is_system(message)]
        try:
            scores = await self._score([messages[n] for n in judged])
        except Exception:
            logger.warning("the importance function failed", exc_info=True)
            return set()
        scored = dict(zip(judged, scores, strict=True))
        wanted = [n for n in judged if scored[n] >= IMPORTANT and n not in excluded]
        # Of two equal scores, the newer message comes first.
        wanted.sort(key=lambda n: (scored[n], n), reverse=True)
        return within(wanted, messages, int(target * SHARE), counter)

    async def _score(self, messages: list[Any]) -> list[float]:
        new = [message for message in messages if id(message) not in self._scores]
        if new:
            scores = await asyncio.wait_for(acall(self._importance, list(new)), TIMEOUT)
            for message, score in zip(new, scores, strict=True):
                self._scores[id(message)] = (message, float(score))
        # The scores of the oldest request are dropped first.
        for message in messages:
            self._scores[id(message)] = self._scores.pop(id(message))
        scores_now = [self._scores[id(message)][1] for message in messages]
        excess = len(self._scores) - max(_REMEMBERED, len(messages))
        for place in list(self._scores)[: max(0, excess)]:
            del self._scores[place]
        return scores_now
