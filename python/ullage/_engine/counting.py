"""Counts tokens of any value, for hosts that do not check their messages first."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ullage._core import MessageError, PolicyError, TokenCounter

if TYPE_CHECKING:
    from collections.abc import Sequence

# Counters that are cached, with their own caches. A process talks to few models.
_COUNTERS = 32
# Tokens added to the text of a message that cannot be read.
_MESSAGE_TOKENS = 4


@lru_cache(maxsize=_COUNTERS)
def counter_for(name: str) -> TokenCounter:
    """Returns the counter of an encoding or a model. All callers share it and its cache."""
    try:
        return TokenCounter(name)
    except PolicyError:
        return TokenCounter.for_model(name)


def count_messages(counter: TokenCounter, messages: Sequence[Any], form: str | None = None) -> int:
    """Returns the tokens of messages. A message that cannot be read counts as its JSON."""
    try:
        return counter.count_messages(messages, format=form)
    except MessageError:
        if len(messages) == 1:
            return _MESSAGE_TOKENS + counter.count(json_text(messages[0]))
        return sum(count_messages(counter, [message], form) for message in messages)


def json_text(value: Any) -> str:
    """Returns any value as JSON, or as Python writes it."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        # The keys have several types, or the value contains itself.
        return ascii(value)
