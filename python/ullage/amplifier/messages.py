"""Taking in a message of the host's: refused at once if no request could be made with it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ullage import MessageError, validate

# The rule without which a message could not be counted, so that no request would work any more.
_READABLE = "message-can-be-read"


def stamped(message: Any) -> dict[str, Any]:
    """A copy of a message that says when it came.

    Raises:
        MessageError: If it is no message that can be read.
    """
    metadata = required(message).get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    metadata.setdefault("timestamp", datetime.now(timezone.utc).isoformat(timespec="milliseconds"))
    return {**message, "metadata": metadata}


def copies(messages: list[Any]) -> list[dict[str, Any]]:
    """Copies of messages, without a time: it is not known when they were said.

    Raises:
        MessageError: If one of them cannot be read.
    """
    return [dict(required(message)) for message in messages]


def required(message: Any) -> Mapping[str, Any]:
    """The message, which has to be a dict that can be read.

    Raises:
        MessageError: If it is not.
    """
    if not isinstance(message, Mapping):
        raise MessageError(f"a message is a {type(message).__name__}, not a dict")
    if not isinstance(message.get("role"), str):
        raise MessageError("a message has no role: user, assistant, system or tool")
    for found in validate([message]):
        # What else a provider would refuse depends on the messages around it.
        if found.rule == _READABLE:
            raise MessageError(f"the message cannot be read: {found.problem}; {found.remedy}")
    return message
