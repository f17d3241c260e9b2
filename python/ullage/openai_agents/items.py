"""The items of a run, which the engine reads in the form of the Responses API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def is_delta(items: Sequence[Any]) -> bool:
    """True if the server has the earlier items, because a result comes without its call."""
    calls = set()
    for item in items:
        kind = item.get("type", "") if isinstance(item, dict) else ""
        if kind.endswith("_call_output"):
            if item.get("call_id") not in calls:
                return True
        elif kind.endswith("_call"):
            calls.add(item.get("call_id"))
    return False
