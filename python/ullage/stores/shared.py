"""``SharedStore``: the common part of stores that several processes or machines share."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import _core
from ullage._core import RETRIEVAL_LIMIT, ReferenceTakenError, StoreError, UllageError
from ullage._engine.reasons import error_line
from ullage.stores.literal import required_literal

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

# Seconds that a call to a server may take: enough for 100 MB, and short for a user who waits.
TIMEOUT = 30.0

# Bytes of the longest text that is indexed. The index is up to three times as large as its text;
# longer texts are read at 1 GB/s instead.
INDEXED = 1_000_000

# References that are compared with an unknown one to name the nearest.
_NEAREST_AMONG = 1_000

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")

# A use extends the life of an artifact only after this share of it, so most uses write nothing.
_UNNOTED_PART = 0.25

# References whose last use is remembered: some 15 MB.
_REMEMBERED = 65_536


@dataclass(frozen=True)
class Cell:
    """A small value that workers change in turn.

    Attributes:
        content: The value.
        version: The version of this value, unique among all values of the cell.
    """

    content: bytes
    version: str


class SharedStore(ABC):
    """A store that processes and machines share. Implements the parts without the server.

    Args:
        session: Any text. Only stores with the same session see its content.
        keep_for: Seconds that an artifact stays after it was last stored, read, or reached from a
            compacted conversation. None keeps it until it is deleted.
    """

    # Creates another store at the same place.
    _given: partial[Any]

    def __new__(cls, *given: Any, **named: Any) -> Self:  # noqa: D102 - as the class says
        self = super().__new__(cls)
        self._given = partial(cls, *given, **named)
        return self

    def __init__(self, session: str | None, keep_for: float | None) -> None:
        if keep_for is not None and not keep_for > 0:
            raise StoreError(f"keep_for must be above 0 seconds, or None; got {keep_for}")
        self.session = session
        self.keep_for = keep_for
        # A session named "" differs from no session.
        self._session = "" if session is None else f":{plain_name(session)}"
        self._read_lately = _Lately(keep_for)
        self._walked_lately = _Lately(keep_for)
        self._swept_lately = _Lately(keep_for)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, for example in another process, opens its own connections.
        return self._given, ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place()!r}, session={self.session!r})"

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # noqa: ARG002
        """Keeps ``content`` under ``reference`` and returns it.

        Raises:
            ReferenceTakenError: If other content has that reference.
            StoreError: If the content cannot be kept, or the reference is not valid.
        """
        self._check(reference)
        with self._attempt(f"keep {reference}"):
            stored = self._insert(reference, bytes(content))
        if stored is not None and stored != content:
            raise ReferenceTakenError(
                f"other content is already stored as {reference}; delete it, or use another store"
            )
        return reference

    def get(self, reference: str) -> bytes:
        """Returns the content of ``reference``, byte for byte.

        Raises:
            StoreError: If there is no such content, or it cannot be read. The error names the
                nearest references.
        """
        self._check(reference)
        with self._attempt(f"read {reference}"):
            content = self._read(reference)
            if content is None:
                raise _unknown_reference(reference, self._names(_NEAREST_AMONG))
            if self._read_lately.is_due(reference):
                self._extend([reference])
                self._read_lately.note(reference)
        return content

    def list(self) -> builtins.list[str]:
        """Returns every reference, sorted."""
        with self._attempt("list what is stored"):
            return sorted(self._names(None))

    def delete(self, reference: str) -> bool:
        """Deletes the content of ``reference``. Returns True if there was any."""
        self._check(reference)
        with self._attempt(f"delete {reference}"):
            return self._remove(reference)

    def search(self, pattern: str, *, context: int = 0, limit: int = RETRIEVAL_LIMIT) -> str:
        """Returns the matching lines of all stored content, like ``ullage.search``.

        Raises:
            StoreError: If the pattern is invalid, or the store cannot be listed.
        """
        found = _core.Search(pattern, context=context, limit=limit)
        literal = required_literal(pattern)
        with self._attempt("search"):
            names = sorted(self._names(None))
            likely = None if literal is None else self._candidates(literal)
            for reference in names:
                wanted = likely is None or reference in likely
                # Deleted since it was listed, or known not to match. It counts as searched.
                found.look(reference, (self._read(reference) if wanted else None) or b"")
        return found.report()

    def clean(self, live: Iterable[str]) -> builtins.list[str]:
        """Extends the life of artifacts reached from ``live``, and removes expired ones.

        Called after each compaction. Artifacts that a stored text names are extended too. A worker
        need not know the conversations of others, because each extends the artifacts of its own.

        Args:
            live: References that one conversation uses, or texts that contain them.

        Returns:
            The references removed from this session, sorted.
        """
        if self.keep_for is None:
            return []
        with self._attempt("clean"):
            self._walk(_core.references_in(list(live)))
            if not self._swept_lately.is_due(""):
                return []
            self._swept_lately.note("")
            return sorted(self._sweep())

    def read_cell(self, name: str) -> Cell | None:
        """Returns the value of a cell, or None if it has none."""
        with self._attempt(f"read the cell {name}"):
            return self._cell(plain_name(name))

    def write_cell(self, name: str, content: bytes, version: str | None) -> str | None:
        """Changes a cell if nobody changed it since it was read.

        Args:
            name: Any text.
            content: The new value.
            version: The version of the value that is replaced; None if there was none.

        Returns:
            The version of the new value; None if the cell has another version now. Then nothing
            has changed.
        """
        with self._attempt(f"write the cell {name}"):
            return self._swap(plain_name(name), content, version, secrets.token_hex(16))

    @abstractmethod
    def close(self) -> None:
        """Closes the connections of this process. The next call opens new ones."""

    @abstractmethod
    def _place(self) -> str:
        """Returns the place of the content, without passwords."""

    @abstractmethod
    def _insert(self, reference: str, content: bytes) -> bytes | None:
        """Stores content if there is none; otherwise extends and returns the existing one."""

    @abstractmethod
    def _read(self, reference: str) -> bytes | None:
        """Returns the content, or None."""

    @abstractmethod
    def _names(self, limit: int | None) -> Iterable[str]:
        """Returns the references, at most ``limit`` of them."""

    @abstractmethod
    def _remove(self, reference: str) -> bool:
        """Deletes the content. Returns True if there was any."""

    @abstractmethod
    def _extend(self, references: builtins.list[str]) -> None:
        """Extends these artifacts by ``keep_for`` from now."""

    @abstractmethod
    def _sweep(self) -> Iterable[str]:
        """Removes and returns the artifacts that were not extended for ``keep_for``."""

    @abstractmethod
    def _cell(self, name: str) -> Cell | None:
        """Returns the value of a cell."""

    @abstractmethod
    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        """Writes a cell under the version ``new`` if its version is ``old``."""

    def _candidates(self, literal: str) -> set[str] | None:  # noqa: ARG002
        """Returns the references that may contain this ASCII text, in any case; None if unknown."""
        return None

    def _check(self, reference: str) -> None:
        if _core.references_in(reference) != [reference]:
            raise StoreError(
                f"{str(reference)[:80]!r} is not a reference; copy a reference from the"
                " conversation, such as read_file-3f9a0b12c4d5e6f7"
            )

    def _walk(self, references: builtins.list[str]) -> None:
        """Extends these artifacts and all that they refer to."""
        waiting, reached = [*references], dict[str, None]()
        while waiting:
            reference = waiting.pop()
            if reference in reached or not self._walked_lately.is_due(reference):
                continue
            content = self._read(reference)
            if content is not None:
                reached[reference] = None
                waiting += _core.references_in(content.decode("utf-8", "replace"))
        if reached:
            self._extend([*reached])
        for reference in reached:
            self._walked_lately.note(reference)

    @contextmanager
    def _attempt(self, what: str) -> Iterator[None]:
        """Turns any error of a client into a ``StoreError``."""
        try:
            yield
        except UllageError:
            raise
        except Exception as error:
            raise StoreError(
                f"{type(self).__name__} at {self._place()} could not {what}: {error_line(error)};"
                " check that it can be reached and has space left"
            ) from error


class _Lately:
    """The keys that were noted in the last part of ``keep_for`` seconds. Bounded."""

    def __init__(self, keep_for: float | None) -> None:
        self._seconds = None if keep_for is None else keep_for * _UNNOTED_PART
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_due(self, key: str) -> bool:
        """True if the key was not noted lately. False if artifacts are kept for ever."""
        if self._seconds is None:
            return False
        noted = self._noted.get(key)
        return noted is None or time.monotonic() - noted >= self._seconds

    def note(self, key: str) -> None:
        with self._lock:
            self._noted.pop(key, None)
            self._noted[key] = time.monotonic()
            if len(self._noted) > _REMEMBERED:
                # The first key is the oldest.
                del self._noted[next(iter(self._noted))]


def _unknown_reference(reference: str, known: Iterable[str]) -> StoreError:
    nearest = _core.nearest(reference, [*known])
    near = (
        f"the nearest stored references: {', '.join(nearest)}" if nearest else "the store is empty"
    )
    return StoreError(
        f"nothing is stored as {reference}; {near}; check the reference, and that this is the store"
        " of the same session"
    )


def plain_name(name: str) -> str:
    """Returns any text as a name that every server and file system takes, different for each."""
    if _PLAIN.fullmatch(name):
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    # The dot keeps it different from all plain names, which have none.
    return f"{re.sub('[^A-Za-z0-9_-]+', '_', name)[:60]}.{digest}"


def require(client: str, extra: str) -> ModuleNotFoundError:
    """Returns the error for a store whose client is not installed."""
    return ModuleNotFoundError(
        f"this store needs {client}: pip install 'ullage[{extra}]'", name=client
    )


def text_of(content: bytes) -> str | None:
    """Returns the text of content to index; None if it is too long or not valid text."""
    if len(content) > INDEXED or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
