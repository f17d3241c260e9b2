"""``ObjectStore``: a bucket of S3, Google Cloud Storage or Azure, or a folder."""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from ullage._core import StoreError
from ullage.stores.shared import TIMEOUT, Cell, SharedStore, require

try:
    import obstore
    from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError
    from obstore.store import from_url
except ImportError as error:
    raise require("obstore", "objects") from error

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Iterator, Mapping

    from obstore.store import ObjectStore as Bucket

# Characters of the random version before the content of a cell, so that no two values share a tag.
_NONCE = 32

# Tries to store a name while other workers create and remove it.
_TRIES = 8

# The process that has called obstore, whose threads are not in a child of a fork.
_CALLED_IN: list[int] = []


class ObjectStore(SharedStore):
    """A store in a bucket, for any number of machines.

    Uses obstore (``pip install 'ullage[objects]'``), which finds credentials in the same places as
    the provider's own tools. An object appears whole or not at all. Cells need conditional writes:
    the three providers have them, a folder does not. The store has no limit of its size.

    With ``keep_for``, the compactions of a session remove its expired content. Give the bucket a
    lifecycle rule for finished sessions.

    Args:
        url: The address: ``s3://bucket/prefix``, ``gs://...``, ``az://...`` or ``file:///folder``.
        session: Any text. Only stores with the same session see its content.
        keep_for: Seconds that an artifact stays after it was last stored, read, or reached from a
            compacted conversation. None keeps it until it is deleted.
        timeout: Seconds that a call may take.
        config: Settings of obstore, such as ``{"region": "eu-central-1"}``.
    """

    def __init__(
        self,
        url: str,
        *,
        session: str | None = None,
        keep_for: float | None = None,
        timeout: float = TIMEOUT,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(session, keep_for)
        self._url = url
        self._folder = "all" if session is None else f"sessions/{self._session[1:]}"
        more: dict[str, Any] = {"mkdir": True}
        if not url.startswith(("file:", "memory:")):
            more = {
                "config": dict(config or {}),
                "client_options": {
                    "timeout": timedelta(seconds=timeout / 2),
                    "connect_timeout": timedelta(seconds=timeout / 2),
                    # Only an endpoint that the user names can be without encryption.
                    "allow_http": True,
                },
                # One more try, as for the other stores.
                "retry_config": {"max_retries": 1, "retry_timeout": timedelta(seconds=timeout / 2)},
            }
        with super()._attempt("open it"):
            self._bucket: Bucket = from_url(url, **more)

    def close(self) -> None:  # noqa: D102 - the client has nothing to close
        pass

    def _place(self) -> str:
        return self._url

    @contextmanager
    def _attempt(self, what: str) -> Iterator[None]:
        if _CALLED_IN and _CALLED_IN[0] != os.getpid():
            raise StoreError(
                f"{self._url} cannot be used in this process: its parent used an ObjectStore before"
                " the fork, and obstore does not survive that; fork before the first use, or start"
                " the process with the method spawn or forkserver"
            )
        _CALLED_IN[:] = [os.getpid()]
        with super()._attempt(what):
            yield

    def _path(self, reference: str) -> str:
        return f"{self._folder}/artifacts/{reference}"

    def _insert(self, reference: str, content: bytes) -> bytes | None:
        for _ in range(_TRIES):
            try:
                self._write(self._path(reference), content, "create")
            except AlreadyExistsError:
                pass
            else:
                return None
            stored = self._read(reference)
            # None if another worker has removed it meanwhile.
            if stored is not None:
                if self.keep_for is not None:
                    self._extend([reference])
                return stored
        raise StoreError(f"{reference} is being removed again and again by other workers")

    def _write(self, path: str, content: bytes, mode: Any) -> Any:
        # In one piece, because an upload in parts cannot be conditional.
        return obstore.put(self._bucket, path, content, mode=mode, use_multipart=False)

    def _read(self, reference: str) -> bytes | None:
        try:
            return bytes(obstore.get(self._bucket, self._path(reference)).bytes())
        except FileNotFoundError:
            return None

    def _objects(self, kind: str) -> Iterator[Any]:
        for objects in obstore.list(self._bucket, prefix=f"{self._folder}/{kind}/"):
            yield from objects

    def _names(self, limit: int | None) -> Iterable[str]:
        for count, found in enumerate(self._objects("artifacts")):
            if count == limit:
                return
            yield found["path"].rpartition("/")[2]

    def _remove(self, reference: str) -> bool:
        path = self._path(reference)
        if self._modified_at(path) is None:
            return False
        obstore.delete(self._bucket, path)
        return True

    def _modified_at(self, path: str) -> datetime | None:
        """Returns the time when an object was written, or None if there is no such object."""
        try:
            return obstore.head(self._bucket, path)["last_modified"]
        except FileNotFoundError:
            return None

    def _extend(self, references: builtins.list[str]) -> None:
        # S3 refuses to copy an object onto itself, so the content is written again.
        for reference in references:
            content = self._read(reference)
            if content is not None:
                self._write(self._path(reference), content, "overwrite")

    def _sweep(self) -> builtins.list[str]:
        oldest = self._now() - timedelta(seconds=self.keep_for or 0)
        removed = []
        for kind in ("artifacts", "cells"):
            found = [*self._objects(kind)]
            for path in (one["path"] for one in found if one["last_modified"] < oldest):
                # Checked again, because another worker may have written it meanwhile.
                written = self._modified_at(path)
                if written is not None and written < oldest:
                    obstore.delete(self._bucket, path)
                    if kind == "artifacts":
                        removed.append(path.rpartition("/")[2])
        return removed

    def _now(self) -> datetime:
        """Returns the time of the server, because the clocks of machines differ."""
        path = f"{self._folder}/clock"
        self._write(path, b"", "overwrite")
        when: datetime = obstore.head(self._bucket, path)["last_modified"]
        return when

    def _cell(self, name: str) -> Cell | None:
        try:
            found = obstore.get(self._bucket, self._cell_path(name))
        except FileNotFoundError:
            return None
        return Cell(bytes(found.bytes())[_NONCE:], _tag(found.meta))

    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        mode = "create" if old is None else json.loads(old)
        try:
            return _tag(self._write(self._cell_path(name), new.encode() + content, mode))
        except (AlreadyExistsError, PreconditionError):
            return None
        except (NotSupportedError, NotImplementedError) as error:
            raise StoreError(
                f"{self._url} has no conditional writes; use a bucket, or SQLiteStore"
            ) from error

    def _cell_path(self, name: str) -> str:
        return f"{self._folder}/cells/{name}"


def _tag(meta: Any) -> str:
    # A provider returns one of the two, or both.
    return json.dumps({key: meta[key] for key in ("e_tag", "version") if meta.get(key)})
