"""Pictures and files in results: no data to be surveyed, and no text to be shortened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.genai import types

_PARTS = (types.Part, types.Content, types.Blob)


def has_parts(result: Any) -> bool:
    """Whether there are parts of a content in a result, which ADK sends as what they are."""
    return any(isinstance(one, _PARTS) for one in _values(result))


def has_media(result: Any) -> bool:
    """Whether there are bytes in a result, or what MCP returns as a picture, a sound or a file."""
    return any(
        isinstance(one, (bytes, bytearray)) or (isinstance(one, Mapping) and _is_media(one))
        for one in _values(result)
    )


def _values(result: Any) -> Iterator[Any]:
    for value in result.values() if isinstance(result, Mapping) else [result]:
        yield from value if isinstance(value, (list, tuple)) else [value]


def _is_media(part: Mapping[Any, Any]) -> bool:
    return (part.get("type") in {"image", "audio"} and "data" in part) or (
        part.get("type") == "resource" and "resource" in part
    )
