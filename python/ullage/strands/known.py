"""What a conversation manager knows of one agent."""

from __future__ import annotations

from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ullage.strands.engines import Engines


class Known:
    """What is known of one agent, and of no other.

    Attributes:
        observed: The last answer whose usage was learned from.
        overflows: Refusals since the provider last answered.
        engines: What decides for the agent, and what that was made for.
    """

    def __init__(self, _: Any) -> None:
        self.observed: Any = None
        self.overflows = 0
        self.engines: tuple[Any, Engines] | None = None
        self._checked: tuple[int, Any] | None = None
        self._mapper: Any = None
        self._looked_at: list[Any] = []

    def looked_at(self, mapper: Any, messages: list[Any], start: int) -> int:
        """How many messages from ``start`` on the mapper has seen, as the objects that they are."""
        known = self._looked_at
        same = mapper is self._mapper and len(known) <= len(messages) - start
        return len(known) if same and all(map(is_, known, islice(messages, start, None))) else 0

    def look_at(self, mapper: Any, messages: list[Any]) -> None:
        """The mapper has seen these."""
        self._mapper, self._looked_at = mapper, messages

    def checked(self, messages: list[Any]) -> None:
        """The conversation was looked at as it is now."""
        self._checked = _end_of(messages)

    def is_checked(self, messages: list[Any]) -> bool:
        """Whether it was, and nothing has come since; said once."""
        known, self._checked = self._checked, None
        now = _end_of(messages)
        return known is not None and known[0] == now[0] and known[1] is now[1]


def _end_of(messages: list[Any]) -> tuple[int, Any]:
    return len(messages), messages[-1] if messages else None
