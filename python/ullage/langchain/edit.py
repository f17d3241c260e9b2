"""An edit for LangChain's own ``ContextEditingMiddleware``, and a token counter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import TokenCounter
from ullage._engine.steps import run
from ullage._hosts.conversations import Conversations
from ullage._hosts.engines import Engines
from ullage.langchain.codec import MessageCodec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.messages import BaseMessage

    from ullage import ContextManager, Policy
    from ullage.stores.protocol import Store


class EngineEdit:
    """An edit that compacts as :class:`ContextMiddleware` does.

        middleware = [ContextEditingMiddleware(edits=[EngineEdit(policy=policy)])]

    For agents that have ``ContextEditingMiddleware`` already. It compacts requests, and does
    nothing else: it sees neither the system prompt nor the tools, recovers from no refusal, and
    brings no tool. Give the engine the tools that it should count.

    Args:
        engine: The engine. If not given, one with the arguments below.
        policy: The settings; those for the model if not given.
        store: Where removed content is kept; in memory if not given.
        model: The id of the model.

    Raises:
        PolicyError: If an argument is invalid, or an engine is given together with what it has.
    """

    def __init__(
        self,
        engine: ContextManager | None = None,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        model: str | None = None,
    ) -> None:
        engines = Engines(engine, policy=policy, store=store, model=model, format="openai")
        self._engine = engines.of(model, None)
        self._conversations = Conversations(MessageCodec())

    def apply(
        self,
        messages: list[Any],
        *,
        count_tokens: Callable[..., int],  # noqa: ARG002 - LangChain passes its own counter
    ) -> None:
        """Puts the view of the messages in their place."""
        key = messages[0].id if messages else None
        conversation, reading = self._conversations.of(self._engine, messages, key=key)
        messages[:] = run(conversation.request(reading))


def token_counter(
    model: str | None = None, *, counter: TokenCounter | None = None
) -> Callable[[Sequence[BaseMessage]], int]:
    """A counter for LangChain's ``trim_messages`` and ``SummarizationMiddleware``.

    Args:
        model: The id of the model whose tokens are counted.
        counter: The counter of an engine, which learns from what the provider reports; that of the
            model if not given.
    """
    own = counter or (TokenCounter.for_model(model) if model else TokenCounter())
    codec = MessageCodec()

    def count(messages: Sequence[BaseMessage]) -> int:
        return own.count_messages(list(map(codec.row, messages)), format="openai")

    return count
