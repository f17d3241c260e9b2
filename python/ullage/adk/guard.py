"""``Guard``: the last limit on a tool's response."""

from __future__ import annotations

import json
import reprlib
from typing import Any

from ullage._engine.arguments import require_number

# The limits of the SRE agent's document: about 50,000 tokens for a result.
MAX_RESULT_CHARS = 200_000
MAX_RESULT_ITEMS = 500

# The marker, the keys and the brackets of a response may take this much beside it.
_FRAME = 1_000

# Characters around and between values in JSON: two quotes or brackets, and a comma or colon.
_AROUND = 2
_BETWEEN = 1

# Values that are visited. A list that contains itself has no end, and a response with more values
# is larger than any limit.
_MOST_STEPS = 1_000_000

# The marker at the end of a text that was cut.
MARKER = "\n\n... [TRUNCATED BY SRE AGENT SAFETY GUARD: Result too large for LLM context] ..."


class Guard:
    """Keeps every response below a number of characters, and its lists below a number of items.

    A long string is cut at the limit, with a marker. A long list keeps its first items, and
    ``metadata.truncated_count`` is the number of missing ones. Any other value that is too large is
    replaced with an error that has a preview and the advice to filter better. The limits hold for
    every key of a response, and for the response as a whole. Nothing is changed in place.

    Characters are those of the strings and numbers, with the brackets, commas and quotes between
    them. Escapes do not count. Counting stops at the limit.

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
        most = self._chars + _FRAME
        if characters(left, most) > most:
            # Each key is within the limit, and together they are not.
            return self._refused(whole)
        return left if changed else None

    def _limited(self, value: Any) -> tuple[Any, int]:
        """The value within the limits, the same object if it was so; and the items left out."""
        if isinstance(value, str):
            return (value if len(value) <= self._chars else value[: self._chars] + MARKER), 0
        if isinstance(value, (list, tuple)):
            return self._first_items(value)
        if characters(value, self._chars) <= self._chars:
            return value, 0
        return self._refused(value), 0

    def _first_items(self, items: list[Any] | tuple[Any, ...]) -> tuple[Any, int]:
        kept: list[Any] = []
        room = self._chars
        for item in items[: self._items]:
            size = characters(item, room) + 1
            if size > room:
                break
            kept.append(item)
            room -= size
        if items and not kept:
            # The first alone is too large.
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
    """The response with the number of items that are not in it."""
    about = response.get("metadata")
    if isinstance(about, dict) or "metadata" not in response:
        return {**response, "metadata": {**(about or {}), "truncated_count": dropped}}
    return {**response, "truncated_count": dropped}


def characters(value: Any, limit: int = 2**63) -> int:
    """About the characters that a value takes as JSON; a number above ``limit`` once it is above.

    Costs a step for each value inside, up to the limit and up to a million; strings are not read.
    """
    size = steps = 0
    left = [value]
    while left and steps < _MOST_STEPS and size <= limit:
        steps += 1
        item = left.pop()
        if isinstance(item, (str, bytes)):
            size += len(item) + _AROUND
        elif isinstance(item, (dict, list, tuple)):
            values = list(item.values()) if isinstance(item, dict) else []
            size += _AROUND + _BETWEEN * (len(item) + len(values))
            # Each value inside takes a character at least.
            if size + len(item) > limit:
                return size + len(item)
            left.extend(item)
            left.extend(values)
        else:
            size += len(str(item))
    return size


def _preview(value: Any, length: int) -> str:
    """The first characters of a value as JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:length]
    except (TypeError, ValueError, RecursionError):
        # It holds itself, or is nested too deeply.
        return reprlib.repr(value)[:length]
