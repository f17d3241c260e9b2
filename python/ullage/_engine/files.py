"""Writes files that are complete or absent."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Characters of a name in the temporary name: most systems allow 255 bytes.
_LONGEST_NAME = 32

# Permissions of a new file: those of the user's umask, or the owner only, for text of a
# conversation.
BY_UMASK, OWNER_ONLY = 0o666, 0o600


# Temporary files and folders that are in use.
_unfinished: set[Path] = set()


@contextmanager
def temporary(path: Path) -> Iterator[None]:
    """Removes a temporary file or folder if the process ends at once."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Removes temporary files and folders in use, because the process ends at once."""
    for path in list(_unfinished):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], data: bytes, *, permissions: int = BY_UMASK) -> None:
    """Writes a file. At any moment it has the old content or the new.

    A pipe or a device is written directly. A link stays a link, and its target is written. An
    existing file keeps its permissions.

    Args:
        path: The file; its folder exists.
        data: The new content.
        permissions: The permissions of a new file, before the umask.

    Raises:
        OSError: If it cannot be written. The old content is unchanged.
    """
    try:
        old: os.stat_result | None = Path(path).stat()
    except FileNotFoundError:
        old = None
    if old is not None and not stat.S_ISREG(old.st_mode):
        with Path(path).open("wb") as file:
            file.write(data)
        return
    target = Path(os.path.realpath(path))
    if old is not None and not os.access(target, os.W_OK):
        # Replacing a file needs no right to write to it, but without that right it should stay.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    unique = f"{os.getpid()}-{os.urandom(4).hex()}"
    new = target.with_name(f".{target.name[:_LONGEST_NAME]}.{unique}.part")
    # Nobody may read meanwhile what they could not read before.
    first = permissions if old is None else OWNER_ONLY
    with temporary(new):
        try:
            with open(new, "xb", opener=lambda name, flags: os.open(name, flags, first)) as file:
                file.write(data)
                file.flush()
                # Without it a power failure may leave the new name without content.
                os.fsync(file.fileno())
            if old is not None:
                _take_over(new, old)
            new.replace(target)
        except BaseException:
            # Also after an interruption, so that no temporary file remains.
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise


def _take_over(file: Path, old: os.stat_result) -> None:
    """Gives a file the owner and the permissions of another, as far as the system allows."""
    with suppress(OSError, AttributeError):  # Windows has no owners of this kind.
        os.chown(file, old.st_uid, old.st_gid)
    with suppress(OSError):
        file.chmod(stat.S_IMODE(old.st_mode))
