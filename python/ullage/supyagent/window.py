"""``Window``: the messages that a request holds, as many of the newest as fit.

The engine cuts, so calls keep their results and the first request stays. A cut stays where it is
while what came since fits behind it: the beginning of a request, which the provider has cached,
does not change with every turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import is_
from typing import TYPE_CHECKING, Any

import ullage
from ullage.logger import Logger
from ullage.pins import has_pin
from ullage.supyagent import emergency
from ullage.supyagent.history import as_others, beginning, last_request, waits
from ullage.supyagent.identity import snapshot
from ullage.supyagent.tokens import FORMAT

if TYPE_CHECKING:
    from ullage.listener import OnCompaction

logger = Logger(__name__)

# More room than this times what a cut was made for, and it is made anew: more may stay. System
# prompts with a date in them change the room a little on every turn.
_MORE_ROOM = 1.05


@dataclass(frozen=True)
class _Cut:
    """What was left of the beginning of a request, for the next one.

    Attributes:
        seen: The beginning that it was made of, as it was.
        left: What was left of it.
        room: The tokens that all might take.
        messages: How many there were in all.
        request: Which of them was the last request.
    """

    seen: list[Any]
    left: list[Any]
    room: int
    messages: int
    request: int | None

    @classmethod
    def of(cls, messages: list[Any], left: list[Any], room: int) -> _Cut:
        """The cut that made ``left`` of the messages.

        It ends where they stand there as they are: the rest of them may change.
        """
        same, most = 0, min(len(messages), len(left))
        while same < most and left[-1 - same] is messages[-1 - same]:
            same += 1
        seen = snapshot(messages[: len(messages) - same])
        left = left[: len(left) - same]
        return cls(seen, left, room, len(messages), last_request(messages))

    def goes_on(self, messages: list[Any], room: int) -> bool:
        """Whether the messages begin with the same.

        And whether what it took away is not what now has to stay, because others were taken back.
        """
        if room > self.room * _MORE_ROOM or len(messages) < self.messages:
            return False
        request = last_request(messages)
        if request != self.request and (request is None or request < len(self.seen)):
            return False
        return messages[: len(self.seen)] == self.seen


class Window:
    """Chooses what of a conversation a request holds.

    Args:
        policy: The settings; of the stages only the window runs, and the digest if it is there.
        counter: What counts.
        min_recent: Messages at the end that stay whole as long as the rest suffices.
        on_compaction: Is told of each cut.
    """

    def __init__(
        self,
        policy: ullage.Policy,
        counter: ullage.TokenCounter,
        min_recent: int,
        on_compaction: OnCompaction | None = None,
    ) -> None:
        self._counter = counter
        self._min_recent = min_recent
        digest = [stage for stage in policy.stages if stage == "digest"]
        # The host counts the messages, makes the summaries and shortens the recent messages.
        policy = policy.replace(
            max_messages=None,
            keep_first=0,
            keep_recent_share=0.0,
            high=1.0,
            stages=["window", *digest],
            levels=[{}],
        )

        def engine(keep_recent: int) -> ullage.ContextManager:
            return ullage.ContextManager(
                policy.replace(keep_recent=keep_recent),
                counter=counter,
                format=FORMAT,
                on_compaction=on_compaction,
            )

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
        # Behind the summary, which has its own share, the first request is in the middle too.
        begin = min(len(head), 1)
        listed = behind = [*head, *messages]
        cut = self._cut
        if cut is not None and cut.goes_on(listed, room):
            behind = [*cut.left, *listed[len(cut.seen) :]]
        if waits(behind):
            # The answer may still come, and then it stands where this request says there is none.
            return self._fitted(begin, ullage.repair(behind, FORMAT), room)
        left = self._fitted(begin, behind, room)
        if behind is listed or not _is_same(left, behind):
            self._cut = _Cut.of(listed, left, room)
        return left

    def _fitted(self, begin: int, messages: list[Any], room: int) -> list[Any]:
        try:
            return self._viewed(self._engine, messages, room)
        except ullage.BudgetError as error:
            logger.warning(
                "floor=<%d>, room=<%d> | the newest messages are too long", error.floor, room
            )
        return self._relieved(begin, list(messages), room)

    def _relieved(self, begin: int, messages: list[Any], room: int) -> list[Any]:
        """Supyagent's steps: pictures and long texts in the middle, then the oldest messages.

        Supyagent stops when the middle is empty, also above its limit. Here the recent messages
        are next, but for the last request, of which every word stays, and what is pinned.
        """
        recent = max(begin, len(messages) - self._min_recent)
        whole = {place for place, message in enumerate(messages) if has_pin(message)}
        whole.add(len(messages) if (last := last_request(messages)) is None else last)
        self._relieve(messages, [n for n in range(begin, recent) if n not in whole], room)
        try:
            return self._viewed(self._engine, messages, room)
        except ullage.BudgetError:
            logger.debug("room=<%d> | the middle was not enough", room)
        self._relieve(messages, [n for n in range(recent, len(messages)) if n not in whole], room)
        try:
            return self._viewed(self._engine, messages, room)
        except ullage.BudgetError:
            logger.debug("room=<%d> | the recent messages were not enough", room)
        try:
            return self._viewed(self._last_resort, messages, room)
        except ullage.BudgetError as error:
            # The results of the newest call are all that can still be shortened, newest first.
            over = error.floor - room
        places = [n for n in range(len(messages) - 1, begin - 1, -1) if n not in whole]
        emergency.relieved(messages, places, emergency.shortest_result, over, self._count)
        return self._viewed(self._last_resort, messages, room)

    def _relieve(self, messages: list[Any], places: list[int], room: int) -> None:
        over = self._counter.count_messages(messages, format=FORMAT) - room
        for change in (emergency.without_images, emergency.truncated):
            over = emergency.relieved(messages, places, change, over, self._count)

    def _viewed(self, engine: ullage.ContextManager, messages: list[Any], room: int) -> list[Any]:
        others = as_others(messages, beginning(messages), "assistant")
        if not others:
            return self._seen_by(engine, messages, room)
        shown = [others.get(place, message) for place, message in enumerate(messages)]
        left = self._seen_by(engine, shown, room)
        back = {id(other): messages[place] for place, other in others.items()}
        return [back.get(id(message), message) for message in left]

    def _seen_by(self, engine: ullage.ContextManager, messages: list[Any], room: int) -> list[Any]:
        # Of a room of nothing the engine could not say which messages take too much.
        budget = max(1, room)
        try:
            return engine.view(messages, budget=budget)
        except ullage.MessageError:
            # A session that was cut elsewhere has calls without results; the provider takes none.
            return engine.view(ullage.repair(messages, FORMAT), budget=budget)

    def _count(self, message: Any) -> int:
        return self._counter.count_messages([message], format=FORMAT)


def _is_same(left: list[Any], messages: list[Any]) -> bool:
    return len(left) == len(messages) and all(map(is_, left, messages))
