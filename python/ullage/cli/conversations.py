"""Reads the conversations that a command names: files, folders and standard input."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ullage.cli.errors import CommandError
from ullage.sessions import UnreadableSessionError, read_session_file, session_file_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ullage.cli.unread import Unread
    from ullage.sessions import Session, SessionFile

STANDARD_INPUT = "-"


def read(source: str, unread: Unread) -> SessionFile:
    """Reads a file or folder, or standard input for "-".

    Args:
        source: Its name.
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
        sources: Their names.
        unread: Collects the files, and the lines of files, that cannot be read.
    """
    sessions: list[Session] = []
    for source in sources:
        with unread:
            sessions += read(source, unread).sessions
    return sessions


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
