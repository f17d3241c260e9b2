"""How much a conversation may grow until its prompt has to be estimated again."""

from __future__ import annotations

from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# What is added is estimated by itself, and each estimate is rounded down.
_ROUNDING = 1


class Spare:
    """How far one prompt was below the size that matters, when it was estimated.

    A look at a long conversation then costs what is new in it. Messages are compared as objects,
    as the engine compares them: after any other change than new messages at the end, nothing is
    known.
    """

    def __init__(self) -> None:
        self._messages: list[Any] = []
        self._of: Any = None
        self._tokens = 0

    def note(self, messages: list[Any], of: Any, tokens: int) -> None:
        """The prompt with these messages has so many tokens, under the conditions ``of``."""
        self._messages, self._of, self._tokens = [*messages], of, tokens

    def at_most(
        self, messages: list[Any], of: Any, added: Callable[[list[Any]], int]
    ) -> int | None:
        """What the prompt has at most now, if that is known; ``added`` estimates new messages."""
        known = self._messages
        if (
            self._of != of
            or len(known) > len(messages)
            or not all(map(is_, known, islice(messages, len(known))))
        ):
            return None
        if new := messages[len(known) :]:
            self._tokens += added(new) + _ROUNDING
            known += new
        return self._tokens
