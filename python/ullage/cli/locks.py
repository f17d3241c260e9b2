"""Files that another program has open and locked, as a transcript is while an agent writes it."""

from __future__ import annotations

from pathlib import Path

from ullage.cli.errors import CommandError


def require_unlocked(file: str) -> None:
    """Makes sure that nobody has locked a file.

    Raises:
        CommandError: If somebody has.
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
        return  # A file system without locks; what cannot be opened, the writer says.
