"""Reads the conversations that a command names: files, folders and standard input."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ullage.cli.errors import CommandError
from ullage.sessions import UnreadableSessionError, read_session_file, session_file_of
from ullage.sessions.parts import SessionPart, session_parts, sessions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ullage.cli.unread import Unread
    from ullage.sessions import Session, SessionFile

STANDARD_INPUT = "-"


def read(source: str, unread: Unread) -> SessionFile:
    """Reads a file or folder, or standard input for "-".

    Args:
        source: The name of the file or folder.
        unread: Collects lines and files that cannot be read.

    Raises:
        UnreadableSessionError: If nothing in it can be read.
    """
    if source != STANDARD_INPUT:
        return read_session_file(source, unread.append)
    return session_file_of(source, standard_input(), unread.append)


def read_all(sources: Sequence[str], unread: Unread) -> list[Session]:
    """Reads the sessions in several files.

    Args:
        sources: The names of the files.
        unread: Collects the files, and the lines of files, that cannot be read.
    """
    sessions: list[Session] = []
    for source in sources:
        with unread:
            sessions += read(source, unread).sessions
    return sessions


def read_each(
    sources: Sequence[str], unread: Unread, progress: Callable[[int, int], object]
) -> Iterator[Session]:
    """Reads sessions one after the other, like ``ullage.sessions.iter_sessions``.

    Args:
        sources: Names of files, folders and URLs.
        unread: Collects what cannot be read.
        progress: Called with the bytes whose sessions were taken, and with those of all files.
    """
    parts: list[SessionPart] = []
    for source in sources:
        with unread:
            is_file = source != STANDARD_INPUT
            parts += session_parts(source) if is_file else [SessionPart(source, 0)]
    done, total = 0, sum(part.size for part in parts)
    progress(done, total)
    for part in parts:
        with unread:
            if part.file == STANDARD_INPUT:
                yield from read(part.file, unread).sessions
            else:
                yield from sessions_in(part, unread.append)
        done += part.size
        progress(done, total)


def standard_input() -> bytes:
    """Reads standard input.

    Raises:
        UnreadableSessionError: If it cannot be read.
    """
    if sys.stdin is None:
        raise UnreadableSessionError(STANDARD_INPUT, "standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UnreadableSessionError(STANDARD_INPUT, error.strerror or str(error)) from error


def system_in(path: Path | None) -> Any:
    """Returns the system prompt in a file: blocks if it is JSON, otherwise its text.

    Raises:
        CommandError: If it cannot be read.
    """
    if path is None:
        return None
    text = _text(path)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (list, dict)) else text


def tools_in(path: Path | None) -> Any:
    """Returns the tool definitions in a file.

    Raises:
        CommandError: If it cannot be read, or is not JSON.
    """
    if path is None:
        return None
    try:
        return json.loads(_text(path))
    except RecursionError as error:
        raise CommandError(f"{path} is nested too deeply") from error
    except ValueError as error:
        raise CommandError(f"{path}: not valid JSON: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
