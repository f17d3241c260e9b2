"""A strategy and a tokenizer for the framework's own compaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage import TokenCounter
from ullage._engine.steps import arun
from ullage._hosts.conversations import Conversations
from ullage._hosts.engines import Engines
from ullage.agent_framework.codec import MessageCodec

if TYPE_CHECKING:
    from agent_framework import Message

    from ullage import ContextManager

# The framework leaves a message out of the request if this is true.
_EXCLUDED = "_excluded"
# Marks the messages that a strategy of ours has put into the list.
_MADE = "_ullage"


class EngineStrategy:
    """A ``CompactionStrategy`` that compacts as :class:`ContextMiddleware` does.

        agent = Agent(client=client, tools=tools, compaction_strategy=EngineStrategy(engine))

    Messages that leave stay in the list and are marked as excluded; what takes their place is put
    beside them. The strategy sees neither the instructions, the tools, the usage nor a refusal, so
    prefer the middleware, and give the tools to the engine.

    Args:
        engine: The engine.
    """

    def __init__(self, engine: ContextManager) -> None:
        self._engine = Engines(engine, format="anthropic").last
        self._conversations = Conversations(MessageCodec())

    async def __call__(self, messages: list[Message]) -> bool:
        """Marks messages and adds others. Returns True if that changed the request."""
        before = _request(messages)
        own = [message for message in messages if _MADE not in message.additional_properties]
        conversation, reading = self._conversations.of(self._engine, own)
        shown = await arun(conversation.request(reading))
        kept = set(map(id, shown))
        for message in own:
            if id(message) in kept:
                message.additional_properties.pop(_EXCLUDED, None)
            else:
                message.additional_properties[_EXCLUDED] = True
        known = set(map(id, own))
        for message in shown:
            if id(message) not in known:
                message.additional_properties = {_MADE: True}
        messages[:] = _merge(own, shown, known)
        return _request(messages) != before


class EngineTokenizer:
    """A ``TokenizerProtocol`` with the counts of ullage.

    Args:
        model: The id of the model whose tokens are counted.
    """

    def __init__(self, model: str | None = None) -> None:
        self._counter = TokenCounter.for_model(model) if model else TokenCounter()

    def count_tokens(self, text: str) -> int:
        """Returns the tokens of a text."""
        return self._counter.count(text)


def _request(messages: list[Message]) -> list[Any]:
    """Returns the key of a request: its messages, and the contents of the messages made for it."""
    return [
        message.to_dict() if _MADE in message.additional_properties else id(message)
        for message in messages
        if not message.additional_properties.get(_EXCLUDED)
    ]


def _merge(own: list[Any], shown: list[Any], known: set[int]) -> list[Any]:
    """Returns all messages. Each made message is before the first sent message that follows it."""
    places = {id(message): place for place, message in enumerate(own)}
    merged: list[Any] = []
    at = 0
    for message in shown:
        if id(message) in known:
            merged += own[at : places[id(message)] + 1]
            at = places[id(message)] + 1
        else:
            merged.append(message)
    return merged + own[at:]
