"""A user's own way to compact: its output is checked, and mended where a provider would refuse."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from ullage import MessageError, UllageError, detect_format, repair, validate
from ullage.amplifier.shape import is_system
from ullage.logger import Logger

logger = Logger(__name__)

# What a user gives: the messages and the tokens that they should come to in, messages out.
Compaction: TypeAlias = Callable[[list[Any], int], list[Any] | Awaitable[list[Any]]]

# The stricter of the two formats that Amplifier's messages have.
_STRICTER = "anthropic"
# The formats in which a system message is no message of the list. Amplifier's providers take them
# out themselves, so where they stand is none of the checks' business.
_SYSTEM_APART = frozenset({"anthropic", "bedrock", "gemini"})


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


def mended(messages: list[Any], like: list[Any] | None = None) -> list[Any]:
    """The messages, or the nearest history that a provider takes. O(blocks).

    Args:
        messages: The messages.
        like: Messages that tell their format, if they have lost what tells it.

    Raises:
        MessageError: If they cannot be read.
    """
    try:
        form = detect_format(messages if like is None else like)
    except MessageError:
        # Nothing tells formats apart, and what comes next may be of the stricter one. Results that
        # are messages are of the other.
        form = "openai" if any(m.get("role") == "tool" for m in messages) else _STRICTER
    if form not in _SYSTEM_APART:
        return messages if not validate(messages) else list(repair(messages))
    talk = [message for message in messages if not is_system(message)]
    if not validate(talk, form):
        return messages
    # Each system message stands again before the message that it stood before.
    before: dict[int, list[Any]] = {}
    waiting: list[Any] = []
    for message in messages:
        if is_system(message):
            waiting.append(message)
        elif waiting:
            before[id(message)], waiting = waiting, []
    out: list[Any] = []
    for message in repair(talk, form):
        out.extend(before.pop(id(message), []))
        out.append(message)
    # Those whose message was mended into another one follow the first system messages.
    lost = [message for group in before.values() for message in group]
    front = next((n for n, m in enumerate(out) if not is_system(m)), len(out))
    return [*out[:front], *lost, *out[front:], *waiting]


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
