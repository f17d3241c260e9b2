"""The protocol of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ullage._core import RETRIEVAL_LIMIT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence


@runtime_checkable
class Store(Protocol):
    """Keeps content that left a conversation, by reference.

    ``MemoryStore`` and ``FileStore`` are such stores; anything with these two methods is one. What
    :class:`FullStore` has beside them is used where a store offers it.
    """

    def put(
        self, content: bytes, *, reference: str, tool: str | None = None
    ) -> str | Awaitable[str]:
        """Keeps ``content`` and returns its reference, which must be the one given.

        May be a coroutine function; then compact with ``acompact``. Putting the same content twice
        is no mistake. Raise ``ullage.ReferenceTakenError`` if other content has the reference: it
        is then offered under another one. Raise any other exception if it cannot be kept: the
        conversation then stays as it was.
        """
        ...

    def get(self, reference: str) -> bytes | Awaitable[bytes]:
        """Gives the content of ``reference`` back, byte for byte; raises if there is none.

        May be a coroutine function; then read with ``ullage.aretrieve``.
        """
        ...


@runtime_checkable
class FullStore(Store, Protocol):
    """A store that can be looked through; each method may be a coroutine function.

    A store may also have ``clean(live) -> list[str]``: it is called after a compaction with the
    references that stand in the conversation, may remove what cannot be reached from them, and says
    what it removed. With a property ``above_limit`` it is only called while that is true.
    """

    def list(self) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Every reference."""
        ...

    def delete(self, reference: str) -> bool | Awaitable[bool]:
        """Forgets ``reference``; whether there was anything to forget."""
        ...

    def search(
        self, pattern: str, *, context: int = 0, limit: int = RETRIEVAL_LIMIT
    ) -> str | Awaitable[str]:
        """Lines that match in all that is stored, as ``ullage.search`` gives them.

        A store that only has ``list`` is searched by reading each of its artifacts.
        """
        ...
