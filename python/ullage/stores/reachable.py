"""``Reachable``: the part of a store that a request may read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage._core import StoreError, references_in
from ullage._engine.calling import acall

if TYPE_CHECKING:
    from ullage.stores.protocol import Store

# Artifacts that a request may lead to.
_MOST_REACHED = 4_096


class Reachable:
    """The part of a store that a request may read: what it names, and what that names in turn.

    A proxy serves many users from one store, so that a search must not cover all of it.

    Args:
        store: The store.
        messages: The messages of the request.
    """

    def __init__(self, store: Store, messages: Any) -> None:
        self._store = store
        self._named = set(references_in(messages))

    async def get(self, reference: str) -> bytes:
        """The content, if the request leads to it."""
        if reference not in self._named and reference not in await self.list():
            raise StoreError(f"nothing is stored as {reference!r} in this conversation")
        content: bytes = await acall(self._store.get, reference)
        return content

    async def list(self) -> list[str]:
        """The references that the request leads to. Reads their content."""
        reached: dict[str, None] = {}
        waiting = sorted(self._named)
        while waiting and len(reached) < _MOST_REACHED:
            reference = waiting.pop()
            if reference in reached:
                continue
            try:
                content: bytes = await acall(self._store.get, reference)
            except Exception:  # noqa: BLE001, S112 - text that only looks like a reference
                continue
            reached[reference] = None
            waiting += references_in(content.decode(errors="ignore"))
        return list(reached)
