"""The three strategies: how the messages of a request that is too long are compacted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from ullage import BudgetError
from ullage._engine.calling import in_pool
from ullage.amplifier import custom
from ullage.amplifier.importance import newest
from ullage.amplifier.messages import is_of_a_tool, is_result, is_system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import ContextManager, Report, TokenCounter
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import Settings


class EngineFor(Protocol):
    """Makes an engine for so many tokens."""

    def __call__(self, tokens: int, *, with_account: bool = False) -> ContextManager:
        """The engine. ``with_account``: see :meth:`Settings.policy`."""


async def compact(
    messages: list[Any],
    limit: int,
    pins: Iterable[int],
    *,
    settings: Settings,
    engine_for: EngineFor,
    counter: TokenCounter,
    judge: Judge | None,
    function: custom.Compaction | None,
) -> Report | None:
    """Compacts messages in place. O(their length), and what the user's functions take.

    Args:
        messages: The conversation.
        limit: Tokens that it may take.
        pins: Indices of messages that must stay as they are.
        settings: How to compact.
        engine_for: Makes the engine.
        counter: What counts tokens.
        judge: Asks the user which messages are important.
        function: The user's own compaction.

    Returns:
        The engine's report; None where the user's function compacted.

    Raises:
        BudgetError: If what must stay does not fit.
        MessageError: If a message cannot be read.
    """
    target = max(1, int(limit * settings.target))
    must_stay = {id(messages[pin]) for pin in pins}
    if settings.strategy == "custom" and function is not None:
        made = await custom.compacted(function, messages, target)
        if made is not None:
            messages[:] = made
            return None
    if settings.strategy == "simple":
        return await _simple(messages, must_stay, settings.keep, engine_for(limit))
    is_talk = settings.strategy == "smart" and await in_pool(_is_talk, messages, counter)
    engine = engine_for(limit, with_account=is_talk)
    fixed = {place for place, message in enumerate(messages) if id(message) in must_stay}
    whole = await in_pool(newest, messages, target, counter)
    if judge is not None:
        whole |= await judge.important(messages, whole, target, counter)
    try:
        return await engine.acompact(messages, hard=True, pins=sorted(fixed | whole))
    except BudgetError:
        if not whole - fixed:
            raise
    # New and important messages are worth less than the request.
    return await engine.acompact(messages, hard=True, pins=sorted(fixed))


async def _simple(
    messages: list[Any], must_stay: set[int], keep: int, engine: ContextManager
) -> Report:
    left = await in_pool(without_repetitions, messages, keep, must_stay)
    pins = [place for place, message in enumerate(left) if id(message) in must_stay]
    report = await engine.acompact(left, hard=True, pins=pins)
    messages[:] = left
    return report


def _is_talk(messages: list[Any], counter: TokenCounter) -> bool:
    """True if people and the model said most of it, rather than tools."""
    results = [message for message in messages if is_result(message)]
    return counter.count_messages(results) * 2 < counter.count_messages(messages)


def without_repetitions(messages: list[Any], recent: int, must_stay: set[int]) -> list[Any]:
    """The messages without those that a later one repeats word for word. O(characters).

    The newest of them stays. The first request stays too, because it is the task; and so do system
    messages, calls and results, and what stands between two messages of another role. Amplifier
    compared the first characters; here all of them count, so that nothing is lost that is said only
    once.

    Args:
        messages: The conversation.
        recent: So many messages at the end stay in any case.
        must_stay: Ids of objects that stay in any case.

    Returns:
        A new list of the same objects.
    """
    task = next((n for n, m in enumerate(messages) if m.get("role") == "user"), None)
    seen: set[tuple[Any, str]] = set()
    kept: list[Any] = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        if not is_system(message) and not is_of_a_tool(message):
            text = (message.get("role"), _text(message.get("content")))
            is_fixed = index == task or index >= len(messages) - recent or id(message) in must_stay
            if text in seen and not is_fixed and not _parts(messages, index, kept):
                continue
            seen.add(text)
        kept.append(message)
    kept.reverse()
    return kept


def _parts(messages: list[Any], index: int, kept: list[Any]) -> bool:
    """True if the message keeps two messages of another role apart."""
    if index == 0 or not kept:
        return False
    role, before, after = (m.get("role") for m in (messages[index], messages[index - 1], kept[-1]))
    return bool(before == after != role)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, sort_keys=True, default=repr)
