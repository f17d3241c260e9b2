"""``Strategy``: compacts the messages of a request that is too long."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ullage import BudgetError, ContextManager, Conversation, MessageError, detect_format, repair
from ullage._engine.calling import acall, in_pool
from ullage._engine.logger import Logger
from ullage._engine.roles import is_system
from ullage.amplifier.importance import newest
from ullage.amplifier.messages import is_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ullage import Report, TokenCounter
    from ullage.amplifier.importance import Judge
    from ullage.amplifier.settings import CompactionSettings

logger = Logger(__name__)

# The user's own compaction: it takes messages and a number of tokens, and returns messages.
Compaction: TypeAlias = Callable[[list[Any], int], list[Any] | Awaitable[list[Any]]]

# It requires a user's message first, and no two messages of one role in a row.
_STRICTEST = "anthropic"


@dataclass(frozen=True)
class Strategy:
    """Compacts messages by the settings of a context.

    Attributes:
        settings: The settings.
        function: The user's own compaction, or None.
        judge: Asks the user which messages are important, or None.
        model: The id of the model, or None if the provider does not name it.
        counter: Counts tokens.
        options: Further arguments of the engine.
    """

    settings: CompactionSettings
    function: Compaction | None
    judge: Judge | None
    model: str | None
    counter: TokenCounter
    options: Mapping[str, Any]

    def engine(self, tokens: int, *, with_account: bool = False) -> ContextManager:
        """Returns an engine for a request of ``tokens``; see :meth:`CompactionSettings.policy`."""
        policy = self.settings.policy(tokens, with_account=with_account)
        return ContextManager(policy, counter=self.counter, model=self.model, **self.options)

    async def compact(self, messages: list[Any], limit: int, pins: Iterable[int]) -> Report | None:
        """Compacts messages in place. O(their length), and the time of the user's functions.

        Args:
            messages: The conversation.
            limit: The greatest number of tokens in the request.
            pins: Indices of messages that must stay unchanged.

        Returns:
            The engine's report, or None if the user's function made the compaction.

        Raises:
            BudgetError: If the messages that must stay do not fit.
            MessageError: If a message cannot be read.
        """
        name, target = self.settings.compaction_strategy, self._target(limit)
        if name == "custom" and self.function is not None:
            own = await _custom(self.function, messages, target)
            if own is not None:
                messages[:] = own
                return None
        fixed = set(pins)
        if name == "simple":
            return await self._simple(messages, limit, fixed)
        is_talk = name == "smart" and await in_pool(self._is_talk, messages)
        engine = self.engine(limit, with_account=is_talk)
        whole = await in_pool(newest, messages, target, self.counter)
        if self.judge is not None:
            whole |= await self.judge.important(messages, whole, target, self.counter)
        try:
            return await engine.acompact(messages, hard=True, pins=sorted(fixed | whole))
        except BudgetError:
            if not whole - fixed:
                raise
        # New and important messages are worth less than the request.
        return await engine.acompact(messages, hard=True, pins=sorted(fixed))

    async def _simple(self, messages: list[Any], limit: int, fixed: set[int]) -> Report:
        must_stay = {id(messages[place]) for place in fixed}
        left = await in_pool(without_repetitions, messages, self.settings.keep_last, must_stay)
        pins = [place for place, message in enumerate(left) if id(message) in must_stay]
        report = await self.engine(limit).acompact(left, hard=True, pins=pins)
        messages[:] = left
        return report

    def _target(self, limit: int) -> int:
        return max(1, int(limit * self.settings.target_usage))

    def _is_talk(self, messages: list[Any]) -> bool:
        """True if most of the text is from people and the model, not from tools."""
        results = [message for message in messages if is_result(message)]
        count = self.counter.count_messages
        return count(results) * 2 < count(messages)


def without_repetitions(messages: list[Any], recent: int, must_stay: set[int]) -> list[Any]:
    """Returns the messages without those that a later message repeats exactly. O(characters).

    System messages, calls, results and the first request stay. A message between two messages of
    another role stays, and so do the last ``recent`` messages and the objects whose id is in
    ``must_stay``. Amplifier compares only the first characters of two messages. This function
    compares all characters, so only true repetitions are removed.
    """
    conversation = Conversation(messages)
    task = next((n for n, message in enumerate(messages) if message.get("role") == "user"), None)
    whole = {task, *range(len(messages) - recent, len(messages))}
    calls, results = conversation.calls, conversation.results
    tools = {call.message for call in calls} | {result.message for result in results}
    seen: set[tuple[Any, str]] = set()
    kept: list[Any] = []
    for index in reversed(range(len(messages))):
        message = messages[index]
        if index not in tools and not is_system(message):
            text = (message.get("role"), _text(message.get("content")))
            is_fixed = index in whole or id(message) in must_stay
            if text in seen and not is_fixed and not _parts(messages, index, kept):
                continue
            seen.add(text)
        kept.append(message)
    kept.reverse()
    return kept


def _parts(messages: list[Any], index: int, kept: list[Any]) -> bool:
    """True if the message stands between two messages of another role."""
    if index == 0 or not kept:
        return False
    role, before, after = (m.get("role") for m in (messages[index], messages[index - 1], kept[-1]))
    return bool(before == after != role)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, sort_keys=True, default=repr)


async def _custom(function: Compaction, messages: list[Any], target: int) -> list[Any] | None:
    """Returns the messages from the user's function, or None if they cannot be used.

    The function gets a new list with the messages of the history, and must not change the messages.
    If it removes system messages, they are added at the front again.
    """
    try:
        left = await acall(function, list(messages), target)
    except Exception:
        logger.warning("the user's compaction failed; the engine compacts instead", exc_info=True)
        return None
    try:
        return _repair_words(_with_system(left, messages))
    except MessageError as error:
        logger.warning(
            "error=<%s> | the user's compaction cannot be used; the engine compacts instead", error
        )
        return None


def _with_system(left: Any, messages: list[Any]) -> list[Any]:
    if not isinstance(left, list) or not all(isinstance(message, dict) for message in left):
        raise MessageError("compaction_function must return a list of messages")
    if all(is_system(message) for message in left):
        raise MessageError("compaction_function must keep a message that is not a system message")
    identities = {id(message) for message in left}
    missing = [
        message
        for message in messages
        if is_system(message) and id(message) not in identities and message not in left
    ]
    return [*missing, *left]


def _repair_words(messages: list[Any]) -> list[Any]:
    """Returns the messages. If their format is unknown, repairs them for the strictest provider.

    The format is unknown if the messages are only text. Otherwise the view repairs them later.
    """
    try:
        detect_format(messages)
    except MessageError:
        system = [message for message in messages if is_system(message)]
        return [*system, *repair([m for m in messages if not is_system(m)], _STRICTEST)]
    return messages
