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
        arguments: The arguments of the command. If not given, they are taken from ``sys.argv``, and
            Ctrl-C ends the process within a second, also during long calls into native code.

    Returns:
        0 if all is well, 1 if the command found something, 2 if it failed, 3 if it skipped input
        that could not be read, 130 if it was interrupted.
    """
    try:
        # Imported here, because a person may also interrupt an import.
        from ullage.cli.interrupting import end_after_interrupt
        from ullage.cli.program import run

        if arguments is None:
            # Without arguments the process is the command. Otherwise it belongs to the caller.
            end_after_interrupt()
        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
