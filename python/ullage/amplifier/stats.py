"""Describes a compaction in the words of Amplifier's document and of its code."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.amplifier.messages import is_result, is_system

if TYPE_CHECKING:
    from ullage.amplifier.settings import Settings

# The levels of Amplifier that shorten tool results, by the share of them that is shortened; and
# those that remove messages, by the share of the protected recent messages that is left alone.
_SHORTENING = ((0.25, 1), (0.5, 2), (0.75, 4), (1.0, 6))
_REMOVING = ((1.0, 3), (0.6, 5), (0.3, 7), (0.0, 8))


@dataclass(frozen=True)
class Compacted:
    """The sizes before and after a compaction.

    Attributes:
        before: The messages before.
        after: The messages after; those that it left alone are the same objects.
        tokens_before: Tokens of the first, with the system prompt.
        tokens_after: Tokens of the others, likewise.
    """

    before: list[Any]
    after: list[Any]
    tokens_before: int
    tokens_after: int

    def stats(self, settings: Settings, budget: int) -> dict[str, Any]:
        """The stats, by the names of the document and by those of the code. O(messages)."""
        changed = self._changed()
        successors = self._successors(changed)
        # A shortened result has a successor; what was removed has none.
        removed = [n for n in changed if n not in successors]
        shortened = sorted(n for n in successors if is_result(self.before[n]))
        return {
            "strategy": settings.strategy,
            "strategy_level": max(
                _shortening_level(len(shortened), self.before),
                _removing_level(removed, len(self.before), settings.recent),
            ),
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "tokens_saved": self.tokens_before - self.tokens_after,
            "before_tokens": self.tokens_before,
            "after_tokens": self.tokens_after,
            "before_messages": len(self.before),
            "after_messages": len(self.after),
            "messages_removed": len(removed),
            "messages_truncated": len(shortened),
            # No strategy of ullage stubs what a user said; the key is Amplifier's.
            "user_messages_stubbed": 0,
            "system_messages_preserved": sum(is_system(message) for message in self.after),
            "budget": budget,
            "target_tokens": int(budget * settings.target),
            "protected_recent": settings.recent,
            "protected_tool_results": settings.results,
            "affected": [*_named("removed", removed), *_named("shortened", shortened)],
        }

    def _changed(self) -> list[int]:
        same = {id(message) for message in self.after}
        return [n for n, message in enumerate(self.before) if id(message) not in same]

    def _successors(self, changed: list[int]) -> set[int]:
        """Those of the changed messages that are still there, by their roles and ids."""
        known = {id(message) for message in self.before}
        waiting: dict[tuple[Any, ...], list[Any]] = {}
        for message in self.after:
            if id(message) not in known:
                waiting.setdefault(_mark(message), []).append(message)
        found: set[int] = set()
        roles = {role for role, *_ in waiting}
        # From the end: removed messages are mostly older than shortened ones.
        for index in reversed(changed):
            if self.before[index].get("role") not in roles:
                continue
            mark = _mark(self.before[index])
            if group := waiting.get(mark):
                found.add(index)
                group.pop()
                if not group:
                    del waiting[mark]
                    roles = {role for role, *_ in waiting}
        return found


def _mark(message: Any) -> tuple[Any, ...]:
    """Returns the parts that shortening leaves alone: role, and ids of calls and results."""
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
    results = sum(is_result(message) for message in messages)
    return next(level for share, level in _SHORTENING if shortened <= math.ceil(share * results))


def _removing_level(removed: list[int], messages: int, recent: float) -> int:
    if not removed:
        return 0
    spared = messages - 1 - removed[-1]
    return next(level for share, level in _REMOVING if spared >= int(share * recent * messages))


def _named(what: str, indices: list[int]) -> list[str]:
    """Indices as ranges: what happened to message 3, or to the messages 4 to 19."""
    ranges: list[list[int]] = []
    for index in indices:
        if ranges and index == ranges[-1][1] + 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return [f"{what}: message {a}" if a == b else f"{what}: messages {a} to {b}" for a, b in ranges]
