"""Pins as Strands sets them: ``metadata.custom.pinned`` of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.pins import has_pin

if TYPE_CHECKING:
    from collections.abc import Iterable


def pinned_indices(messages: list[Any], more: Iterable[int] = ()) -> set[int]:
    """The messages that may not leave: those with a pin, ``more``, and their partners.

    A call whose results are pinned stays, and so do the results of a pinned call.
    """
    found = {index for index, message in enumerate(messages) if has_pin(message)}.union(more)
    for index in tuple(found):
        identities = call_ids(messages[index])
        for neighbour in (index - 1, index + 1):
            if 0 <= neighbour < len(messages) and identities & call_ids(messages[neighbour]):
                found.add(neighbour)
    return found


def with_pin(message: Any) -> Any:
    """The message with a pin: itself if it has one, otherwise a copy."""
    if has_pin(message):
        return message
    metadata = message.get("metadata") or {}
    custom = {**(metadata.get("custom") or {}), "pinned": True}
    return {**message, "metadata": {**metadata, "custom": custom}}


def call_ids(message: Any) -> set[str]:
    """The ids of the calls that a message makes or answers."""
    blocks = [block for block in message.get("content", ()) if isinstance(block, dict)]
    parts = [block.get("toolUse") or block.get("toolResult") or {} for block in blocks]
    return {part["toolUseId"] for part in parts if part.get("toolUseId")}
