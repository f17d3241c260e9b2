"""Recorded sessions, read from the files that agents and hosts leave behind."""

from __future__ import annotations

import gzip
import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import UllageError
from ullage.replay import adk, claude_code, strands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The fields of a request or a record that hold its messages, in the order in which they are tried.
_FIELDS = ("messages", "contents", "input")
# Every message has one of these.
_FIELDS_OF_A_MESSAGE = ("role", "parts", "type")
# What a folder is searched for.
_ENDINGS = (".json", ".jsonl")
_PACKED: dict[str, Callable[[bytes], bytes]] = {".xz": lzma.decompress, ".gz": gzip.decompress}


class UnreadableSessionError(UllageError):
    """A file or folder that holds no session; its text says why."""


@dataclass(frozen=True)
class Session:
    """A recorded conversation.

    Attributes:
        name: The file that it is from, and which of several there.
        messages: Its messages, in the wire format that they were recorded in.
    """

    name: str
    messages: list[Any]


def read_sessions(path: str | Path) -> list[Session]:
    """The sessions in a file or a folder.

    A file holds a list of messages in any wire format, an object with such a list ("messages",
    "contents" or "input"), a message on each line, such an object on each line, a session of Google
    ADK, or a transcript of Claude Code, of which the main chain is followed. It may be packed by xz
    or gzip. A folder is a session of Strands, with its agents, or is searched for files.

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    path = Path(path)
    if path.is_dir():
        return _folder(path)
    try:
        packed = path.read_bytes()
        unpack = _PACKED.get(path.suffix.lower())
        # Editors and shells of Windows put a mark before UTF-8.
        text = (packed if unpack is None else unpack(packed)).decode("utf-8-sig")
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise UnreadableSessionError(f"{path}: {error}") from error
    try:
        return _named(str(path), _conversations(_values(text)))
    except (ValueError, RecursionError) as error:
        raise UnreadableSessionError(f"{path}: {error}") from error


def _folder(path: Path) -> list[Session]:
    try:
        found = strands.agents(path)
        if found:
            return [Session(f"{path}: {agent}", messages) for agent, messages in found]
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableSessionError(f"{path}: {error}") from error
    files = sorted(file for file in path.rglob("*") if file.is_file() and _is_session(file))
    if not files:
        raise UnreadableSessionError(f"{path}: no session of Strands and no JSON is in this folder")
    return [session for file in files for session in read_sessions(file)]


def _is_session(file: Path) -> bool:
    name = file.with_suffix("") if file.suffix.lower() in _PACKED else file
    return name.suffix.lower() in _ENDINGS


def _named(name: str, found: list[list[Any]]) -> list[Session]:
    if not found:
        raise ValueError("there are no messages in it")
    if len(found) == 1:
        return [Session(name, found[0])]
    return [Session(f"{name}:{line}", messages) for line, messages in enumerate(found, 1)]


def _values(text: str) -> Any:
    """The value in a text of JSON, or those on its lines."""
    try:
        return json.loads(text)
    except ValueError:
        # JSON lines. Strings may hold every other character that Python ends a line at.
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - of a single line the first error says what is wrong
            raise
        return _Lines(_on_lines(lines))


class _Lines(list[Any]):
    """Values that stood on a line each."""


def _on_lines(lines: Iterable[str]) -> Iterable[Any]:
    number = 0
    try:
        for number, line in enumerate(lines, 1):  # noqa: B007 - the error says it
            yield json.loads(line)
    except ValueError as error:
        raise ValueError(f"line {number} is no JSON: {error}") from error


def _conversations(value: Any) -> list[list[Any]]:
    """The conversations in a value."""
    if isinstance(value, dict):
        return [_of_object(value)]
    if not isinstance(value, list):
        raise ValueError(  # noqa: TRY004 - of a file, not of an argument
            f"it holds a {type(value).__name__}, and no messages"
        )
    if isinstance(value, _Lines) and claude_code.is_transcript(value):
        return [claude_code.main_chain(value)]
    records = [entry for entry in value if isinstance(entry, dict)]
    if records and all(not _is_message(entry) for entry in records):
        return [_of_object(entry) for entry in records]
    return [value] if value else []


def _of_object(value: dict[str, Any]) -> list[Any]:
    if adk.is_session(value):
        return adk.contents(value)
    lists = (value.get(field) for field in _FIELDS)
    found: list[Any] | None = next((found for found in lists if isinstance(found, list)), None)
    if found is not None:
        return found
    if _is_message(value):
        return [value]
    names = ", ".join(f"`{field}`" for field in _FIELDS)
    raise ValueError(f"an object in it has no list of messages in {names} or `events`")


def _is_message(value: dict[str, Any]) -> bool:
    return any(field in value for field in _FIELDS_OF_A_MESSAGE)
