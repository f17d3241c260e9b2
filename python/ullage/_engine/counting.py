"""Counts for hosts that count whatever they are given."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, PolicyError, TokenCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

# Counters that are kept with what they remember; a process talks to few models.
_COUNTERS = 32
# Tokens of a message that cannot be read, beside its text.
_MESSAGE_TOKENS = 4


@lru_cache(maxsize=_COUNTERS)
def counter_for(name: str) -> TokenCounter:
    """The counter of an encoding, or for a model. All callers share it and its memory."""
    try:
        return TokenCounter(name)
    except PolicyError:
        return TokenCounter.for_model(name)


def count_messages(counter: TokenCounter, messages: Sequence[Any], form: str | None = None) -> int:
    """Tokens of messages in a format; one that cannot be read counts as its JSON."""
    try:
        return counter.count_messages(messages, format=form)
    except MessageError:
        if len(messages) == 1:
            return _MESSAGE_TOKENS + counter.count(_json(messages[0]))
        return sum(count_messages(counter, [message], form) for message in messages)


def _json(message: Any) -> str:
    try:
        return json.dumps(message, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        # Keys of several kinds, or a message that holds itself.
        return ascii(message)
