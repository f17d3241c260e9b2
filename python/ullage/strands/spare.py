"""How much a conversation may grow until its prompt has to be estimated again."""

from __future__ import annotations

from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    _Estimate: TypeAlias = Callable[[list[Any]], int]

# What is added is estimated by itself, and each estimate is rounded down.
_ROUNDING = 1


class Spare:
    """How far one prompt was below the size that matters, when it was estimated.

    A look at a long conversation then costs what is new in it. Messages are compared as objects,
    as the engine compares them: after any other change than new messages at the end, nothing is
    known. The last message is estimated anew each time, since hooks add to it.
    """

    def __init__(self) -> None:
        # All but the last.
        self._messages: list[Any] = []
        self._of: Any = None
        self._tokens = 0

    def note(self, messages: list[Any], of: Any, tokens: int, estimate: _Estimate) -> None:
        """The prompt has so many tokens, under the conditions ``of``."""
        self._messages, self._of = messages[:-1], of
        self._tokens = tokens - estimate(messages[-1:]) + _ROUNDING

    def at_most(self, messages: list[Any], of: Any, estimate: _Estimate) -> int | None:
        """What the prompt has at most now, if that is known; ``estimate`` is that of messages."""
        known = self._messages
        if (
            self._of != of
            or len(known) >= len(messages)
            or not all(map(is_, known, islice(messages, len(known))))
        ):
            return None
        if new := messages[len(known) : -1]:
            self._tokens += estimate(new) + _ROUNDING
            known += new
        return self._tokens + estimate(messages[-1:]) + _ROUNDING
