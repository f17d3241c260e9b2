"""Which messages stay whole because they are new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.amplifier.shape import is_system

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage import TokenCounter

# Their room, as a share of what a compaction goes down to. The ladder protects a share of the
# messages, however much they take, so where that is too much it would give up all of them.
SHARE = 0.35


def newest(messages: list[Any], target: int, counter: TokenCounter) -> set[int]:
    """The indices of the newest messages, as many as fit in their part of the target."""
    order = (n for n in reversed(range(len(messages))) if not is_system(messages[n]))
    return within(order, messages, int(target * SHARE), counter)


def within(order: Iterable[int], messages: list[Any], room: int, counter: TokenCounter) -> set[int]:
    """The first indices of an order whose messages fit in the room."""
    chosen: set[int] = set()
    for index in order:
        room -= counter.count_messages([messages[index]])
        if room < 0:
            break
        chosen.add(index)
    return chosen
