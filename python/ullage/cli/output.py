"""Writes changed conversations: to standard output, another file, or back to their own."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ullage import Transcript
from ullage._engine.files import write_whole
from ullage.cli.console import note, progress
from ullage.cli.conversations import STANDARD_INPUT, read
from ullage.cli.errors import CommandError
from ullage.cli.locks import require_unlocked
from ullage.cli.options import set_completion
from ullage.cli.overwriting import add_dry_run, add_force, lost_messages, require_new
from ullage.sessions.packing import pack
from ullage.sessions.shapes import LINES
from ullage.sessions.transcripts import KIND as TRANSCRIPT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ullage.cli.unread import Unread
    from ullage.sessions import Session, SessionFile

# The type of a change's report.
ChangeReport = TypeVar("ChangeReport")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose the output."""
    group = parser.add_mutually_exclusive_group()
    file = group.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write to this file, whole or not at all; standard output if not given",
    )
    set_completion(file, "file")
    group.add_argument(
        "-i", "--in-place", action="store_true", help="write back to FILE, whole or not at all"
    )
    add_force(parser)
    add_dry_run(parser)
    parser.add_argument(
        "--transcript",
        action="store_true",
        help="treat FILE as a transcript of ullage even if it was never compacted: the outcome is"
        " appended, and all messages stay in the file",
    )


class Changed(Generic[ChangeReport]):
    """A conversation that was changed.

    Attributes:
        name: The name of the conversation.
        report: The report of the change.
        shown: The messages to print, or None.
    """

    def __init__(self, name: str, report: ChangeReport, shown: list[Any] | None) -> None:
        self.name = name
        self.report = report
        self.shown = shown

    def to_dict(self, **fields: Any) -> dict[str, Any]:
        """Returns the JSON object for programs, with the given fields."""
        messages = {} if self.shown is None else {"messages": self.shown}
        return {"file": self.name, **fields, **messages}


def change(
    options: argparse.Namespace, how: Callable[[str, list[Any]], ChangeReport], unread: Unread
) -> list[Changed[ChangeReport]]:
    """Changes each conversation of a file, and writes all of them where the options say.

    With ``--dry-run`` nothing is written, not even to standard output.

    Args:
        options: The options of the command.
        how: Takes the name and the messages, changes the messages in place and returns a report.
        unread: Collects the unreadable parts. If there are any, nothing is written in place.

    Raises:
        UllageError: If a change fails or cannot be written. The file then keeps its content.
    """
    if options.output is not None:
        require_new(options.output, options)
    stamp = _stamp(options.file)
    changed: list[Changed[ChangeReport]] = []
    outcome: list[list[Any]] = []
    done: list[Session] = []
    with progress("conversations") as work:
        source = read(options.file, unread)
        work.total = len(source.sessions)
        _require_writable(options, source, unread)
        if options.in_place and (options.transcript or source.kind == TRANSCRIPT):
            report = _change_transcript(options.file, how, dry_run=options.dry_run)
            return [Changed(source.name, report, None)]
        is_shown = options.json and not (options.output or options.in_place or options.dry_run)
        # In place, all conversations are written or none. If the only one fails, the command fails.
        going_on = nullcontext() if options.in_place or len(source.sessions) == 1 else unread
        for session in source.sessions:
            messages = list(session.messages)
            with going_on:
                report = how(session.name, messages)
                changed.append(Changed(session.name, report, messages if is_shown else None))
                outcome.append(messages)
                done.append(session)
            work()
    if len(done) < len(source.sessions):
        source = replace(source, sessions=done, put=None)
    if options.in_place and _stamp(options.file) != stamp:
        raise CommandError(
            f"--in-place: another program changed {options.file} meanwhile; ullage wrote nothing."
            " Try again when no program writes to it, or use -o FILE"
        )
    if options.in_place:
        _require_nothing_lost(options, source, outcome)
    if options.dry_run:
        note("ullage: dry run: nothing was written")
    elif not is_shown and (done or not unread):
        _write(options, source, outcome)
    return changed


def _change_transcript(
    file: str, how: Callable[[str, list[Any]], ChangeReport], *, dry_run: bool
) -> ChangeReport:
    """Appends the changed view to a transcript, which keeps every message."""
    with Transcript(file) as transcript:
        view = transcript.view()
        before = list(view)
        report = how(file, view)
        if dry_run:
            note("ullage: dry run: nothing was written")
        else:
            transcript.set_view(view, since=before)
        return report


def _stamp(file: str) -> tuple[int, int, int] | None:
    """Returns figures that change when the file does; None if it is not a file."""
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _require_writable(options: argparse.Namespace, source: SessionFile, unread: Unread) -> None:
    """Raises before the work if the result could not be written."""
    if unread and _is_same_file(options):
        raise CommandError(
            f"{unread[0]}; {options.file} is unchanged, because its unreadable part would be"
            " lost. Use -o with another name"
        )
    if not options.in_place:
        return
    if options.file == STANDARD_INPUT:
        raise CommandError("--in-place: standard input cannot be written back; use -o FILE")
    if options.transcript and source.kind not in {LINES, TRANSCRIPT}:
        raise CommandError(f"--transcript: {options.file} is {source.kind}")
    if source.put is None and source.kind != TRANSCRIPT:
        raise CommandError(
            f"--in-place: {options.file} is {source.kind}, which only the program that wrote it"
            " should change; use -o FILE, which gets the messages as JSON"
        )


def _require_nothing_lost(
    options: argparse.Namespace, source: SessionFile, outcome: list[list[Any]]
) -> None:
    """Raises if content of the file would be lost.

    Raises:
        CommandError: If it would be, and ``--force`` is not given.
    """
    can_store = "store" in options
    if options.force or (can_store and options.store is not None):
        return
    pairs = zip(source.sessions, outcome, strict=True)
    lost = sum(lost_messages(session.messages, messages) for session, messages in pairs)
    if lost:
        total = sum(len(session.messages) for session in source.sessions)
        store = "--store FOLDER to keep the originals, " if can_store else ""
        raise CommandError(
            f"--in-place: {lost:,} of {total:,} messages would be lost or shortened for good;"
            f" {options.file} is unchanged. Use {store}-o FILE to write elsewhere, or --force"
        )


def _is_same_file(options: argparse.Namespace) -> bool:
    """True if the result would overwrite the file that was read."""
    if options.in_place or options.output is None:
        return bool(options.in_place)
    try:
        return Path(options.output).samefile(options.file)
    except (OSError, ValueError):
        return False


def _write(options: argparse.Namespace, source: SessionFile, outcome: list[list[Any]]) -> None:
    if options.in_place and _are_same(source, outcome):
        return  # Nothing changed.
    text = source.dumped(outcome).encode()
    if options.output is None and not options.in_place:
        sys.stdout.flush()
        # As bytes: JSON is UTF-8, whatever the terminal shows.
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return
    file = options.file if options.in_place else options.output
    if options.in_place:
        require_unlocked(file)
    try:
        write_whole(file, pack(file, text))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"{file} cannot be written: {getattr(error, 'strerror', None) or error}"
        ) from error


def _are_same(source: SessionFile, outcome: list[list[Any]]) -> bool:
    return all(
        len(session.messages) == len(messages)
        and all(old is new for old, new in zip(session.messages, messages, strict=True))
        for session, messages in zip(source.sessions, outcome, strict=True)
    )
