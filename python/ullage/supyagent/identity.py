"""Telling whether messages are those that were seen before, though they are lists and dicts."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a message says. Hosts put marks of their own beside it, which come and go.
_SAYING = ("role", "content", "name", "tool_calls", "tool_call_id")
# Bytes of a fingerprint: no two conversations of one person share 128 bits by chance.
_DIGEST = 16


def fingerprint(messages: Iterable[Any]) -> str:
    """A text that changes when what the messages say does; the same on every machine. O(length)."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for message in messages:
        digest.update(_written(message).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def snapshot(value: Any) -> Any:
    """The value as it is now: its dicts and lists are copied, its texts are shared.

    It equals the value until that is changed in place. To compare takes no more than a glance at
    each text, because it is the very same one. O(parts).
    """
    if isinstance(value, dict):
        return {key: snapshot(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(snapshot, value)) if type(value) in {list, tuple} else value
    return value


def _written(message: Any) -> str:
    said: Any = message
    if isinstance(message, dict):
        said = {key: message[key] for key in _SAYING if message.get(key)}
    try:
        return json.dumps(said, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        # No JSON: keys of several kinds, or a message within itself.
        return ascii(said)
