"""Mending what a provider would refuse: calls without results, and results without calls."""

from __future__ import annotations

from typing import Any

from ullage import MessageError, detect_format, repair, validate
from ullage.amplifier.shape import calls_of, is_system, results_of

# The stricter of the two formats that Amplifier's messages have.
_STRICTER = "anthropic"
# The formats in which a system message is no message of the list. Amplifier's providers take them
# out themselves, so where they stand is none of the checks' business.
_SYSTEM_APART = frozenset({"anthropic", "bedrock", "gemini"})

# What stands for all that is before the end of a conversation, which nobody gets to see.
_BEFORE = "."


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
        known = messages if like is None else like
        form = "openai" if any(m.get("role") == "tool" for m in known) else _STRICTER
    if form not in _SYSTEM_APART:
        return messages if not validate(messages) else list(repair(messages))
    talk = [message for message in messages if not is_system(message)]
    if not validate(talk, form):
        return _outside_of_calls(messages)
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
    return _outside_of_calls([*out[:front], *lost, *out[front:], *waiting])


def _outside_of_calls(messages: list[Any]) -> list[Any]:
    """The messages, without system messages between calls and their results.

    A hook that runs after each tool puts them there. They come in front of the calls. The same list
    if there are none. O(blocks).
    """
    out: list[Any] = []
    waiting: list[Any] = []
    calls: set[str] = set()
    start, is_moved = 0, False
    for message in messages:
        if is_system(message):
            waiting.append(message)
            continue
        if calls and waiting:
            out[start:start] = waiting
            start, is_moved = start + len(waiting), True
        else:
            out.extend(waiting)
        waiting = []
        if not calls:
            start = len(out)
        out.append(message)
        calls = (calls - set(results_of(message))) | set(calls_of(message))
    return [*out, *waiting] if is_moved else messages


def mended_end(messages: list[Any], since: int, like: list[Any]) -> list[Any]:
    """The messages, mended from one of them on. O(blocks from there on).

    Args:
        messages: The messages.
        since: The index of the first that may need it; the others are as a provider takes them.
        like: Messages that tell their format.

    Raises:
        MessageError: If they cannot be read.
    """
    start = _beginning(messages, since)
    if start == 0:
        return mended(messages, like)
    before = {"role": "user", "content": _BEFORE}
    first, *end = mended([before, *messages[start:]], like)
    # What reaches further back needs all of them.
    return [*messages[:start], *end] if first is before else mended(messages, like)


def _beginning(messages: list[Any], since: int) -> int:
    """The last place up to an index where the model begins to speak; no repair joins across it."""
    begins, spoke = 0, False
    for index in range(since, -1, -1):
        if is_system(messages[index]):
            continue
        speaks = messages[index].get("role") == "assistant"
        if spoke and not speaks:
            return begins
        if speaks:
            begins, spoke = index, True
    return 0
