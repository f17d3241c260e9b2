"""Finds the messages about a topic that must stay."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._hosts.rows import Row

_WORD = re.compile(r"\w{3,}")


def rows_about(topic: str, rows: Sequence[Row], tokens: Sequence[int], limit: float) -> list[int]:
    """Returns the indices of the rows that say most about a topic, the best first.

    A word of the topic counts more the fewer rows have it.

    Args:
        topic: What the user wrote.
        rows: The conversation.
        tokens: The tokens of each row.
        limit: Tokens that the rows may take.
    """
    words = set(_WORD.findall(topic.lower()))
    texts = (json.dumps(row, default=str, ensure_ascii=False).lower() for row in rows)
    found = [words & set(_WORD.findall(text)) for text in texts]
    holders = {word: sum(word in own for own in found) for word in words}
    worth = [sum(math.log(len(rows) / holders[word]) for word in own) for own in found]
    chosen: list[int] = []
    # The newest of equal ones.
    for index in sorted(range(len(rows)), key=lambda i: (-worth[i], -i)):
        if worth[index] > 0 and tokens[index] <= limit:
            chosen.append(index)
            limit -= tokens[index]
    return chosen
