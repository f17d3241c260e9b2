"""``EngineCompactor``: the compactions of an engine, for Haystack's ``CompactionHook``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import BudgetError
from ullage._engine.steps import arun, run
from ullage._hosts.conversations import Conversations
from ullage._hosts.engines import Engines
from ullage._hosts.rows import split
from ullage.haystack.codec import MessageCodec, is_system
from ullage.haystack.generator import FORMAT

if TYPE_CHECKING:
    from haystack.dataclasses import ChatMessage
    from haystack.token_counters import TokenCounter

    from ullage import ContextManager
    from ullage._engine.steps import Steps

# Compactions for one target, if the host counts more than the engine does.
_MOST_ATTEMPTS = 3


class EngineCompactor:
    """A ``Compactor`` that compacts as an engine does.

        hook = CompactionHook(EngineCompactor(engine), context_window=200_000)
        Agent(..., hooks={"before_llm": [hook]})

    For agents that have a ``CompactionHook``. Its result takes the place of the run's messages. It
    sees neither the tools, the usage nor a refusal, so prefer :class:`ContextGenerator`.

    Args:
        engine: The engine.

    Raises:
        PolicyError: If it is no engine.
    """

    def __init__(self, engine: ContextManager) -> None:
        self._engine = Engines(engine, format=FORMAT).last
        self._conversations = Conversations(MessageCodec())

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Returns the messages within a target by the host's count; None if nothing gets smaller.

        If the target cannot be reached, it returns as few tokens as possible.
        """
        return run(self._compact_steps(messages, target_tokens, token_counter))

    async def compact_async(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Does the same in an event loop."""
        return await arun(self._compact_steps(messages, target_tokens, token_counter))

    def to_dict(self) -> dict[str, Any]:
        """An engine cannot be serialized.

        Raises:
            TypeError: Always.
        """
        raise TypeError("EngineCompactor cannot be serialized; add the hook to the loaded agent")

    def _compact_steps(
        self, messages: list[ChatMessage], target: int, counter: TokenCounter
    ) -> Steps[list[ChatMessage] | None]:
        prompt, history = split(messages, is_system)
        conversation, reading = self._conversations.of(self._engine, history)
        before = counter.count(messages=messages)
        # The engine's tokens for each token of the host.
        ratio = self._engine.counter.count_messages(reading.rows, format=FORMAT) / max(before, 1)
        room, best, least = target - counter.count(messages=prompt), None, before
        for _ in range(_MOST_ATTEMPTS):
            budget = max(int(room * ratio), 1)
            try:
                shown = yield from conversation.request(reading, budget=budget)
            except BudgetError as error:
                shown = yield from conversation.request(reading, budget=error.floor)
            tokens = counter.count(messages=[*prompt, *shown])
            if tokens < least:
                best, least = [*prompt, *shown], tokens
            if tokens <= target or room <= 0:
                break
            room -= tokens - target
        return best
