"""What a conversation manager knows of one agent, and whether it is reducing it now."""

from __future__ import annotations

import contextvars
from contextlib import contextmanager
from operator import is_
from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage._engine.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ullage.strands.engines import Engines

logger = Logger(__name__)

# The agents whose conversation is being reduced in this context, threads begun in it included.
_reducing: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar(
    "ullage_reducing", default=()
)


class AgentState:
    """What is known of one agent, and of no other.

    Attributes:
        observed: The last answer whose usage was learned from.
        overflows: Refusals since the provider last answered.
        engines: What decides for the agent, and what that was made for.
        invoked: Whether the agent is at work.
        put_off: Whether it is to be managed when it has done its work.
        given_up: The refusal that nothing helped against, and the error that says so.
    """

    def __init__(self, _: Any) -> None:
        self.observed: Any = None
        self.overflows = 0
        self.engines: tuple[Any, Engines] | None = None
        self.invoked = False
        self.put_off = False
        self.given_up: tuple[Exception, Exception] | None = None
        self._checked: tuple[int, Any] | None = None
        self._looked_by: Any = None
        self._looked_at: list[Any] = []

    def unseen(self, by: Any, messages: list[Any]) -> Iterable[int]:
        """The messages that were not looked at yet, as the objects that they are.

        Args:
            by: What looks at them; where it is None, or not what looked before, all are new.
            messages: The messages that are looked at.
        """
        known = self._looked_at
        if by is None or by != self._looked_by:
            return range(len(messages))
        if len(known) <= len(messages) and all(map(is_, known, messages)):
            return range(len(known), len(messages))
        seen = set(map(id, known))
        return [index for index, message in enumerate(messages) if id(message) not in seen]

    def look_at(self, by: Any, messages: list[Any]) -> None:
        """These were looked at."""
        self._looked_by, self._looked_at = by, messages

    def checked(self, messages: Any) -> None:
        """The conversation was looked at as it is now."""
        self._checked = _end_of(messages)

    def is_checked(self, messages: Any) -> bool:
        """Whether it was, and nothing has come since; said once."""
        known, self._checked = self._checked, None
        now = _end_of(messages)
        return known is not None and known[0] == now[0] and known[1] is now[1]


def _end_of(messages: Any) -> tuple[int, Any]:
    if not isinstance(messages, list) or not messages:
        return 0, None
    return len(messages), messages[-1]


@contextmanager
def reduction_of(agent: Any, error: Exception | None) -> Iterator[bool]:
    """Whether the conversation of this agent may be reduced: not while it is already.

    Raises:
        ContextWindowOverflowException: If it may not, and a refusal asks for it.
    """
    inside = _reducing.get()
    if id(agent) in inside:
        logger.debug("an agent is summarized by itself, and was left as it is")
        if error is not None:
            raise ContextWindowOverflowException(
                "the history is being reduced already, by whom this request is for"
            ) from error
        yield False
        return
    token = _reducing.set((*inside, id(agent)))
    try:
        yield True
    finally:
        _reducing.reset(token)
