"""What the model sees of a history: compacted once, then only grown until it is full again."""

from __future__ import annotations

import threading
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage.amplifier.ahead import Ahead
from ullage.amplifier.pairs import Pairs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ullage.amplifier.budget import Budget

    MendedEnd: TypeAlias = Callable[[list[Any], int, list[Any]], list[Any]]

# Budgets that differ by less share a view. One so much larger than that of the last compaction is
# worth showing the whole history again; less would change what the provider has cached for little.
LARGER = 1.25
# Messages that a request reads while it is waited for: a millisecond, unless they are long.
_FEW = 200
# Messages after which the result of an interrupted call is no longer waited for. Between a call and
# its results come a few words of hooks, at most.
_LATE = 32


def is_near(one: int, other: int) -> bool:
    """Whether a view of one budget serves the other."""
    return max(one, other) <= LARGER * min(one, other)


class View:
    """The messages of the next request, system prompt and notice aside.

    It reads each message of the history once. What a compaction left stays as it is until the
    next, so that requests in between begin with the same bytes, and a provider's cache is of use.

    Attributes:
        messages: What the model sees.
        stats: What the last compaction did, or None.
        tokens: What was left after it.
        budget: The budget that it was for, 0 before there was one.
        counted_for: The model by whose tokens it was counted last.
        measured: The tokens that were counted, with the system prompt; 0 before.
        asked: The budget of the last request that asked for it, or None.
        asked_before: That of the request before.
        asked_at: The number of the last one.
        ahead: What of a request is done early.
        is_prepared: Whether a message has brought it below the threshold, and none has come since.
        is_spare: Whether it is for requests that may never come, see `Spares`.
        untold: What its last compaction did, where no hook was told because it is spare. A copy has
            the same list, since it is told once.
        is_assumed: Whether that was made before a request told its budget. One with another budget
            then begins again: nothing was sent that a provider could have cached.
    """

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.stats: dict[str, Any] | None = None
        self.tokens = 0
        self.asked: Budget | None = None
        self.asked_before: Budget | None = None
        self.ahead = Ahead()
        self.asked_at = 0
        self.counted_for: str | None = None
        self.measured = 0
        self.is_prepared = False
        self.is_spare = False
        self.untold: list[dict[str, Any]] = []
        self.is_assumed = False
        self._left = 0
        self._pairs = Pairs()
        self._history: list[Any] | None = None
        self._read = 0
        self.budget = 0
        # Two threads that ask for messages must not both read the same new ones.
        self._reading = threading.Lock()

    def follow(self, history: list[Any], budget: int, shown: Callable[[Any], bool]) -> None:
        """Takes in what is new. O(new messages), and O(n) where it has to begin again.

        Args:
            history: All messages. Where it is another list, or shorter than it was, or where the
                budget has grown a lot since the last compaction, the view begins again.
            budget: The tokens of this request; 0 if it is not to begin again for their sake.
            shown: Whether the model is to see a message.
        """
        with self._reading:
            if (
                history is not self._history
                or len(history) < self._read
                or self._is_for_less(budget)
            ):
                self._forget()
                self._history = history
            new = history[self._read :]
            self._read += len(new)
            self.is_prepared &= not new
            for message in new:
                if shown(message):
                    self.messages.append(message)
                    self._pairs.follow(message)

    @property
    def read(self) -> int:
        """How many messages of the history it has read."""
        return self._read

    @property
    def waits(self) -> bool:
        """Whether the last call has not all of its results yet."""
        return self._pairs.waiting > 0

    def parts(self) -> tuple[list[Any], list[Any], list[Any]]:
        """The list of messages, and copies of what is in it before that call, and from it on."""
        with self._reading:
            end = len(self.messages) - self._pairs.waiting
            return self.messages, self.messages[:end], self.messages[end:]

    @property
    def is_astray(self) -> bool:
        """Whether something was interrupted: a call without its result, or the other way round."""
        return self._pairs.astray > self._pairs.waiting

    @property
    def is_late(self) -> bool:
        """Whether what is missing would have come long ago."""
        return self._pairs.astray - self._pairs.waiting > _LATE

    def is_behind(self, history: list[Any], budget: int = 0) -> bool:
        """Whether :meth:`follow` would read more than a request should wait for."""
        begins = history is not self._history or self._is_for_less(budget)
        return len(history) - (0 if begins else self._read) > _FEW

    @property
    def next_budget(self) -> Budget | None:
        """What the next request is likely to allow: two models may take turns on one view."""
        if self.asked is None or self.asked_before is None:
            return self.asked
        return min(self.asked, self.asked_before, key=lambda budget: budget.tokens)

    def ask(self, budget: Budget, number: int) -> None:
        """Notes a request."""
        self.asked_before, self.asked, self.asked_at = self.asked, budget, number

    def is_of(self, history: list[Any]) -> bool:
        """Whether it shows this history."""
        return self._history is history

    @property
    def is_open(self) -> bool:
        """Whether calls and results do not match yet, or no longer."""
        return self.waits or self._pairs.astray > 0

    def mend(self, mended_end: MendedEnd) -> bool:
        """Mends what was interrupted: a call without a result, or a result without its call.

        A call at the end may still get its results, and stays as it is. Costs what came since the
        first that was interrupted, O(1) as long as nothing is.

        Args:
            mended_end: Mends some messages, from one on, whose form others tell.

        Returns:
            Whether there was anything to mend.
        """
        with self._reading:
            return self._mend(mended_end)

    def shown(self, mended_end: MendedEnd) -> tuple[list[Any], list[Any]]:
        """The messages as they stand now, mended, and as a provider takes them.

        The same list, unless a call still waits: it is mended likewise for the provider.
        """
        with self._reading:
            # Another task may have added something since.
            self._mend(mended_end)
            seen = list(self.messages)
            if not self.waits:
                return seen, seen
            return seen, mended_end(seen, len(seen) - self._pairs.waiting, seen)

    def close(self, mended: Callable[[list[Any], list[Any]], list[Any]]) -> bool:
        """Likewise where no results are to come any more: those who ran the calls are gone."""
        with self._reading:
            broken = self.is_open
            if broken:
                self.messages = mended(self.messages, self.messages)
                self._pairs = Pairs()
            return broken

    def compacted(self, stats: dict[str, Any], budget: int) -> None:
        """Notes what a compaction did, and for which budget."""
        self.stats, self.budget, self._left = stats, budget, stats["after_messages"]

    @property
    def has_grown(self) -> bool:
        """Whether messages came since the last compaction."""
        return len(self.messages) > self._left

    def replace(self, old: list[Any], count: int, messages: list[Any]) -> bool:
        """Puts other messages in the place of the first ``count``.

        The list is a new one: those who have counted the old one were promised that it only grows.

        Returns:
            Whether it did. Not if the view is no longer ``old``: another task was faster.
        """
        with self._reading:
            if self.messages is not old:
                return False
            self.messages = [*messages, *old[count:]]
            return True

    def forget(self) -> None:
        """Begins again at the next request."""
        with self._reading:
            self._forget()

    def copy(self) -> View:
        """Another view of the same messages, which goes its own way. O(n)."""
        with self._reading:
            other = copy(self)
            vars(other).update(
                messages=[*self.messages],
                # How far it could be brought down says nothing of a smaller budget.
                tokens=0,
                asked=None,
                asked_before=None,
                asked_at=0,
                is_prepared=False,
                is_spare=False,
                ahead=Ahead(),
                _pairs=deepcopy(self._pairs),
                _reading=threading.Lock(),
            )
            return other

    def narrow(self, shown: Callable[[Any], bool]) -> None:
        """Leaves out what the model is no longer to see."""
        with self._reading:
            self.messages = [message for message in self.messages if shown(message)]
            self._pairs.narrowed(len(self.messages))
            self.measured = 0

    def with_new(self, history: list[Any], shown: Callable[[Any], bool]) -> list[Any]:
        """The view with what of the history it has not read yet."""
        with self._reading:
            new = history[self._read :] if history is self._history else []
            return [*self.messages, *(message for message in new if shown(message))]

    def past(self) -> dict[str, Any]:
        """What the messages do not tell of the last compaction, as data."""
        return {"stats": self.stats, "tokens": self.tokens, "budget": self.budget}

    def restore(self, history: list[Any], messages: list[Any], past: dict[str, Any]) -> None:
        """The view as it was when this history was all there was. O(n).

        Args:
            history: All messages.
            messages: What the model saw of them.
            past: What :meth:`past` said, or nothing.
        """
        with self._reading:
            self._forget()
            self.messages = list(messages)
            for message in self.messages:
                self._pairs.follow(message)
            self.stats = past.get("stats")
            self.tokens, self.budget = past.get("tokens", 0), past.get("budget", 0)
            self._history, self._read = history, len(history)

    def _mend(self, mended_end: MendedEnd) -> bool:
        if not self.is_astray:
            return False
        seen = self.messages
        end, since = len(seen) - self._pairs.waiting, len(seen) - self._pairs.astray
        self.messages = [*mended_end(seen[:end], since, seen), *seen[end:]]
        self._pairs.mended()
        return True

    def _is_for_less(self, budget: int) -> bool:
        """Whether it was compacted for a budget for which it would not have to be."""
        if self.stats is None:
            return False
        most = self.budget if self.is_assumed else self.budget * LARGER
        return budget > most

    def _forget(self) -> None:
        self.messages, self.stats, self.tokens, self.is_assumed = [], None, 0, False
        self.ahead.renew()
        self._pairs = Pairs()
        self._history, self._read, self.budget = None, 0, 0
        self.measured, self.is_prepared = 0, False
