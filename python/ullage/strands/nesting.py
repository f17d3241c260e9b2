"""Reductions inside reductions: an agent that summarizes may be the one that is being reduced."""

from __future__ import annotations

import contextvars
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from strands.types.exceptions import ContextWindowOverflowException

from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = Logger(__name__)

# The agents whose conversation is being reduced in this context, threads begun in it included.
_reducing: contextvars.ContextVar[tuple[int, ...]] = contextvars.ContextVar(
    "ullage_reducing", default=()
)


@contextmanager
def reducing(agent: Any, error: Exception | None) -> Iterator[bool]:
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
