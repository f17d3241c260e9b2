"""Detects files that another program has locked, such as the transcript of a running agent."""

from __future__ import annotations

from pathlib import Path

from ullage.cli.errors import CommandError


def require_unlocked(file: str) -> None:
    """Makes sure that no other program has locked a file.

    Raises:
        CommandError: If another program has locked it.
    """
    try:
        import fcntl
    except ImportError:
        return  # On Windows a file that is locked cannot be read or replaced.
    try:
        with Path(file).open("rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(
            f"--in-place: {file} is open in another program, which writes to it; end that first, or"
            " use -o FILE"
        ) from None
    except OSError:
        return  # No locks on this file system; or the writer will report that it cannot open it.
