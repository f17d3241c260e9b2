"""The command line: ``ullage``, or ``python -m ullage``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ullage.cli.codes import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        arguments: What follows ``ullage`` on the command line; ``sys.argv`` has it if not given.

    Returns:
        0 if all is well, 1 if something was found, 2 if the command could not do its work, 3 if it
        did it without a part of the input, which could not be read, 130 if it was interrupted.
    """
    try:
        # Here, since a person may also interrupt what is imported.
        from ullage.cli.program import run

        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
