"""A message as one line of JSON, and back."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from ullage._core import MessageError

# The form of bytes in JSON, as in Strands' own sessions.
_BYTES, _DATA = "__bytes_encoded__", "data"
# The engine's limit, MAX_MESSAGE_DEPTH in src/wire. Python reads about 1,000 levels, less the depth
# of the caller.
_DEEPEST = 272
# Bytes of a digest: two of 2**64 different copies may have the same.
_DIGEST = 16


def line_of(message: Any, index: int) -> str:
    """Returns a message as JSON on one line.

    Raises:
        MessageError: If it is not JSON, or is nested too deeply to be read again.
    """
    try:
        line = written(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(
            f"message {index} cannot be written as JSON: {error}; give dicts, lists, texts, numbers"
            " and bytes"
        ) from error
    # No ordinary message has this many brackets. JSON has no cycles, so the walk ends.
    if line.count("[") + line.count("{") > _DEEPEST and _is_too_deep(message):
        raise MessageError(
            f"message {index} is nested deeper than {_DEEPEST} levels; give the value as a text"
        )
    return line


def written(message: Any) -> str:
    """Returns the same, with the errors of ``json``."""
    line = _AS_IT_IS.encode(message)
    try:
        line.encode()
    except UnicodeEncodeError:
        # A lone surrogate, which only an escape can represent.
        line = _ESCAPED.encode(message)
    return line


def read(record: str) -> Any:
    """Returns the message of a line.

    Raises:
        ValueError: If it is not JSON.
        RecursionError: If it is nested too deeply.
    """
    return json.loads(record, object_hook=_from_json)


def digest_of(line: str) -> str:
    """Returns a digest of the line, the same in every process."""
    return hashlib.blake2b(line.encode(), digest_size=_DIGEST).hexdigest()


def _is_too_deep(message: Any) -> bool:
    level = [message]
    for _ in range(_DEEPEST + 1):
        containers = [value for value in level if isinstance(value, (dict, list, tuple))]
        if not containers:
            return False
        level = [
            child
            for value in containers
            for child in (value.values() if isinstance(value, dict) else value)
        ]
    return True


def to_json(value: Any) -> Any:
    """Returns bytes in their JSON form.

    Raises:
        TypeError: If the value is anything else.
    """
    if isinstance(value, (bytes, bytearray)):
        return {_BYTES: True, _DATA: base64.b64encode(value).decode()}
    raise TypeError(f"a {type(value).__name__} is not JSON")


def _from_json(value: dict[str, Any]) -> Any:
    if value.get(_BYTES) is not True or set(value) != {_BYTES, _DATA}:
        return value
    try:
        return base64.b64decode(value[_DATA], validate=True)
    except (TypeError, ValueError):
        return value  # It only looks like bytes of this form.


_AS_IT_IS, _ESCAPED = (
    json.JSONEncoder(ensure_ascii=escapes, allow_nan=False, separators=(",", ":"), default=to_json)
    for escapes in (False, True)
)
