"""Reads the databases of hosts: checkpoints of LangGraph, and sessions of the OpenAI Agents SDK.

A database is data of someone else: it is opened to read, its views and virtual tables are not
used, and no object in it is made.
"""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage.sessions import langchain, msgpack
from ullage.sessions.file import Session, SessionFile

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ullage.sessions.file import Problems

# The first bytes of every database.
HEADER = b"SQLite format 3\x00"
ENDINGS = (".db", ".sqlite", ".sqlite3")

_LANGGRAPH = "checkpoints of LangGraph"
_AGENTS = "sessions of the OpenAI Agents SDK"
# The columns by which a table is recognized.
_OF_LANGGRAPH = frozenset(("thread_id", "checkpoint_ns", "checkpoint_id", "type", "checkpoint"))
_OF_AGENTS = frozenset(("id", "session_id", "message_data"))
# The channel of an agent's messages; another graph may name it otherwise.
_MESSAGES = "messages"


def is_database(path: Path) -> bool:
    """True if a file begins as a database does; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(HEADER)) == HEADER
    except (OSError, ValueError):
        return False


def session_file(path: Path, problems: Problems) -> SessionFile:
    """Returns the conversations in a database.

    Args:
        path: The database. A host may be writing to it.
        problems: Collects the conversations that cannot be read.

    Raises:
        ValueError: If it is damaged, or of another program.
    """
    # Few callers need this import, and some builds of Python lack the module.
    import sqlite3

    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        with closing(connection):
            # Bytes that are not UTF-8 are damage in one text, not in the database.
            connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            kind, found = _conversations(connection, problems)
    except sqlite3.Error as error:
        raise ValueError(f"the database cannot be read: {error}") from error
    if not found:
        raise ValueError(f"there are no messages in these {kind}")
    several = len(found) > 1
    named = [
        Session(f"{path}: {name}" if several else str(path), messages) for name, messages in found
    ]
    return SessionFile(str(path), kind, named)


def _conversations(
    connection: sqlite3.Connection, problems: Problems
) -> tuple[str, list[tuple[str, list[Any]]]]:
    for table in _tables(connection):
        columns = {
            row[1] for row in connection.execute(f"PRAGMA table_info({_quote_identifier(table)})")
        }
        for kind, wanted, read in (
            (_LANGGRAPH, _OF_LANGGRAPH, _threads),
            (_AGENTS, _OF_AGENTS, _sessions),
        ):
            if wanted <= columns:
                return kind, list(_each(read, connection, table, problems))
    raise ValueError(
        "no table of this database has conversations: give checkpoints of LangGraph"
        " (`SqliteSaver`) or sessions of the OpenAI Agents SDK (`SQLiteSession`)"
    )


def _tables(connection: sqlite3.Connection) -> list[str]:
    """Returns the names of the plain tables, in the order in which they were made."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return [name for name, sql in rows if not str(sql).lstrip().upper().startswith("CREATE VIRT")]


def _each(
    read: Callable[[sqlite3.Connection, str], Iterator[tuple[str, Callable[[], list[Any]]]]],
    connection: sqlite3.Connection,
    table: str,
    problems: Problems,
) -> Iterator[tuple[str, list[Any]]]:
    for name, messages in read(connection, table):
        try:
            found = messages()
        except (ValueError, RecursionError) as error:
            problems.add(f"{name}: {error}")
            continue
        if found:
            yield name, found


def _threads(
    connection: sqlite3.Connection, table: str
) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Yields the threads with their last checkpoints. Ids of checkpoints grow with time."""
    rows = connection.execute(
        f"SELECT thread_id, checkpoint_ns, type, checkpoint, MAX(checkpoint_id)"  # noqa: S608
        f" FROM {_quote_identifier(table)} GROUP BY thread_id, checkpoint_ns"
        " ORDER BY thread_id, checkpoint_ns"
    )
    for thread, namespace, kind, checkpoint, _ in rows:
        name = f"{thread} {namespace}".strip()
        yield name, partial(_of_checkpoint, kind, checkpoint)


def _of_checkpoint(kind: Any, data: Any) -> list[Any]:
    if not isinstance(data, (bytes, str)) or kind not in ("msgpack", "json"):
        # Pickle could run code, and encrypted checkpoints need a key.
        raise ValueError(
            f"its checkpoint is written as {kind!r}, and only msgpack and JSON are read"
        )
    data = data.encode() if isinstance(data, str) else data
    value = json.loads(data) if kind == "json" else msgpack.decode(data)
    channels = value.get("channel_values") if isinstance(value, dict) else None
    if not isinstance(channels, dict):
        raise ValueError("its checkpoint has no channels")  # noqa: TRY004 - of a file
    lists = [channels.get(_MESSAGES), *channels.values()]
    for channel in lists:
        if isinstance(channel, list) and channel:
            found = [_plain(entry) for entry in channel]
            if all(langchain.is_message(entry) for entry in found):
                return [langchain.message(entry) for entry in found]
    return []


def _plain(value: Any) -> Any:
    """Returns the fields of a message that LangChain has written as JSON."""
    if isinstance(value, dict) and "lc" in value and isinstance(value.get("kwargs"), dict):
        return value["kwargs"]
    return value


def _sessions(
    connection: sqlite3.Connection, table: str
) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Yields the sessions with their items, in the form of the Responses API."""
    rows = connection.execute(
        f"SELECT session_id, message_data FROM {_quote_identifier(table)} ORDER BY id"  # noqa: S608
    )
    found: dict[str, list[Any]] = {}
    for session, data in rows:
        found.setdefault(str(session), []).append(data)
    for session, items in found.items():
        yield session, partial(_items, items)


def _items(rows: list[Any]) -> list[Any]:
    try:
        return [json.loads(row) for row in rows]
    except (TypeError, ValueError) as error:
        raise ValueError(f"one of its items is not valid JSON: {error}") from error


def _quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
