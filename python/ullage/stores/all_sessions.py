"""``AllSessions``: every session of a folder as one store that cannot be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage._core import FileStore, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class AllSessions:
    """The outputs in the folder of a ``FileStore``, with those of every session in it.

    New sessions are seen as they appear. O(sessions) for each call.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def list(self) -> list[str]:
        """Returns every reference, once."""
        return list(dict.fromkeys(ref for store in self._stores() for ref in store.list()))

    def get(self, reference: str) -> bytes:
        """Returns the content of a reference, from the first session that has it.

        Raises:
            StoreError: If no session has it, or it cannot be read.
        """
        for store in self._stores():
            if store.path(reference) is not None:
                return store.get(reference)
        raise StoreError(f"nothing is stored as {reference!r} in any session")

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # noqa: ARG002 - of the protocol
        """Raises an error.

        Raises:
            StoreError: Always.
        """
        raise StoreError("all sessions of a folder can only be read; name a session to write to")

    def _stores(self) -> Iterator[FileStore]:
        folders = sorted(
            entry
            for entry in self._folder.iterdir()
            if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith(".")
        )
        for folder in (self._folder, *folders):
            yield FileStore(folder, keep=None, clean_above=None)
