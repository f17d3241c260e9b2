"""``EncryptedStore``: encrypts the content of any store."""

from __future__ import annotations

import inspect
import math
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ullage import _core
from ullage._core import RETRIEVAL_LIMIT, ReferenceTakenError, StoreError
from ullage._engine.lru_cache import LruCache
from ullage._engine.reasons import error_line
from ullage.stores.retrieval import discard
from ullage.stores.shared import Cell

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Iterable

    from ullage.stores.protocol import FullStore

# The most artifacts whose references are cached, and the bytes of these references.
_REMEMBERED = 65_536
_REMEMBERED_BYTES = 16 * 2**20


class EncryptedStore:
    """Encrypts the content of another store with your functions. The keys stay with you.

    References are made from the content before encryption. So anyone who sees the store can tell
    which outputs of a tool are equal, and how long they are. A search reads and decrypts all
    content.

    Args:
        store: A store whose methods are not async, such as those of ``ullage.stores``.
        encrypt: A function that returns the bytes to store. It should use a new nonce each time.
        decrypt: A function that returns the content, and raises if the bytes were changed.
    """

    def __init__(
        self,
        store: FullStore,
        *,
        encrypt: Callable[[bytes], bytes],
        decrypt: Callable[[bytes], bytes],
    ) -> None:
        self._store: Any = store
        self._encrypt, self._decrypt = encrypt, decrypt
        # The references in each stored content, which never changes.
        self._named: LruCache[builtins.list[str]] = LruCache(_REMEMBERED, _REMEMBERED_BYTES)

    def __repr__(self) -> str:
        return f"EncryptedStore({self._store!r})"

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:
        """Keeps ``content`` under ``reference``, encrypted, and returns the reference.

        Raises:
            ReferenceTakenError: If other content has that reference.
            StoreError: If the content cannot be encrypted or kept.
        """
        sealed = self._seal(content, reference)
        try:
            return str(self._now(self._store.put(sealed, reference=reference, tool=tool)))
        except ReferenceTakenError:
            # The same content may be encrypted to other bytes, which the store refuses.
            if self.get(reference) != content:
                raise
        return reference

    def get(self, reference: str) -> bytes:
        """Returns the content of ``reference``, byte for byte.

        Raises:
            StoreError: If there is no such content, or it cannot be read or decrypted.
        """
        return self._open(self._now(self._store.get(reference)), reference)

    def list(self) -> builtins.list[str]:
        """Returns every reference, in the order of the store."""
        return list(self._now(self._store.list()))

    def delete(self, reference: str) -> bool:
        """Deletes the content of ``reference``. Returns True if there was any."""
        return bool(self._now(self._store.delete(reference)))

    def search(self, pattern: str, *, context: int = 0, limit: int = RETRIEVAL_LIMIT) -> str:
        """Returns the matching lines of all stored content, like ``ullage.search``.

        Raises:
            StoreError: If the pattern is invalid, or the store cannot be listed.
        """
        found = _core.Search(pattern, context=context, limit=limit)
        for reference in self.list():
            # Deleted since it was listed, or encrypted with another key. The rest is still useful.
            with suppress(StoreError):
                found.look(reference, self.get(reference))
        return found.report()

    @property
    def above_limit(self) -> bool:
        """True if the store should be cleaned."""
        is_keeping = getattr(self._store, "keep_for", math.inf) is None
        wants = hasattr(self._store, "clean") and getattr(self._store, "above_limit", True)
        return bool(wants) and not is_keeping

    def clean(self, live: Iterable[str]) -> builtins.list[str]:
        """Lets the store remove artifacts that cannot be reached from ``live``.

        The store cannot read references in encrypted content, so it gets all reachable ones.
        """
        if not self.above_limit:
            return []
        waiting, reached = _core.references_in(list(live)), dict[str, None]()
        while waiting:
            reference = waiting.pop()
            if reference not in reached:
                reached[reference] = None
                waiting += self._named_in(reference)
        return list(self._now(self._store.clean([*reached])))

    def read_cell(self, name: str) -> Cell | None:
        """Returns the value of a cell, or None if it has none; see :class:`SharedStore`."""
        cell = self._of_cells("read_cell", name)
        return cell and Cell(self._open(cell.content, name), cell.version)

    def write_cell(self, name: str, content: bytes, version: str | None) -> str | None:
        """Changes a cell if it still has this version; see :class:`SharedStore`."""
        written = self._of_cells("write_cell", name, self._seal(content, name), version)
        return None if written is None else str(written)

    def _named_in(self, reference: str) -> builtins.list[str]:
        named = self._named.get(reference)
        if named is None:
            try:
                content = self.get(reference)
            except StoreError:
                return []  # It only looks like a reference, or is not in this store.
            named = _core.references_in(content.decode("utf-8", "replace"))
            self._named.put(reference, named, sum(map(sys.getsizeof, named)))
        return named

    def _seal(self, content: bytes, name: str) -> bytes:
        try:
            return bytes(self._encrypt(bytes(content)))
        except Exception as error:
            raise StoreError(
                f"{name} could not be encrypted: {error_line(error, content)}"
            ) from error

    def _open(self, sealed: Any, name: str) -> bytes:
        try:
            return bytes(self._decrypt(bytes(sealed)))
        except Exception as error:
            raise StoreError(
                f"{name} could not be decrypted: {error_line(error)};"
                " use the key that it was stored with"
            ) from error

    def _of_cells(self, method: str, *args: Any) -> Any:
        if not hasattr(self._store, method):
            kind = type(self._store).__name__
            raise StoreError(f"{kind} has no cells; encrypt a store that has, such as SQLiteStore")
        return self._now(getattr(self._store, method)(*args))

    def _now(self, returned: Any) -> Any:
        if inspect.isawaitable(returned):
            discard(returned)
            raise StoreError(
                f"{type(self._store).__name__} is async; encrypt inside the store itself"
            )
        return returned
