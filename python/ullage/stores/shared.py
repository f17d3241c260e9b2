"""``SharedStore``: what all stores have in common that several processes or machines share."""

from __future__ import annotations

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
from ullage._engine.reasons import said
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

# References among which the nearest to an unknown one are looked for.
_NEAREST_AMONG = 1_000

# A use extends the life of an artifact only after this part of it, so that most uses write nothing.
_UNNOTED_PART = 0.25

# References whose last use is remembered: some 15 MB.
_REMEMBERED = 65_536


@dataclass(frozen=True)
class Cell:
    """A small value that workers change in turn.

    Attributes:
        content: The value.
        version: Names this value among all that the cell ever had.
    """

    content: bytes
    version: str


class SharedStore(ABC):
    """A store that processes and machines share. Implements what does not depend on the server.

    Args:
        session: Any text. What is stored for a session is seen only by stores with the same one.
        keep_for: Seconds that an artifact stays after it was last stored, read, or led to by a
            conversation that was compacted. None keeps it until it is deleted.
    """

    # Makes another one of the same place.
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
        self._read_lately = _Lately(keep_for)
        self._walked_lately = _Lately(keep_for)
        self._swept_lately = _Lately(keep_for)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy, perhaps in another process, has connections of its own.
        return self._given, ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place()!r}, session={self.session!r})"

    def put(self, content: bytes, *, reference: str, tool: str | None = None) -> str:  # noqa: ARG002
        """Keeps ``content`` under ``reference`` and returns it.

        Raises:
            ReferenceTakenError: If other content has that reference.
            StoreError: If it cannot be kept, or the reference is not one.
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
        """The content of ``reference``, byte for byte.

        Raises:
            StoreError: If there is none, which names the nearest that are stored, or if it cannot
                be read.
        """
        self._check(reference)
        with self._attempt(f"read {reference}"):
            content = self._read(reference)
            if content is None:
                raise _unknown(reference, self._names(_NEAREST_AMONG))
            if self._read_lately.is_due(reference):
                self._extend([reference])
                self._read_lately.note(reference)
        return content

    def list(self) -> builtins.list[str]:
        """Every reference, sorted."""
        with self._attempt("list what is stored"):
            return sorted(self._names(None))

    def delete(self, reference: str) -> bool:
        """Forgets ``reference``; whether there was anything to forget."""
        self._check(reference)
        with self._attempt(f"delete {reference}"):
            return self._remove(reference)

    def search(self, pattern: str, *, context: int = 0, limit: int = RETRIEVAL_LIMIT) -> str:
        """Lines that match in all that is stored, as ``ullage.search`` gives them.

        Raises:
            StoreError: If the pattern cannot be used, or the store not be listed.
        """
        found = _core.Search(pattern, context=context, limit=limit)
        literal = required_literal(pattern)
        with self._attempt("search"):
            names = sorted(self._names(None))
            likely = None if literal is None else self._containing(literal)
            for reference in names:
                wanted = likely is None or reference in likely
                # Deleted since it was listed, or known not to match: looked at, without a match.
                found.look(reference, (self._read(reference) if wanted else None) or b"")
        return found.report()

    def clean(self, live: Iterable[str]) -> builtins.list[str]:
        """Extends the life of what ``live`` leads to, and removes what nobody used for too long.

        Called after each compaction. Artifacts that stored text names are extended too. No worker
        has to know the conversations of others: each extends what its own lead to.

        Args:
            live: References that one conversation uses, or texts in which they stand.

        Returns:
            What was removed from this session, sorted.
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
            return self._cell(name)

    def write_cell(self, name: str, content: bytes, version: str | None) -> str | None:
        """Changes a cell if nobody changed it since it was read.

        Args:
            name: Any text.
            content: The new value.
            version: The version of the value that is replaced; None if there was none.

        Returns:
            The version of the new value; None if the cell has another version by now. Then nothing
            has changed.
        """
        with self._attempt(f"write the cell {name}"):
            return self._swap(name, content, version, secrets.token_hex(16))

    @abstractmethod
    def close(self) -> None:
        """Closes the connections of this process. The next call opens new ones."""

    @abstractmethod
    def _place(self) -> str:
        """Where the content is, without passwords."""

    @abstractmethod
    def _insert(self, reference: str, content: bytes) -> bytes | None:
        """Keeps content where there is none; otherwise extends it, and returns what is there."""

    @abstractmethod
    def _read(self, reference: str) -> bytes | None:
        """The content, or None."""

    @abstractmethod
    def _names(self, limit: int | None) -> Iterable[str]:
        """The references, or so many of them."""

    @abstractmethod
    def _remove(self, reference: str) -> bool:
        """Deletes the content; whether there was any."""

    @abstractmethod
    def _extend(self, references: builtins.list[str]) -> None:
        """Lets these stay for ``keep_for`` from now."""

    @abstractmethod
    def _sweep(self) -> Iterable[str]:
        """Removes what has not been extended for ``keep_for``, and returns it."""

    @abstractmethod
    def _cell(self, name: str) -> Cell | None:
        """The value of a cell."""

    @abstractmethod
    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        """Writes a cell under the version ``new`` if its version is ``old``."""

    def _containing(self, literal: str) -> set[str] | None:  # noqa: ARG002
        """The references that may contain this ASCII text in some case; None if not known."""
        return None

    def _check(self, reference: str) -> None:
        if _core.references_in(reference) != [reference]:
            raise StoreError(
                f"{str(reference)[:80]!r} is not a reference; use a reference as it stands in the"
                " conversation, such as read_file-3f9a0b12c4d5e6f7"
            )

    def _walk(self, references: builtins.list[str]) -> None:
        """Extends these and all that they lead to."""
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
        """Turns whatever a client raises into a ``StoreError``."""
        try:
            yield
        except UllageError:
            raise
        except Exception as error:
            raise StoreError(
                f"{type(self).__name__} at {self._place()} could not {what}: {said(error)}; check"
                " that it can be reached and has space left"
            ) from error


class _Lately:
    """The keys that were noted in the last part of ``keep_for`` seconds. Bounded."""

    def __init__(self, keep_for: float | None) -> None:
        self._seconds = None if keep_for is None else keep_for * _UNNOTED_PART
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_due(self, key: str) -> bool:
        """True if nothing was noted lately. Never, where everything is kept."""
        if self._seconds is None:
            return False
        noted = self._noted.get(key)
        return noted is None or time.monotonic() - noted >= self._seconds

    def note(self, key: str) -> None:
        with self._lock:
            self._noted.pop(key, None)
            self._noted[key] = time.monotonic()
            if len(self._noted) > _REMEMBERED:
                # The first is the one that was noted longest ago.
                del self._noted[next(iter(self._noted))]


def _unknown(reference: str, known: Iterable[str]) -> StoreError:
    nearest = _core.nearest(reference, [*known])
    near = f"the nearest that are stored: {', '.join(nearest)}" if nearest else "the store is empty"
    return StoreError(
        f"nothing is stored as {reference}; {near}; check the reference, and that this is the store"
        " of the same session"
    )


def require(client: str, extra: str) -> ModuleNotFoundError:
    """The error for a store whose client is not installed."""
    return ModuleNotFoundError(
        f"this store needs {client}: pip install 'ullage[{extra}]'", name=client
    )


def text_of(content: bytes) -> str | None:
    """The text of content that may be indexed: short, and the same bytes when it is encoded."""
    if len(content) > INDEXED or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
