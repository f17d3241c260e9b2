"""Writes over files with ``--force`` only, and nothing with ``--dry-run``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._engine.files import write_whole
from ullage.cli.console import note
from ullage.cli.errors import CommandError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds the option that overwrites files."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite an existing file, even if its content is lost",
    )


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Adds the option that writes nothing."""
    parser.add_argument(
        "--dry-run", action="store_true", help="do the work and report it, but write nothing"
    )


def write_page(file: str | Path, page: bytes, options: argparse.Namespace) -> None:
    """Writes a page, or says what would be written.

    Raises:
        CommandError: If it cannot be written.
    """
    if options.dry_run:
        note(f"ullage: dry run: {file} would have {len(page):,} bytes; nothing was written")
        return
    try:
        write_whole(file, page)
    except OSError as error:
        raise CommandError(f"cannot write the page: {error}") from error


def require_new(file: str | Path, options: argparse.Namespace) -> None:
    """Raises if a file would be overwritten by accident. Call it before the work.

    Raises:
        CommandError: If the file exists, and ``--force`` is not given.
    """
    # A pipe or a device has nothing to lose.
    if not options.force and Path(file).is_file():
        raise CommandError(f"{file} exists; use another name, or --force to overwrite it")


def lost_messages(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Returns the number of messages with a text that ``after`` does not have."""
    kept = {id(message) for message in after}
    gone = [message for message in before if id(message) not in kept]
    texts = set(_texts(after)) if gone else set()
    return sum(not texts.issuperset(_texts(message)) for message in gone)


def _texts(value: Any) -> Iterator[str]:
    """Returns all strings inside a value of JSON."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, (list, tuple)):
            left += value
