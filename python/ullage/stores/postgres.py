"""``PostgresStore``: a PostgreSQL database that many machines share."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ullage.stores.per_process import PerProcess
from ullage.stores.shared import TIMEOUT, Cell, SharedStore, require, text_of

try:
    import psycopg
    from psycopg import conninfo
    from psycopg_pool import ConnectionPool
except ImportError as error:
    raise require("psycopg", "postgres") from error

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator

# The number of the lock under which a worker creates the tables: "ullage" in ASCII.
_MAKING = 0x756C6C616765

_TABLES = """
CREATE TABLE IF NOT EXISTS ullage_artifacts (
    session text NOT NULL, reference text NOT NULL, content bytea NOT NULL,
    expires timestamptz, indexed boolean NOT NULL, PRIMARY KEY (session, reference)
);
CREATE INDEX IF NOT EXISTS ullage_artifacts_expire ON ullage_artifacts (expires)
    WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS ullage_cells (
    session text NOT NULL, name text NOT NULL, content bytea NOT NULL, version text NOT NULL,
    expires timestamptz, PRIMARY KEY (session, name)
);
"""
# Computed from the content, so that no text is stored twice.
_TEXT = "(CASE WHEN indexed THEN convert_from(content, 'UTF8') END)"
# An index of trigrams, because a pattern also matches inside words, which `tsvector` cannot find.
_INDEX = f"""
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX IF NOT EXISTS ullage_artifacts_text
    ON ullage_artifacts USING gin ({_TEXT} gin_trgm_ops)
"""


class PostgresStore(SharedStore):
    """A store in a PostgreSQL database, for any number of machines.

    Uses psycopg and its pool (``pip install 'ullage[postgres]'``). The first use creates the tables
    ``ullage_artifacts`` and ``ullage_cells``, and a text index if the extension ``pg_trgm`` can be
    created. Without the index, a search reads all text of the session on the server.

    Args:
        conninfo: The address, such as ``postgresql://user@host/database``.
        session: Any text. Only stores with the same session see its content.
        keep_for: Seconds that an artifact stays after it was last stored, read, or reached from a
            compacted conversation. None keeps it until it is deleted.
        timeout: Seconds that a call may take.
        connections: The most connections that this process opens.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        session: str | None = None,
        keep_for: float | None = None,
        timeout: float = TIMEOUT,
        connections: int = 8,
    ) -> None:
        super().__init__(session, keep_for)
        self._conninfo = conninfo
        self._timeout = timeout
        self._connections = connections
        # True once the tables are known to exist.
        self._is_made = False
        self._pool = PerProcess(self._connection_pool)

    def close(self) -> None:  # noqa: D102 - the base says it
        pool = self._pool.drop()
        if pool is not None:
            pool.close()

    def _place(self) -> str:
        known = conninfo.conninfo_to_dict(self._conninfo)
        return f"{known.get('host', 'localhost')}/{known.get('dbname', '')}"

    def _connection_pool(self) -> ConnectionPool[psycopg.Connection[Any]]:
        return ConnectionPool(
            self._conninfo,
            min_size=0,
            max_size=self._connections,
            timeout=self._timeout,
            open=True,
            # No prepared statements, because a pooler before the server may not support them.
            kwargs={"connect_timeout": max(2, int(self._timeout)), "prepare_threshold": None},
        )

    @contextmanager
    def _cursor(self) -> Iterator[psycopg.Cursor[Any]]:
        """Yields a cursor in a transaction, which an exception rolls back."""
        with self._pool.get().connection() as connection:
            # If the server stops answering, psycopg itself would wait for ever.
            alarm = threading.Timer(self._timeout, _hang_up, (connection,))
            alarm.daemon = True
            alarm.start()
            try:
                if not self._is_made:
                    self._make(connection)
                    self._is_made = True
                with connection.transaction(), connection.cursor(binary=True) as cursor:
                    yield cursor
            finally:
                alarm.cancel()

    def _make(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
            # A service's role often may not create tables, so existing ones are used as they are.
            found = connection.execute("SELECT to_regclass('ullage_cells')").fetchone()
            if found == (None,):
                connection.execute(_TABLES)
                # A role that may not create the extension gets no index.
                with suppress(psycopg.Error), connection.transaction():
                    connection.execute(_INDEX)

    def _insert(self, reference: str, content: bytes) -> bytes | None:
        while True:
            with self._cursor() as cursor:
                is_utf_8 = cursor.connection.info.parameter_status("server_encoding") == "UTF8"
                cursor.execute(
                    "INSERT INTO ullage_artifacts VALUES"
                    " (%s, %s, %b, now() + make_interval(secs => %s), %s) ON CONFLICT DO NOTHING",
                    (
                        self._session,
                        reference,
                        content,
                        self.keep_for,
                        is_utf_8 and text_of(content) is not None,
                    ),
                )
                if cursor.rowcount == 1:
                    return None
                cursor.execute(
                    "UPDATE ullage_artifacts SET expires = now() + make_interval(secs => %s)"
                    " WHERE session = %s AND reference = %s RETURNING content",
                    (self.keep_for, self._session, reference),
                )
                found = cursor.fetchone()
            # None if another worker has removed it meanwhile.
            if found is not None:
                return bytes(found[0])

    def _read(self, reference: str) -> bytes | None:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT content FROM ullage_artifacts WHERE session = %s AND reference = %s",
                (self._session, reference),
            )
            found = cursor.fetchone()
        return None if found is None else bytes(found[0])

    def _names(self, limit: int | None) -> builtins.list[str]:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT reference FROM ullage_artifacts WHERE session = %s LIMIT %s",
                (self._session, limit),
            )
            return [row[0] for row in cursor]

    def _remove(self, reference: str) -> bool:
        with self._cursor() as cursor:
            cursor.execute(
                "DELETE FROM ullage_artifacts WHERE session = %s AND reference = %s",
                (self._session, reference),
            )
            return cursor.rowcount == 1

    def _extend(self, references: builtins.list[str]) -> None:
        with self._cursor() as cursor:
            cursor.execute(
                "UPDATE ullage_artifacts SET expires = now() + make_interval(secs => %s)"
                " WHERE session = %s AND reference = ANY(%s)",
                (self.keep_for, self._session, references),
            )

    def _sweep(self) -> builtins.list[str]:
        with self._cursor() as cursor:
            cursor.execute("DELETE FROM ullage_cells WHERE expires < now()")
            # In all sessions, because nobody else cleans a finished session.
            cursor.execute(
                "DELETE FROM ullage_artifacts WHERE expires < now() RETURNING session, reference"
            )
            return [reference for session, reference in cursor if session == self._session]

    def _candidates(self, literal: str) -> set[str] | None:
        for special in "\\%_":
            literal = literal.replace(special, f"\\{special}")
        with self._cursor() as cursor:
            cursor.execute(
                f"SELECT reference FROM ullage_artifacts WHERE session = %s"  # noqa: S608 - ours
                f" AND (NOT indexed OR {_TEXT} ILIKE %s)",
                (self._session, f"%{literal}%"),
            )
            return {row[0] for row in cursor}

    def _cell(self, name: str) -> Cell | None:
        with self._cursor() as cursor:
            cursor.execute(
                "SELECT content, version FROM ullage_cells WHERE session = %s AND name = %s",
                (self._session, name),
            )
            found = cursor.fetchone()
        return None if found is None else Cell(bytes(found[0]), found[1])

    def _swap(self, name: str, content: bytes, old: str | None, new: str) -> str | None:
        with self._cursor() as cursor:
            if old is None:
                cursor.execute(
                    "INSERT INTO ullage_cells VALUES"
                    " (%s, %s, %b, %s, now() + make_interval(secs => %s)) ON CONFLICT DO NOTHING",
                    (self._session, name, content, new, self.keep_for),
                )
            else:
                cursor.execute(
                    "UPDATE ullage_cells SET content = %b, version = %s,"
                    " expires = now() + make_interval(secs => %s)"
                    " WHERE session = %s AND name = %s AND version = %s",
                    (content, new, self.keep_for, self._session, name, old),
                )
            return new if cursor.rowcount == 1 else None


def _hang_up(connection: psycopg.Connection[Any]) -> None:
    """Closes a connection from another thread, so that the waiting thread gets an error at once."""
    with (
        suppress(OSError, psycopg.Error),
        socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same,
    ):
        same.shutdown(socket.SHUT_RDWR)
