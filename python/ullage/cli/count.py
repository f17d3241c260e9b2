"""``ullage count``: tokens of conversations and texts."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ullage
from ullage.cli.codes import FINE
from ullage.cli.console import progress, say_json, table
from ullage.cli.conversations import STANDARD_INPUT, read, standard_input
from ullage.cli.errors import CommandError, about
from ullage.cli.options import (
    add_counting,
    add_files,
    add_format,
    add_json,
    command,
    counter_of,
)
from ullage.cli.unread import Unread
from ullage.sessions import UnreadableSessionError, session_file_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ullage.cli.console import Progress
    from ullage.sessions import SessionFile

# Files that hold conversations. Any other file that is not a conversation is plain text.
_CONVERSATIONS = (".json", ".jsonl", ".gz", ".xz")
# The kind of content of plain text.
_TEXT = "text"


@dataclass(frozen=True)
class Count:
    """The tokens of a conversation or a text.

    Attributes:
        file: The name of the file.
        tokens: The sum of all parts.
        messages: Number of messages; 0 for a text.
        format: The wire format; None for a text, or if it cannot be recognized.
        parts: Tokens by kind of content.
    """

    file: str
    tokens: int
    messages: int = 0
    format: str | None = None
    parts: dict[str, int] = field(default_factory=dict)


def add_to(commands: Any) -> None:
    """Adds the command to those of a parser."""
    parser = command(
        commands,
        "count",
        "count the tokens of conversations and texts",
        "Counts tokens by role and kind of content. A file without a conversation is counted"
        " as plain text.",
        run,
        found="",
    )
    add_files(parser)
    parser.add_argument("--text", action="store_true", help="count all files as plain text")
    add_counting(parser)
    add_format(parser)
    add_json(parser, "print a JSON object for each conversation")


def run(options: argparse.Namespace) -> int:
    """Prints the counts."""
    counter = counter_of(options) or ullage.TokenCounter()
    engine = ullage.ContextManager(counter=counter, format=options.format)
    counts: list[Count] = []
    unread = Unread()
    with progress("conversations", len(options.files)) as work:
        for file in options.files:
            with unread:
                counts += _counts(file, engine, options, unread, work)
    if options.json:
        for count in counts:
            say_json(asdict(count))
    elif counts:
        _show(counts, counter.name)
    return unread.report(FINE, did=bool(counts))


def _counts(
    file: str,
    engine: ullage.ContextManager,
    options: argparse.Namespace,
    unread: Unread,
    work: Progress,
) -> Iterator[Count]:
    found = _read(file, unread, as_text=options.text)
    if isinstance(found, str):
        tokens = engine.counter.count(found)
        yield Count(file, tokens, parts={_TEXT: tokens})
        work()
        return
    if work.total is not None:
        work.total += len(found.sessions) - 1
    for session in found.sessions:
        with unread, about(session.name, session.messages, options.format):
            status = engine.status(session.messages)
            yield Count(
                session.name,
                status.tokens,
                len(session.messages),
                _format(session.messages),
                status.parts,
            )
        work()


def _read(file: str, unread: Unread, *, as_text: bool) -> SessionFile | str:
    """Returns the conversations in a file, or its text."""
    is_folder = os.path.isdir(file)  # noqa: PTH112 - unlike a `Path`, it refuses no name
    if not as_text and (is_folder or Path(file).suffix.lower() in _CONVERSATIONS):
        return read(file, unread)
    data = _bytes(file)
    if as_text:
        return _text(file, data)
    try:
        return session_file_of(file, data)
    except UnreadableSessionError:
        return _text(file, data)


def _bytes(file: str) -> bytes:
    if file == STANDARD_INPUT:
        return standard_input()
    try:
        return Path(file).read_bytes()
    except (OSError, ValueError) as error:
        raise CommandError(f"{file}: {getattr(error, 'strerror', None) or error}") from error


def _text(file: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except ValueError as error:
        raise CommandError(f"{file}: it is neither a conversation nor text: {error}") from error


def _format(messages: list[Any]) -> str | None:
    try:
        return ullage.detect_format(messages)
    except ullage.MessageError:
        return None


def _show(counts: list[Count], counter: str) -> None:
    kinds = list(dict.fromkeys(kind for count in counts for kind in sorted(count.parts)))
    if len(counts) > 1:
        counts = [*counts, _sum(counts, kinds)]
    rows = [
        [
            count.file,
            f"{count.messages:,}",
            *(f"{count.parts.get(kind, 0):,}" for kind in kinds),
            f"{count.tokens:,}",
        ]
        for count in counts
    ]
    table(["file", "messages", *kinds, "tokens"], rows, below=f"counted by {counter}")


def _sum(counts: list[Count], kinds: list[str]) -> Count:
    return Count(
        "all",
        sum(count.tokens for count in counts),
        sum(count.messages for count in counts),
        parts={kind: sum(count.parts.get(kind, 0) for count in counts) for kind in kinds},
    )
