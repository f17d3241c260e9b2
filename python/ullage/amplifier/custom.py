"""A user's own way to compact: its output is checked, and mended where a provider would refuse."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ullage import MessageError, UllageError
from ullage.amplifier.mending import mended
from ullage.amplifier.shape import is_system
from ullage.logger import Logger

logger = Logger(__name__)

# What a user gives: the messages and the tokens that they should come to in, messages out.
Compaction: TypeAlias = Callable[[list[Any], int], list[Any] | Awaitable[list[Any]]]


async def compacted(compaction: Compaction, messages: list[Any], target: int) -> list[Any] | None:
    """What the user's function makes of the messages, mended; None where it made nothing of use.

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
        return mended(_with_system(_checked(made), messages), like=messages)
    except UllageError as error:
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
