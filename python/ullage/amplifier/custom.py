"""A compaction function of the user's: what it returns is checked before it is used."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ullage import MessageError, detect_format, repair
from ullage._engine.logger import Logger
from ullage.amplifier.messages import is_system

logger = Logger(__name__)

# It takes a user's message first, and no two of one role in a row.
_STRICTEST = "anthropic"
# The messages and the tokens that they should come to, and what is left of them.
Compaction: TypeAlias = Callable[[list[Any], int], list[Any] | Awaitable[list[Any]]]


async def compacted(compaction: Compaction, messages: list[Any], target: int) -> list[Any] | None:
    """Returns the messages that the user's function leaves; None if they cannot be used.

    The function gets a list of its own. The messages in it are those of the history, and are not
    to be changed: what is to be shorter has to be a copy. System messages that it left out come
    back to the front.

    Args:
        compaction: The function, plain or async; a plain one runs in a thread.
        messages: The conversation.
        target: Tokens that they should come to.
    """
    try:
        if inspect.iscoroutinefunction(compaction):
            made = await compaction(list(messages), target)
        else:
            made = await asyncio.to_thread(compaction, list(messages), target)
            if inspect.isawaitable(made):
                made = await made
    except Exception:
        logger.warning("the user's compaction failed; the engine compacts instead", exc_info=True)
        return None
    try:
        return _repaired(_with_system(_checked(made), messages))
    except MessageError as error:
        logger.warning("error=<%s> | the user's compaction is of no use; the engine's is", error)
        return None


def _checked(made: Any) -> list[Any]:
    if not isinstance(made, list) or not all(isinstance(message, dict) for message in made):
        raise MessageError("a compaction has to return a list of messages")
    if all(is_system(message) for message in made):
        raise MessageError("a compaction has to leave a message that is not the system's")
    return made


def _with_system(made: list[Any], messages: list[Any]) -> list[Any]:
    there = {id(message) for message in made}
    said = [message for message in made if is_system(message)]
    gone = [m for m in messages if is_system(m) and id(m) not in there and m not in said]
    return [*gone, *made]


def _repaired(made: list[Any]) -> list[Any]:
    """The messages, where they are words alone as the strictest provider takes them.

    Words do not tell their format, and what comes next may be of any. What tells its format is
    repaired by the view.
    """
    try:
        detect_format(made)
    except MessageError:
        system = [message for message in made if is_system(message)]
        return [*system, *repair([m for m in made if not is_system(m)], _STRICTEST)]
    return made
