"""Finds the messages about a topic that the user wants to keep."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage import TokenCounter

_WORD = re.compile(r"\w{3,}")


def messages_about(
    topic: str | None, messages: Sequence[dict[str, Any]], counter: TokenCounter, limit: float
) -> list[int]:
    """Returns the indices of the messages that say most about a topic, the best first.

    A word of the topic counts more the fewer messages have it.

    Args:
        topic: What the user wrote; may be empty.
        messages: The conversation.
        counter: Counts.
        limit: Tokens that the messages may take.
    """
    words = set(_WORD.findall((topic or "").lower()))
    if not words:
        return []
    texts = (json.dumps(message, default=str, ensure_ascii=False).lower() for message in messages)
    said = [words & set(_WORD.findall(text)) for text in texts]
    holders = {word: sum(word in own for own in said) for word in words}
    worth = [sum(math.log(len(messages) / holders[word]) for word in own) for own in said]
    chosen: list[int] = []
    # The newest of equal ones.
    for index in sorted(range(len(messages)), key=lambda i: (-worth[i], -i)):
        tokens = counter.count_messages([messages[index]], format="openai")
        if worth[index] > 0 and tokens <= limit:
            chosen.append(index)
            limit -= tokens
    return chosen
