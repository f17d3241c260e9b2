"""Messages in the state of a conversation manager, packed where they are long."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

# JSON of so many characters is stored as it is, for whoever reads a session: a task, a summary and
# a few pins. What is longer is mostly tool results, which pack to a fraction.
_READABLE = 4_000
# The fastest: a state is made in the event loop, when what is packed has changed.
_LEVEL = 1


def packed(messages: list[Any]) -> list[Any] | str:
    """The messages, or one text where they are long: their JSON, by zlib, in base64."""
    try:
        text = json.dumps(messages, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        # What is no JSON is for the session to judge, as everything else in a message.
        return messages
    if len(text) <= _READABLE:
        return messages
    return base64.b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii")


def unpacked(stored: Any) -> Any:
    """What was packed.

    Raises:
        ValueError: If it is a text that was not.
    """
    if not isinstance(stored, str):
        return stored
    try:
        return json.loads(zlib.decompress(base64.b64decode(stored, validate=True)))
    except (binascii.Error, zlib.error, RecursionError) as error:
        raise ValueError("it is damaged") from error
