"""The durable id of a message (``tracking_id``), which Strands requires of every message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.types.content import Message

if TYPE_CHECKING:
    from collections.abc import Iterable

# Since Strands 1.62.
_HAS_IDS = "tracking_id" in Message.__annotations__


def identify(messages: list[Any], known: Iterable[Any]) -> None:
    """Gives an id to each message that has none, except to those that were known before.

    Strands does so for every message that it appends. Messages of others are not changed.
    """
    if not _HAS_IDS:
        return
    others = set(map(id, known))
    for message in messages:
        if id(message) not in others and not message.get("tracking_id"):
            message["tracking_id"] = str(uuid4())
