"""Exit codes."""

from __future__ import annotations

# The same codes as of linters: all is well; the command found something; the command failed.
FINE, FOUND, FAILED = 0, 1, 2
# The command handled a part of its input, and could not read the rest.
INCOMPLETE = 3
# The shell's exit code for a program that the user stopped: 128 and the number of the signal.
INTERRUPTED = 130


def exit_codes(found: str, *, reads: bool = True) -> str:
    """Returns the line about exit codes in the help of a command.

    Args:
        found: The condition for exit code 1; empty if the command never has it.
        reads: True if a part of the command's input may be unreadable.
    """
    one = f"1 if {found}, " if found else ""
    three = "3 if a part of the input could not be read, " if reads else ""
    return f"exit codes: 0 for success, {one}2 if it failed, {three}130 if it was interrupted"
