"""Handing content to the user's store, and asking it back: sync or async, whatever it raises."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from ullage._core import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ullage.store import Store


class Keeper:
    """Stands between an engine and a store.

    Args:
        store: The store, or None: then nothing is ever handed to it.
    """

    def __init__(self, store: Store | None) -> None:
        self.store = store
        # References that the store has shown to have. It only grows by what is stored.
        self._known: set[str] = set()

    def put(self, reference: str, tool: str, content: bytes) -> None:
        """Stores ``content``.

        Raises:
            StoreError: If the store raised anything, or has to be awaited.
        """
        returned = self._offer(reference, tool, content)
        if inspect.isawaitable(returned):
            _discard(returned)
            raise StoreError(
                f"{type(self.store).__name__}.put has to be awaited; call acompact or ashrink"
            )
        self._check(reference, returned)

    async def aput(self, reference: str, tool: str, content: bytes) -> None:
        """The same beside the event loop; awaits what the store gives to await."""
        # A thread, since most stores write to a disk; a coroutine is only made there.
        returned = await asyncio.to_thread(self._offer, reference, tool, content)
        if inspect.isawaitable(returned):
            try:
                returned = await returned
            except Exception as error:
                raise self._wrapped(reference, error) from error
        self._check(reference, returned)

    def missing(self, references: Iterable[str]) -> list[str]:
        """Those of the references that the store does not have.

        A text can say of itself that it is stored, and be wrong: another session's output, or a
        tool's that quotes one. An async store is believed, since it cannot be asked from here.
        """
        return [reference for reference in references if not self._has(reference)]

    def _has(self, reference: str) -> bool:
        if self.store is None or reference in self._known:
            return True
        try:
            found = self.store.get(reference)
        except Exception:  # noqa: BLE001 - whatever keeps the store from giving it back
            return False
        if inspect.isawaitable(found):
            _discard(found)
        self._known.add(reference)
        return True

    def _offer(self, reference: str, tool: str, content: bytes) -> Any:
        if self.store is None:
            return reference
        try:
            return self.store.put(content, reference=reference, tool=tool)
        except Exception as error:
            raise self._wrapped(reference, error) from error

    def _check(self, reference: str, returned: Any) -> None:
        if returned != reference:
            raise StoreError(
                f"{type(self.store).__name__}.put returned {returned!r} for {reference!r}; it must"
                " keep content under the reference it is given"
            )
        self._known.add(reference)

    def _wrapped(self, reference: str, error: Exception) -> StoreError:
        if isinstance(error, StoreError):
            return error
        return StoreError(
            f"{type(self.store).__name__} could not keep {reference}: {type(error).__name__}:"
            f" {error}; the conversation is as it was"
        )


def _discard(awaitable: Any) -> None:
    """Drops what will not be awaited, without a warning that it was not."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()
