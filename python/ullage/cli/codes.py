"""Exit codes."""

from __future__ import annotations

# As linters have them: all is well; something was found; the command could not do its work.
FINE, FOUND, FAILED = 0, 1, 2
# The command did its work for a part of its input. It could not read the rest.
INCOMPLETE = 3
# The shell's exit code for a program that the user stopped: 128 and the number of the signal.
INTERRUPTED = 130


def exit_codes(found: str, *, reads: bool = True) -> str:
    """Returns the line about exit codes in the help of a command.

    Args:
        found: When the code is 1; empty if it never is.
        reads: True if the command reads input of which a part may be unreadable.
    """
    one = f"1 if {found}, " if found else ""
    three = "3 if a part of the input could not be read, " if reads else ""
    return f"exit codes: 0 for success, {one}2 if it failed, {three}130 if it was interrupted"
