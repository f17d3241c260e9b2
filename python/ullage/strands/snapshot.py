"""Snapshots of messages, which show what other code has edited since."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ullage._engine.pins import has_pin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import ContextManager, View

_CONTENT = itemgetter("content")


class MessageSnapshot:
    """A row of messages as they were when they were added to it.

    It detects replaced messages, contents and blocks, and pins. It does not detect edits inside a
    block. Comparing costs less than a tenth of a microsecond a message, because the row keeps
    columns rather than an object for each message.
    """

    def __init__(self, messages: Iterable[Any] = ()) -> None:
        self.messages: list[Any] = []
        self._contents: list[Any] = []
        # Ids of those with a pin. They are few, so they are looked up rather than compared.
        self._pinned: set[int] = set()
        self.add(messages)

    def __len__(self) -> int:
        return len(self.messages)

    def add(self, messages: Iterable[Any]) -> None:
        """Appends messages to the row."""
        new = [*messages]
        self.messages += new
        self._contents += map(_content_copy, new)
        self._pinned |= _pin_ids(new)

    def forget(self, oldest: int) -> None:
        """Forgets so many of the oldest messages."""
        self._pinned.difference_update(map(id, self.messages[:oldest]))
        del self.messages[:oldest]
        del self._contents[:oldest]

    def is_prefix_of(self, messages: list[Any]) -> bool:
        """Returns True if these messages begin with the row, and nothing in it has changed."""
        count = len(self.messages)
        return count <= len(messages) and self._equals(messages[:count])

    def count_at_end(self, messages: list[Any]) -> int:
        """Returns how many messages at the end are at the end of the row too, unchanged."""
        count = len(self.messages)
        if count <= len(messages) and self._equals(messages[len(messages) - count :]):
            return count
        kept = 0
        for message, index in zip(reversed(messages), range(count - 1, -1, -1), strict=False):
            if not self.is_unchanged(index, message):
                break
            kept += 1
        return kept

    def is_unchanged(self, index: int, message: Any) -> bool:
        """Returns True if a message of the row is this one, and has not changed."""
        return (
            is_same([self.messages[index]], [message])
            and is_same([self._contents[index]], _contents([message]))
            and has_pin(message) is (id(self.messages[index]) in self._pinned)
        )

    def _equals(self, messages: list[Any]) -> bool:
        return (
            is_same(self.messages, messages)
            and is_same(self._contents, _contents(messages))
            and _pin_ids(messages) == self._pinned
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

    def view_of(self, messages: list[Any]) -> View:
        """The view. It reads the messages again if one of them was edited."""
        if self._seen.is_prefix_of(messages):
            self._seen.add(messages[len(self._seen) :])
        else:
            self.view.release()
            self._seen = MessageSnapshot(messages)
        return self.view


def is_same(before: list[Any], now: list[Any]) -> bool:
    """Returns True if these are equal items. Only items that were replaced are read."""
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


def _content_copy(message: Any) -> Any:
    content = message.get("content")
    return [*content] if isinstance(content, list) else content


def _pin_ids(messages: list[Any]) -> set[int]:
    return {id(one) for one in messages if "metadata" in one and has_pin(one)}
