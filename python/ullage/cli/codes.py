"""Exit codes."""

from __future__ import annotations

# As linters have them: all is well; something was found; the command could not do its work.
FINE, FOUND, FAILED = 0, 1, 2
# What shells say of a program that the user stopped: 128 and the number of the signal.
INTERRUPTED = 130


def told(found: str) -> str:
    """What the help of a command says of its codes.

    Args:
        found: When it is 1; empty if it never is.
    """
    one = f"1 if {found}, " if found else ""
    return f"exit codes: 0 if all is well, {one}2 if it failed, 130 if it was interrupted"
