"""Reads transcripts in a store as lines of text, rather than as messages in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.stores.readable import TRANSCRIPT, transcript_as_text

if TYPE_CHECKING:
    from pathlib import Path

    from ullage import FileStore


class ReadableStore:
    """A store that gives transcripts as text.

    Args:
        store: The store.
    """

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def get(self, reference: str) -> bytes:
        """Returns stored content, or the text of a stored transcript."""
        content = self._store.get(reference)
        return transcript_as_text(content) if TRANSCRIPT in reference else content

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        """Stores content and returns its reference."""
        return self._store.put(content, reference=reference, tool=tool)

    def list(self) -> list[str]:
        """Returns all references."""
        return self._store.list()

    def path(self, reference: str) -> Path | None:
        """Returns the path of a stored file."""
        return self._store.path(reference)
