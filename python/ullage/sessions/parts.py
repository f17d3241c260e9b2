"""Reads sessions one after the other, so that a file may be larger than the memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ullage.sessions import buckets, sqlite
from ullage.sessions.file import Problems, Session, UnreadableSessionError
from ullage.sessions.packing import ENDINGS, unpacked_lines
from ullage.sessions.reading import (
    is_session_file,
    objects_on,
    read_session_file,
    reading_error,
    session_file_of,
    session_files,
)
from ullage.sessions.shapes import conversation_in, is_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ullage.sessions.file import OnUnreadable

# Bytes of a range of a large file: some seconds of work, so that all workers are busy to the end.
_RANGE = 8 * 2**20


@dataclass(frozen=True)
class SessionPart:
    """A file, or some lines of a large one.

    Attributes:
        file: The file, the URL, or the folder of a session of Strands.
        size: Its bytes, if it is known.
        line: Its first line, counted from 1; None for a whole file.
        start: The byte at which that line begins.
    """

    file: str
    size: int
    line: int | None = None
    start: int = 0


def session_parts(path: str | Path) -> Iterator[SessionPart]:
    """The parts of a file, a folder or what is below a URL, in the order of their sessions.

    A file with a conversation on each line has several parts if it is large and not packed.

    Raises:
        UnreadableSessionError: If there are none.
    """
    if not buckets.is_url(str(path)):
        for file in session_files(path):
            yield from _parts_of(file)
    elif is_session_file(Path(str(path))):
        yield SessionPart(str(path), 0)
    else:
        url = str(path)
        found = sorted(
            (name, size) for name, size in buckets.objects_in(url) if is_session_file(Path(name))
        )
        if not found:
            raise UnreadableSessionError(url, "no JSON is below this URL")
        yield from (SessionPart(name, size) for name, size in found)


def iter_sessions(path: str | Path, on_unreadable: OnUnreadable | None = None) -> Iterator[Session]:
    """The sessions of :func:`read_sessions`, one after the other.

    Of a file with a conversation on each line, only one line is in memory. Other files are read
    whole. Beside files and folders, it reads ``s3://bucket/prefix``, ``gs://...`` and ``az://...``
    with the extra ``objects``.

    Args:
        path: The file, the folder or the URL.
        on_unreadable: See :func:`read_session_file`.

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    for part in session_parts(path):
        yield from sessions_in(part, on_unreadable)


def sessions_in(part: SessionPart, on_unreadable: OnUnreadable | None = None) -> Iterator[Session]:
    """The sessions of a part.

    Raises:
        UnreadableSessionError: If it cannot be read or holds no messages.
    """
    path = None if buckets.is_url(part.file) else Path(part.file)
    if path is not None and (path.is_dir() or sqlite.is_database(path)):
        yield from read_session_file(part.file, on_unreadable).sessions
        return
    problems = Problems(part.file, on_unreadable)
    with _open(part.file) as stream:
        if part.line is not None:
            for number, messages in _conversations(part, stream, problems):
                yield Session(f"{part.file}:{number}", messages)
        elif _has_conversations_on_lines(part.file, stream):
            yield from _name_sessions(part, stream, problems)
        else:
            yield from session_file_of(part.file, stream.read(), on_unreadable).sessions


def _parts_of(file: Path) -> Iterator[SessionPart]:
    size = file.stat().st_size if file.is_file() else 0
    if size <= _RANGE or file.suffix.lower() in ENDINGS or not _is_on_lines(str(file)):
        yield SessionPart(str(file), size)
        return
    with _open(str(file)) as stream:
        start, line = 0, 1
        while block := stream.read(_RANGE):
            rest = b"" if block.endswith(b"\n") else stream.readline()
            length = len(block) + len(rest)
            is_whole = length == size
            yield SessionPart(str(file), length, None if is_whole else line, start)
            start, line = start + length, line + block.count(b"\n") + rest.count(b"\n")


def _open(file: str) -> IO[bytes]:
    if buckets.is_url(file):
        return buckets.open_object(file)
    try:
        return Path(file).open("rb")
    except (OSError, ValueError) as error:
        raise reading_error(file, error) from error


def _is_on_lines(file: str) -> bool:
    try:
        with _open(file) as stream:
            return _has_conversations_on_lines(file, stream)
    except UnreadableSessionError:
        return False  # Said again where it is read.


def _has_conversations_on_lines(file: str, stream: IO[bytes]) -> bool:
    """True if the first line that is not empty is a conversation. The stream begins again."""
    try:
        first = next((line for line in unpacked_lines(file, stream) if line.strip()), b"")
        found = objects_on(first.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        found = []
    stream.seek(0)
    return bool(found) and all(map(is_conversation, found))


def _name_sessions(part: SessionPart, stream: IO[bytes], problems: Problems) -> Iterator[Session]:
    """The sessions of a file; a single one has its name."""
    first: Session | None = None
    is_single = True
    for number, messages in _conversations(part, stream, problems):
        session = Session(f"{part.file}:{number}", messages)
        if first is None and is_single:
            first = session
            continue
        if first is not None:
            is_single = False
            yield first
            first = None
        yield session
    if first is not None:
        yield Session(part.file, first.messages)


def _conversations(
    part: SessionPart, stream: IO[bytes], problems: Problems
) -> Iterator[tuple[int, list[Any]]]:
    """The lines that hold conversations, and the conversations on them."""
    stream.seek(part.start)
    lines = unpacked_lines(part.file, stream)
    left, number = part.size, part.line or 1
    while part.line is None or left > 0:
        try:
            line = next(lines)
        except StopIteration:
            return
        except ValueError as error:
            problems.add(str(error), number)
            return
        for messages in _conversations_on(line, number, problems):
            yield number, messages
        left, number = left - len(line), number + 1


def _conversations_on(line: bytes, number: int, problems: Problems) -> Iterator[list[Any]]:
    if not line.strip():
        return
    try:
        # The first line may begin with a mark.
        values = objects_on(line.rstrip(b"\n").decode("utf-8-sig" if number == 1 else "utf-8"))
        found = [conversation_in(value) for value in values]
    except RecursionError:
        problems.add("it is nested too deeply", number)
        return
    except ValueError as error:
        problems.add(str(error), number)
        return
    if len(found) > 1:
        problems.add(f"{len(found)} JSON values are on one line, all were read", number)
    yield from found
