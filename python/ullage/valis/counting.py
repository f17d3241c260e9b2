"""Counting messages, also those that cannot be read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ullage
from ullage.valis.messages import written

# What a message that cannot be read takes beside its text.
_MESSAGE_TOKENS = 4


class Counting:
    """Counts by a tokenizer; what was counted is remembered.

    Args:
        tokenizer: "cl100k_base", "o200k_base", or the id of a model, by whose tokens is counted.
    """

    def __init__(self, tokenizer: str) -> None:
        self.counter = _counter(tokenizer)

    def messages(self, messages: list[Any]) -> int:
        """Tokens of messages; one that cannot be read counts as its JSON."""
        try:
            return self.counter.count_messages(messages)
        except ullage.MessageError:
            return sum(map(self.message, messages))

    def message(self, message: Any) -> int:
        """Tokens of one message."""
        try:
            return self.counter.count_messages([message])
        except ullage.MessageError:
            return _MESSAGE_TOKENS + self.counter.count(written(message))


@lru_cache(maxsize=8)  # Counters remember what they counted; a process talks to few models.
def _counter(tokenizer: str) -> ullage.TokenCounter:
    try:
        return ullage.TokenCounter(tokenizer)
    except ullage.PolicyError:
        return ullage.TokenCounter.for_model(tokenizer)
