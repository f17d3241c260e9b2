"""Reading recorded sessions, whatever wrote them."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import UllageError
from ullage.sessions import strands, transcripts
from ullage.sessions.file import Lines, Session, SessionFile, Style, UnreadableSessionError
from ullage.sessions.packing import ENDINGS, unpacked
from ullage.sessions.shapes import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# What a folder is searched for.
_ENDINGS = (".json", ".jsonl")
# What Windows' shells write before UTF-16.
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_sessions(path: str | Path) -> list[Session]:
    """The sessions in a file or a folder, see :func:`read_session_file`."""
    return read_session_file(path).sessions


def read_session_file(path: str | Path) -> SessionFile:
    """What a file or a folder holds.

    A file holds a list of messages in any wire format, an object with such a list ("messages",
    "contents" or "input"), a message on each line, such an object on each line, a session of Google
    ADK, a transcript of Claude Code, of which the main chain is followed, or one of ullage, of
    which the view is read. It may be packed by xz or gzip. A folder is a session of Strands, with
    its agents, or is searched for files.

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    path = Path(path)
    try:
        data = None if path.is_dir() else path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableSessionError(f"{path}: {reason}") from error
    return _folder(path) if data is None else session_file_of(str(path), data)


def session_file_of(name: str, data: bytes) -> SessionFile:
    """What the content of a file holds; the ending of its name says whether it is packed.

    Raises:
        UnreadableSessionError: If it holds no messages.
    """
    try:
        data = unpacked(name, data)
        # Editors and shells of Windows put a mark before UTF-8.
        text = data.decode("utf-16" if data.startswith(_UTF_16) else "utf-8-sig")
        if transcripts.is_transcript(text):
            return SessionFile(name, transcripts.KIND, [Session(name, transcripts.view(data))])
        shape = shape_of(_values(text))
    except RecursionError as error:
        raise UnreadableSessionError(f"{name} is nested too deep to be read") from error
    except (OSError, ValueError, UllageError) as error:
        raise UnreadableSessionError(f"{name}: {error}") from error
    sessions = _named(name, shape.conversations)
    return SessionFile(name, shape.kind, sessions, shape.put, Style.of(text))


def _folder(path: Path) -> SessionFile:
    try:
        found = strands.agents(path)
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableSessionError(f"{path}: {error}") from error
    if found:
        named = [Session(f"{path}: {agent}", messages) for agent, messages in found]
        return SessionFile(str(path), "a session of Strands", named)
    files = sorted(file for file in path.rglob("*") if file.is_file() and _is_session(file))
    if not files:
        raise UnreadableSessionError(f"{path}: no session of Strands and no JSON is in this folder")
    sessions = [session for file in files for session in read_sessions(file)]
    return SessionFile(str(path), "a folder", sessions)


def _is_session(file: Path) -> bool:
    name = file.with_suffix("") if file.suffix.lower() in ENDINGS else file
    return name.suffix.lower() in _ENDINGS


def _named(name: str, found: list[list[Any]]) -> list[Session]:
    if len(found) == 1:
        return [Session(name, found[0])]
    return [Session(f"{name}:{line}", messages) for line, messages in enumerate(found, 1)]


def _values(text: str) -> Any:
    """The value in a text of JSON, or those on its lines."""
    try:
        return json.loads(text)
    except ValueError as error:
        # JSON lines. Strings may hold every other character that Python ends a line at.
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - of a single line the first error says what is wrong
            raise ValueError(f"it is no JSON: {error}") from error
        return Lines(_on_lines(lines))


def _on_lines(lines: Iterable[tuple[int, str]]) -> Iterable[Any]:
    number = 0
    try:
        for number, line in lines:  # noqa: B007 - the error says it
            yield json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from error
