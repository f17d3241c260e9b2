"""The items of a run: the Responses API's own, which the engine reads as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage._hosts.rows import Row


class ItemCodec:
    """Leaves items as they are. The SDK copies them for each request, and edits none."""

    def row(self, message: Any) -> Row:
        """The item."""
        return message  # type: ignore[no-any-return]

    def message(self, row: Row, original: Any) -> Any:  # noqa: ARG002 - of the protocol
        """An item that the engine made or changed."""
        return row

    def stamp(self, message: Any) -> None:
        """Nothing: see above."""


def is_delta(items: Sequence[Any]) -> bool:
    """True if these items only go on from what the server has: a result stands without its call."""
    calls = set()
    for item in items:
        kind = item.get("type", "") if isinstance(item, dict) else ""
        if kind.endswith("_call_output"):
            if item.get("call_id") not in calls:
                return True
        elif kind.endswith("_call"):
            calls.add(item.get("call_id"))
    return False
