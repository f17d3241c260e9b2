"""Refuses to destroy content unless ``--force`` is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage.cli.errors import CommandError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence


def add_force(parser: argparse.ArgumentParser) -> None:
    """Adds the option that allows to write over files."""
    parser.add_argument(
        "--force",
        action="store_true",
        help="overwrite an existing file, even if its content is lost",
    )


def require_new(file: str | Path, options: argparse.Namespace) -> None:
    """Makes sure that a file is not written over by accident; called before the work.

    Raises:
        CommandError: If the file exists, and ``--force`` is not given.
    """
    # A pipe or a device has nothing to lose.
    if not options.force and Path(file).is_file():
        raise CommandError(f"{file} exists; use another name, or --force to write over it")


def lost_messages(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Returns how many messages have a text that is not among those of ``after``."""
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
