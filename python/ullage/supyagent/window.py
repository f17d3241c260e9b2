"""``Window``: the messages that a request holds, as many of the newest as fit.

The engine cuts, so calls keep their results and the first request stays. A cut stays where it is
while what came since fits behind it: the beginning of a request, which the provider has cached,
does not change with every turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ullage
from ullage.logger import Logger
from ullage.supyagent import emergency
from ullage.supyagent.history import last_request, waits
from ullage.supyagent.tokens import FORMAT

logger = Logger(__name__)

# More room than this times what a cut was made for, and it is made anew: more may stay. System
# prompts with a date in them change the room a little on every turn.
_MORE_ROOM = 1.05


@dataclass(frozen=True)
class _Cut:
    """What was left of a conversation, for its next request.

    Attributes:
        head: What stood in front.
        seen: The messages that it was made of.
        left: What was left of them.
        room: The tokens that they might take.
    """

    head: list[Any]
    seen: list[Any]
    left: list[Any]
    room: int

    def goes_on(self, head: list[Any], messages: list[Any], room: int) -> bool:
        """Whether ``messages`` are the same with more at the end."""
        seen = len(self.seen)
        return room <= self.room * _MORE_ROOM and head == self.head and messages[:seen] == self.seen


class Window:
    """Chooses what of a conversation a request holds.

    Args:
        policy: The settings; of the stages only the window runs, and the digest if it is there.
        counter: What counts.
        min_recent: Messages at the end that stay whole as long as the rest suffices.
    """

    def __init__(
        self, policy: ullage.Policy, counter: ullage.TokenCounter, min_recent: int
    ) -> None:
        self._counter = counter
        self._min_recent = min_recent
        digest = [stage for stage in policy.stages if stage == "digest"]
        settings = policy.to_dict() | {
            "max_messages": None,
            "keep_first": 0,
            "keep_recent_share": 0.0,
            "high": 1.0,
            "stages": ["window", *digest],
            "levels": [{}],
        }

        def engine(keep_recent: int) -> ullage.ContextManager:
            policy = ullage.Policy.from_dict(settings | {"keep_recent": keep_recent})
            return ullage.ContextManager(policy, counter=counter, format=FORMAT)

        self._engine = engine(min_recent)
        # When the recent messages are too long, only what must stay does.
        self._last_resort = engine(0)
        self._cut: _Cut | None = None

    def view(self, head: list[Any], messages: list[Any], room: int) -> list[Any]:
        """The head, and of the messages those that fit behind it.

        Raises:
            BudgetError: If what must stay does not fit.
            MessageError: If a message cannot be read.
        """
        cut = self._cut
        behind = messages
        if cut is not None and cut.goes_on(head, messages, room):
            behind = [*cut.left, *messages[len(cut.seen) :]]
        if waits(behind):
            behind = ullage.repair(behind, FORMAT)
        left = self._fitted(head, behind, room)
        self._cut = _Cut(head, list(messages), left[len(head) :], room)
        return left

    def _fitted(self, head: list[Any], messages: list[Any], room: int) -> list[Any]:
        listed = [*head, *messages]
        try:
            return self._viewed(self._engine, listed, room)
        except ullage.BudgetError as error:
            logger.warning(
                "floor=<%d>, room=<%d> | the newest messages are too long", error.floor, room
            )
        return self._relieved(len(head), listed, room)

    def _relieved(self, head: int, messages: list[Any], room: int) -> list[Any]:
        """Supyagent's steps: pictures and long texts in the middle, then the oldest messages.

        Supyagent stops when the middle is empty, also above its limit. Here the recent messages
        are next, but for the last request, of which every word stays.
        """
        recent = max(head, len(messages) - self._min_recent)
        last = last_request(messages)
        self._relieve(messages, [n for n in range(head, recent) if n != last], room)
        try:
            return self._viewed(self._engine, messages, room)
        except ullage.BudgetError:
            logger.debug("room=<%d> | the middle was not enough", room)
        self._relieve(messages, [n for n in range(recent, len(messages)) if n != last], room)
        try:
            return self._viewed(self._engine, messages, room)
        except ullage.BudgetError:
            return self._viewed(self._last_resort, messages, room)

    def _relieve(self, messages: list[Any], places: list[int], room: int) -> None:
        over = self._counter.count_messages(messages, format=FORMAT) - room
        for change in (emergency.without_images, emergency.truncated):
            over = emergency.relieved(messages, places, change, over, self._count)

    def _viewed(self, engine: ullage.ContextManager, messages: list[Any], room: int) -> list[Any]:
        # Of a room of nothing the engine could not say which messages take too much.
        budget = max(1, room)
        try:
            return engine.view(messages, budget=budget)
        except ullage.MessageError:
            # A session that was cut elsewhere has calls without results; the provider takes none.
            return engine.view(ullage.repair(messages, FORMAT), budget=budget)

    def _count(self, message: Any) -> int:
        return self._counter.count_messages([message], format=FORMAT)
