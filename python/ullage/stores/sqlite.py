"""``SQLiteStore``: a database file that the processes of one machine share."""

from __future__ import annotations

import queue
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage.stores.per_process import ForkBarrier, PerProcess
from ullage.stores.shared import TIMEOUT, Cell, SharedStore, text_of

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator
    from os import PathLike

# Connections that stay open between calls. SQLite allows one writer at a time anyway.
_IDLE = 8

# SQLite has locks for all its databases of a process.
_BARRIER = ForkBarrier()

# Bytes of a page of a new file. Outputs are long; at 100 MB this is twice as fast as 4,096.
_PAGE = 32_768

# Seconds between two tries to open a file that another process is creating.
_AGAIN = 0.01

_TABLES = """
CREATE TABLE IF NOT EXISTS artifacts (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL, reference TEXT NOT NULL,
    content BLOB NOT NULL, expires REAL, indexed INTEGER NOT NULL, UNIQUE (session, reference)
);
CREATE INDEX IF NOT EXISTS artifacts_expire ON artifacts (expires) WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS cells (
    session TEXT NOT NULL, name TEXT NOT NULL, content BLOB NOT NULL, version TEXT NOT NULL,
    expires REAL, PRIMARY KEY (session, name)
);
"""
# Without a copy of the text. By three characters, because a pattern also matches inside words.
_INDEX = """
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (text, content='', tokenize='trigram')
"""


class SQLiteStore(SharedStore):
    """A store in a database file, for any number of threads and processes of one machine.

    Uses Python's ``sqlite3`` with a write-ahead log, so reading never waits. A crash loses nothing
    that was put before. A network folder does not work, because its locks are not reliable. If
    SQLite has FTS5, a search reads only artifacts that can match.

    Args:
        path: The file. It is created with its folder at the first write or read.
        session: Any text. Only stores with the same session see its content.
        keep_for: Seconds that an artifact stays after it was last stored, read, or reached from a
            compacted conversation. None keeps it until it is deleted.
        timeout: Seconds that a call may wait for the writers of other processes.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        session: str | None = None,
        keep_for: float | None = None,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(session, keep_for)
        self.path = Path(path).absolute()
        self._timeout = timeout
        # True if the text of artifacts is indexed; known once a connection was made.
        self._is_indexing = False
        self._idle = PerProcess[queue.LifoQueue[sqlite3.Connection]](lambda: queue.LifoQueue(_IDLE))

    def close(self) -> None:  # noqa: D102 - the base says it
        with _BARRIER.call():
            idle = self._idle.drop()
            while idle is not None and not idle.empty():
                idle.get_nowait().close()

    def _place(self) -> str:
        return str(self.path)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection. Commits at its end, or rolls back after an exception."""
        with _BARRIER.call():
            idle = self._idle.get()
            try:
                connection = idle.get_nowait()
            except queue.Empty:
                connection = self._connect()
            try:
                with connection:
                    yield connection
                idle.put_nowait(connection)
            except queue.Full:
                connection.close()
            except BaseException:
                connection.close()
                raise

    def _connect(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + self._timeout
        while True:
            connection = sqlite3.connect(
                self.path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(connection)
            except sqlite3.Error as error:
                connection.close()
                # Switching to the write-ahead log does not wait for others, whatever the timeout.
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(_AGAIN)
            else:
                return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA page_size={_PAGE}")
        connection.execute("PRAGMA journal_mode=WAL")
        # Stored content survives a power failure, as in a FileStore.
        connection.execute("PRAGMA synchronous=FULL")
        connection.executescript(_TABLES)
        try:
            connection.execute(_INDEX)
            self._is_indexing = True
        except sqlite3.OperationalError as error:
            # This SQLite has no FTS5 or no trigrams, so a search reads everything.
            if "locked" in str(error):
                raise

    def _expires(self) -> float | None:
        return None if self.keep_for is None else time.time() + self.keep_for

    def _insert(self, reference: str, content: bytes) -> bytes | None:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            stored = _first(
                connection,
                "SELECT content FROM artifacts WHERE session = ? AND reference = ?",
                (self._session, reference),
            )
            if stored is not None:
                self._extend_in(connection, [reference])
                return bytes(stored[0])
            text = text_of(content) if self._is_indexing else None
            inserted = connection.execute(
                "INSERT INTO artifacts (session, reference, content, expires, indexed)"
                " VALUES (?, ?, ?, ?, ?)",
                (self._session, reference, content, self._expires(), text is not None),
            )
            if text is not None:
                connection.execute(
                    "INSERT INTO texts (rowid, text) VALUES (?, ?)", (inserted.lastrowid, text)
                )
        return None

    def _read(self, reference: str) -> bytes | None:
        with self._connection() as connection:
            found = _first(
                connection,
                "SELECT content FROM artifacts WHERE session = ? AND reference = ?",
                (self._session, reference),
            )
        return None if found is None else bytes(found[0])

    def _names(self, limit: int | None) -> builtins.list[str]:
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT reference FROM artifacts WHERE session = ? ORDER BY id DESC LIMIT ?",
                (self._session, -1 if limit is None else limit),
            )
            return [row[0] for row in rows]

    def _remove(self, reference: str) -> bool:
        return bool(self._remove_where("session = ? AND reference = ?", self._session, reference))

    def _extend(self, references: builtins.list[str]) -> None:
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._extend_in(connection, references)

    def _extend_in(self, connection: sqlite3.Connection, references: builtins.list[str]) -> None:
        connection.executemany(
            "UPDATE artifacts SET expires = ? WHERE session = ? AND reference = ?",
            [(self._expires(), self._session, reference) for reference in references],
        )

    def _sweep(self) -> builtins.list[str]:
        now = time.time()
        with self._connection() as connection:
            connection.execute("DELETE FROM cells WHERE expires < ?", (now,))
        # In all sessions, because nobody else cleans a finished session.
        removed = self._remove_where("expires < ?", now)
        return [reference for session, reference in removed if session == self._session]

    def _remove_where(self, condition: str, *values: Any) -> builtins.list[tuple[str, str]]:
        removed = []
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            rows = connection.execute(
                f"SELECT id, session, reference, indexed FROM artifacts WHERE {condition}",  # noqa: S608 - ours
                values,
            ).fetchall()
            for id_, session, reference, indexed in rows:
                if indexed and self._is_indexing:
                    connection.execute(
                        "INSERT INTO texts (texts, rowid, text) SELECT 'delete', id,"
                        " CAST(content AS TEXT) FROM artifacts WHERE id = ?",
                        (id_,),
                    )
                connection.execute("DELETE FROM artifacts WHERE id = ?", (id_,))
                removed.append((session, reference))
        return removed

    def _candidates(self, literal: str) -> set[str] | None:
        with self._connection() as connection:
            if not self._is_indexing:
                return None
            rows = connection.execute(
                "SELECT reference FROM artifacts WHERE session = ? AND (NOT indexed OR id IN"
                " (SELECT rowid FROM texts WHERE texts MATCH ?))",
                (self._session, '"' + literal.replace('"', '""') + '"'),
            )
            return {row[0] for row in rows}

    def _cell(self, name: str) -> Cell | None:
        with self._connection() as connection:
            found = _first(
                connection,
                "SELECT content, version FROM cells WHERE session = ? AND name = ?",
                (self._session, name),
            )
        return None if found is None else Cell(bytes(found[0]), found[1])

    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        with self._connection() as connection:
            if old is None:
                done = connection.execute(
                    "INSERT INTO cells (session, name, content, version, expires)"
                    " VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (self._session, name, content, new, self._expires()),
                )
            else:
                done = connection.execute(
                    "UPDATE cells SET content = ?, version = ?, expires = ?"
                    " WHERE session = ? AND name = ? AND version = ?",
                    (content, new, self._expires(), self._session, name, old),
                )
        return new if done.rowcount == 1 else None


def _first(connection: sqlite3.Connection, query: str, values: tuple[Any, ...]) -> Any:
    with closing(connection.execute(query, values)) as rows:
        return rows.fetchone()
