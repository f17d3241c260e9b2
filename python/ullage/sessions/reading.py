"""Reads recorded sessions of any program."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import UllageError
from ullage.sessions import sqlite, strands, transcripts
from ullage.sessions.file import (
    Lines,
    OnUnreadable,
    Problems,
    Session,
    SessionFile,
    Style,
    UnreadableSessionError,
)
from ullage.sessions.packing import ENDINGS, unpack
from ullage.sessions.shapes import shape_of

if TYPE_CHECKING:
    from ullage.sessions.shapes import Shape

# Suffixes of the files that are read from a folder.
_ENDINGS = (".json", ".jsonl", *sqlite.ENDINGS)
_DECODER = json.JSONDecoder()
# The byte order marks that Windows' shells write for UTF-16.
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_sessions(path: str | Path, on_unreadable: OnUnreadable | None = None) -> list[Session]:
    """Returns the sessions in a file or a folder, see :func:`read_session_file`."""
    return read_session_file(path, on_unreadable).sessions


def read_session_file(path: str | Path, on_unreadable: OnUnreadable | None = None) -> SessionFile:
    """Reads a file or a folder.

    A file holds a list of messages in any wire format, an object with such a list ("messages",
    "contents" or "input"), a message on each line, such an object on each line, a session of Google
    ADK, a trajectory in ATIF, or a transcript of Claude Code (its main chain is read) or of ullage
    (its view is read). It may be packed by xz or gzip. A SQLite database holds checkpoints of
    LangGraph or sessions of the OpenAI Agents SDK. A folder is a session of Strands with its
    agents, or is searched for files.

    Args:
        path: The file or the folder.
        on_unreadable: If given, it is called with each line of a file and each file of a folder
            that cannot be read, and the rest is read. Otherwise the first of them is raised.

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    path = Path(path)
    try:
        if sqlite.is_database(path):
            return sqlite.session_file(path, Problems(str(path), on_unreadable))
        data = None if path.is_dir() else path.read_bytes()
    except (OSError, ValueError) as error:
        raise reading_error(str(path), error) from error
    if data is None:
        return _folder(path, on_unreadable)
    return session_file_of(str(path), data, on_unreadable)


def session_file_of(
    name: str, data: bytes, on_unreadable: OnUnreadable | None = None
) -> SessionFile:
    """Reads the content of a file. The suffix of its name tells if it is packed.

    Args:
        name: The name of the file.
        data: Its content.
        on_unreadable: See :func:`read_session_file`.

    Raises:
        UnreadableSessionError: If it holds no messages.
    """
    found = Problems(name, on_unreadable)
    try:
        data = unpack(name, data)
        if data.startswith(sqlite.HEADER):
            raise ValueError("it is a SQLite database; give its file, not packed")  # noqa: TRY301
        # Editors and shells of Windows put a mark before UTF-8.
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
        if transcripts.is_transcript(text):
            return _transcript(name, data, found)
        shape = shape_of(_values(text, found), found)
    except RecursionError as error:
        raise UnreadableSessionError(name, "it is nested too deeply") from error
    except UnreadableSessionError:
        raise
    except (OSError, ValueError, UllageError) as error:
        raise UnreadableSessionError(name, str(error)) from error
    return SessionFile(name, shape.kind, _name_sessions(name, shape), shape.put, Style.of(text))


def _transcript(name: str, data: bytes, problems: Problems) -> SessionFile:
    messages, recovered = transcripts.view(data)
    # An agent may be writing the last line at this moment, so this is never raised.
    if recovered is not None and not problems.is_strict:
        problems.add(recovered)
    return SessionFile(name, transcripts.KIND, [Session(name, messages)])


def _folder(path: Path, on_unreadable: OnUnreadable | None) -> SessionFile:
    found = strands.agents(path, on_unreadable)
    if found:
        named = [Session(f"{path}: {agent}", messages) for agent, messages in found]
        return SessionFile(str(path), "a session of Strands", named)
    files = _files_in(path)
    sessions: list[Session] = []
    for file in files:
        try:
            sessions += read_sessions(file, on_unreadable)
        except UnreadableSessionError as error:  # noqa: PERF203 - the others are read
            if on_unreadable is None:
                raise
            on_unreadable(error)
    return SessionFile(str(path), "a folder", sessions)


def reading_error(file: str, error: Exception) -> UnreadableSessionError:
    """Returns the error for a file that cannot be opened."""
    return UnreadableSessionError(file, getattr(error, "strerror", None) or str(error))


def session_files(path: str | Path) -> list[Path]:
    """Returns the files of a folder that :func:`read_sessions` reads, in the same order.

    For a file, or for a folder that is a session of Strands, the only item is the path itself.

    Raises:
        UnreadableSessionError: If the folder has none.
    """
    path = Path(path)
    is_folder = path.is_dir() and not strands.agents(path, lambda _: None)
    return _files_in(path) if is_folder else [path]


def _files_in(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and is_session_file(file))
    if not files:
        raise UnreadableSessionError(
            str(folder), "no session of Strands, no JSON and no database is in this folder"
        )
    return files


def is_session_file(file: Path) -> bool:
    """True if a name is that of a file of sessions."""
    name = file.with_suffix("") if file.suffix.lower() in ENDINGS else file
    return name.suffix.lower() in _ENDINGS


def _name_sessions(name: str, shape: Shape) -> list[Session]:
    if len(shape.conversations) == 1:
        return [Session(name, shape.conversations[0])]
    numbered = zip(shape.numbers, shape.conversations, strict=True)
    return [Session(f"{name}:{number}", messages) for number, messages in numbered]


def _values(text: str, problems: Problems) -> Any:
    """Returns the value in a text of JSON, or those on its lines."""
    try:
        return json.loads(text)
    except ValueError as error:
        if not text.strip():
            raise ValueError("it is empty") from error
        values = _on_lines(text, problems)
        if values is None:
            raise ValueError(f"it is not valid JSON: {error}") from error
        return values


def _on_lines(text: str, problems: Problems) -> Lines | None:
    """Returns the objects on the lines of a text; None if this is not a file of JSON lines."""
    values, numbers = [], []
    damaged: list[tuple[str, int]] = []
    read = unread = 0
    # JSON strings may contain the other characters at which Python breaks lines.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = objects_on(line)
        except (ValueError, RecursionError) as error:
            unread += 1
            problem = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            damaged.append((problem, number))
        else:
            read += 1
            values += found
            numbers += [number] * len(found)
            if len(found) > 1:
                damaged.append((f"{len(found)} JSON values are on one line, all were read", number))
        if damaged and problems.is_strict:
            # The rest, which may be long, would not be used.
            break
    if not read or unread > read:
        return None
    for problem, number in damaged:
        problems.add(problem, number)
    return Lines(values, numbers)


def objects_on(line: str) -> list[Any]:
    """Returns the objects on a line, which should be one.

    Raises:
        ValueError: If the line holds anything else.
    """
    values: list[Any] = []
    at = _skip_blanks(line, 0)
    while at < len(line):
        try:
            value, at = _DECODER.raw_decode(line, at)
        except json.JSONDecodeError as error:
            raise ValueError(f"it is not valid JSON: {error.msg}, column {error.colno}") from error
        if not isinstance(value, dict):
            raise ValueError(f"it holds a {type(value).__name__}, not an object")  # noqa: TRY004
        values.append(value)
        at = _skip_blanks(line, at)
    return values


def _skip_blanks(line: str, at: int) -> int:
    while at < len(line) and line[at].isspace():
        at += 1
    return at
