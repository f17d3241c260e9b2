"""Conversations as commands name them: files, folders and standard input."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from ullage.cli.errors import CommandError
from ullage.sessions import SessionFile, UnreadableSessionError, read_session_file, session_file_of

if TYPE_CHECKING:
    from pathlib import Path

STANDARD_INPUT = "-"


def read(source: str) -> SessionFile:
    """What a file or folder holds, or standard input for "-".

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    if source != STANDARD_INPUT:
        return read_session_file(source)
    return session_file_of(source, standard_input())


def standard_input() -> bytes:
    """All of standard input.

    Raises:
        UnreadableSessionError: If it cannot be read.
    """
    if sys.stdin is None:
        raise UnreadableSessionError("-: standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UnreadableSessionError(f"-: {error.strerror or error}") from error


def system_in(path: Path | None) -> Any:
    """The system prompt in a file: blocks as JSON, else its text.

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
    """The tool definitions in a file.

    Raises:
        CommandError: If it cannot be read, or is no JSON.
    """
    if path is None:
        return None
    try:
        return json.loads(_text(path))
    except RecursionError as error:
        raise CommandError(f"{path} is nested too deep to be read") from error
    except ValueError as error:
        raise CommandError(f"{path}: it is no JSON: {error}") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
