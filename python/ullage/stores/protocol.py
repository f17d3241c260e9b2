"""The protocol of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ullage._core import RETRIEVAL_LIMIT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence


@runtime_checkable
class Store(Protocol):
    """Keeps removed content by reference.

    ``MemoryStore`` and ``FileStore`` are such stores, and so is any object with these two methods.
    The other methods of :class:`FullStore` are used if a store has them.
    """

    def put(
        self, content: bytes, *, reference: str, tool: str | None = None
    ) -> str | Awaitable[str]:
        """Keeps ``content`` and returns its reference, which must be the one given.

        May be a coroutine function; then compact with ``acompact``. Putting the same content twice
        is allowed. Raise ``ullage.ReferenceTakenError`` if other content has the reference: ullage
        then tries another one. Raise any other exception if the content cannot be kept: the
        conversation then stays unchanged.
        """
        ...

    def get(self, reference: str) -> bytes | Awaitable[bytes]:
        """Returns the content of ``reference``, byte for byte; raises if there is none.

        May be a coroutine function; then read with ``ullage.aretrieve``.
        """
        ...


@runtime_checkable
class FullStore(Store, Protocol):
    """A store that can be listed and searched; each method may be a coroutine function.

    A store may also have ``clean(live) -> list[str]``. It is called after a compaction with the
    references in the conversation, may remove content that cannot be reached from them, and returns
    the removed references. With a property ``above_limit``, it is only called while that is true.
    """

    def list(self) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Returns every reference."""
        ...

    def delete(self, reference: str) -> bool | Awaitable[bool]:
        """Deletes the content of ``reference``. Returns True if there was any."""
        ...

    def search(
        self, pattern: str, *, context: int = 0, limit: int = RETRIEVAL_LIMIT
    ) -> str | Awaitable[str]:
        """Returns the matching lines of all stored content, like ``ullage.search``.

        A store that only has ``list`` is searched by reading each of its artifacts.
        """
        ...
