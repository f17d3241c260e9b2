"""The store's protocol, and reading a stored output back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from ullage import _core

if TYPE_CHECKING:
    from collections.abc import Awaitable

# Characters that a retrieval gives back unless another number is asked for: about 5,000 tokens, so
# that reading an output back cannot overflow the window that it was moved out of.
_DEFAULT_LIMIT = 20_000


@runtime_checkable
class Store(Protocol):
    """Keeps content that left a conversation, by reference.

    ``MemoryStore`` and ``FileStore`` are such stores; anything with these two methods is one.
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

    def get(self, reference: str) -> bytes:
        """Gives the content of ``reference`` back, byte for byte; raises if there is none.

        ``ullage.retrieve`` needs it to be synchronous.
        """
        ...


def retrieve(
    store: Store,
    reference: str,
    pattern: str | None = None,
    lines: tuple[int, int] | None = None,
    context: int = 0,
    *,
    limit: int = _DEFAULT_LIMIT,
) -> str:
    """Reads a stored output back, or a piece of it.

    The text begins with a line that names the reference, so that ullage knows what it is and does
    not store it again. O(length of the content), whatever the pattern.

    Args:
        store: Where it was stored.
        reference: The reference, as it stands in the conversation.
        pattern: Only lines that match this regular expression (Rust syntax: no look-around).
        lines: Only these lines, counted from 1, both ends included.
        context: With a pattern: so many lines before and after each match.
        limit: Most characters to give back. The default is about 5,000 tokens.

    Raises:
        StoreError: If nothing is stored under the reference, or the pattern cannot be used.
    """
    return _core.retrieve(
        reference,
        store.get(reference),
        pattern=pattern,
        lines=lines,
        context=context,
        limit=limit,
    )
