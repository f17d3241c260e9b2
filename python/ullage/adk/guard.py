"""``Guard``: the last limit on a tool's response."""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any

from ullage._core import MessageError, Payload
from ullage._engine.arguments import require_number

# The limits of the SRE agent's document: about 50,000 tokens for a result.
MAX_RESULT_CHARS = 200_000
MAX_RESULT_ITEMS = 500

# The marker, the keys and the brackets of a response may take this much beside it.
_FRAME = 1_000

# The marker at the end of a text that was cut.
MARKER = "\n\n... [TRUNCATED BY SRE AGENT SAFETY GUARD: Result too large for LLM context] ..."


class Guard:
    """Keeps every response below a number of characters, and its lists below a number of items.

    A long string is cut at the limit, with a marker. A long list keeps its first items, and
    ``metadata.truncated_count`` is the number of missing ones. Any other value that is too large is
    replaced with an error that has a preview and the advice to filter better. The limits hold for
    every key of a response, and for the response as a whole. Nothing is changed in place.

    Characters are those of a string, or of any other value as compact JSON.

    Args:
        max_chars: The most characters of a response.
        max_items: The most items of a list.

    Raises:
        PolicyError: If a limit is not at least 1.
    """

    def __init__(
        self, max_chars: int = MAX_RESULT_CHARS, max_items: int = MAX_RESULT_ITEMS
    ) -> None:
        for name, value in (("max_chars", max_chars), ("max_items", max_items)):
            require_number(name, value, least=1)
        self._chars = max_chars
        self._items = max_items

    def guarded(self, response: Any) -> dict[str, Any] | None:
        """Returns the limited response in ADK's form; None if it is within the limits."""
        # ADK wraps a value that is not a dict in the same way.
        whole = response if isinstance(response, dict) else {"result": response}
        left: dict[str, Any] = {}
        dropped = 0
        for key, value in whole.items():
            left[key], missing = self._limited(value)
            dropped += missing
        changed = any(left[key] is not value for key, value in whole.items())
        if dropped:
            left = _counted(left, dropped)
        if characters(left) > self._chars + _FRAME:
            # Each key is within the limit, and together they are not.
            return self._refused(whole)
        return left if changed else None

    def _limited(self, value: Any) -> tuple[Any, int]:
        """Returns the value within the limits, and the number of items left out."""
        if isinstance(value, str):
            return (value if len(value) <= self._chars else value[: self._chars] + MARKER), 0
        if isinstance(value, (list, tuple)):
            return self._first_items(value)
        return (value if characters(value) <= self._chars else self._refused(value)), 0

    def _first_items(self, items: list[Any] | tuple[Any, ...]) -> tuple[Any, int]:
        kept: list[Any] = []
        room: float = self._chars
        for item in items[: self._items]:
            room -= characters(item) + 1
            if room < 0:
                break
            kept.append(item)
        if items and not kept:
            # The first item alone is too large.
            return self._refused(items), 0
        missing = len(items) - len(kept)
        return (kept, missing) if missing else (items, 0)

    def _refused(self, value: Any) -> dict[str, Any]:
        size = characters(value)
        return {
            "error": "Result too large",
            "message": (
                f"Tool output ({size:,} chars) exceeded safety limit. Try a more specific filter."
            ),
            "truncated_preview": _preview(value, self._chars // 2) + "...",
        }


def _counted(response: dict[str, Any], dropped: int) -> dict[str, Any]:
    """Returns the response with the number of items that are not in it."""
    about = response.get("metadata")
    if isinstance(about, dict) or "metadata" not in response:
        return {**response, "metadata": {**(about or {}), "truncated_count": dropped}}
    return {**response, "truncated_count": dropped}


def characters(value: Any) -> float:
    """Returns the length of a value as compact JSON; infinite if it holds itself or is too deep."""
    try:
        return Payload(value).chars
    except MessageError:
        return math.inf


def _preview(value: Any, length: int) -> str:
    """Returns the first characters of a value as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:length]
    except (TypeError, ValueError, RecursionError):
        # It holds itself, or is nested too deeply.
        return reprlib.repr(value)[:length]
