"""Describes a compaction with the names of Amplifier's document and of its code."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from ullage._engine.roles import is_system
from ullage.amplifier.messages import is_result

if TYPE_CHECKING:
    from ullage.amplifier.settings import CompactionSettings

# The levels of Amplifier that shorten tool results, by the share of the results. Below are the
# levels that remove messages, by the share of the protected recent messages that stay.
_SHORTENING = ((0.25, 1), (0.5, 2), (0.75, 4), (1.0, 6))
_REMOVING = ((1.0, 3), (0.6, 5), (0.3, 7), (0.0, 8))


def stats_of(
    before: list[Any],
    after: list[Any],
    tokens: tuple[int, int],
    settings: CompactionSettings,
    budget: int,
) -> dict[str, Any]:
    """Returns the stats of a compaction, under the names of the document and of the code.

    Unchanged messages are the same objects in ``after``. The tokens (before, after) and the budget
    include the system prompt. O(messages).
    """
    same = {id(message) for message in after}
    changed = [n for n, message in enumerate(before) if id(message) not in same]
    # A shortened result has a successor; a removed message has none.
    survivors = _with_successors(before, changed, after)
    removed = [n for n in changed if n not in survivors]
    shortened = sorted(n for n in survivors if is_result(before[n]))
    return {
        "strategy": settings.compaction_strategy,
        "strategy_level": max(
            _shortening_level(len(shortened), before),
            _removing_level(removed, len(before), settings.protected_recent),
        ),
        "tokens_before": tokens[0],
        "tokens_after": tokens[1],
        "tokens_saved": tokens[0] - tokens[1],
        "before_tokens": tokens[0],
        "after_tokens": tokens[1],
        "before_messages": len(before),
        "after_messages": len(after),
        "messages_removed": len(removed),
        "messages_truncated": len(shortened),
        # No strategy of ullage replaces a user's message by a stub. The key is Amplifier's.
        "user_messages_stubbed": 0,
        "system_messages_preserved": sum(map(is_system, after)),
        "budget": budget,
        "target_tokens": int(budget * settings.target_usage),
        "protected_recent": settings.protected_recent,
        "protected_tool_results": settings.protected_tool_results,
        "affected": [*_ranges("removed", removed), *_ranges("shortened", shortened)],
    }


def _with_successors(before: list[Any], changed: list[int], after: list[Any]) -> set[int]:
    """Returns the changed messages that still have a message of the same role and ids."""
    original = {id(message) for message in before}
    new = Counter(_mark(message) for message in after if id(message) not in original)
    survivors: set[int] = set()
    # From the end, because removed messages are mostly older than shortened ones.
    for index in reversed(changed):
        mark = _mark(before[index])
        if new[mark]:
            new[mark] -= 1
            survivors.add(index)
    return survivors


def _mark(message: Any) -> tuple[Any, ...]:
    """Returns the parts that shortening never changes: the role, and ids of calls and results."""
    content, mark = message.get("content"), (message.get("role"), message.get("tool_call_id"))
    if not isinstance(content, list):
        return mark
    ids = [
        block.get("tool_use_id") or block.get("id")
        for block in content
        if isinstance(block, dict) and block.get("type") in {"tool_result", "tool_use"}
    ]
    return (*mark, *map(str, ids))


def _shortening_level(shortened: int, messages: list[Any]) -> int:
    if not shortened:
        return 0
    results = sum(map(is_result, messages))
    return next(level for share, level in _SHORTENING if shortened <= math.ceil(share * results))


def _removing_level(removed: list[int], messages: int, recent: float) -> int:
    if not removed:
        return 0
    spared = messages - 1 - removed[-1]
    return next(level for share, level in _REMOVING if spared >= int(share * recent * messages))


def _ranges(what: str, indices: list[int]) -> list[str]:
    """Returns lines such as "removed: message 3" and "removed: messages 4 to 19"."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return [f"{what}: message {a}" if a == b else f"{what}: messages {a} to {b}" for a, b in ranges]
