"""Files that are there whole or not at all."""

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

# Of a name, in that of the temporary file: most systems take 255 bytes.
_LONGEST_NAME = 32

# Permissions of a new file: what the user's umask leaves, or the owner's alone, for what was said
# in a conversation.
BY_UMASK, OWNER_ONLY = 0o666, 0o600


# Temporary files and folders that are in use.
_unfinished: set[Path] = set()


@contextmanager
def temporary(path: Path) -> Iterator[None]:
    """Has a temporary file or folder removed if the process ends at once."""
    _unfinished.add(path)
    try:
        yield
    finally:
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Removes temporary files and folders that are in use: the process ends at once."""
    for path in list(_unfinished):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink(missing_ok=True)


def write_whole(path: str | os.PathLike[str], data: bytes, *, permissions: int = BY_UMASK) -> None:
    """Writes a file: whatever happens meanwhile, it has the old content or the new.

    A pipe or a device is written to as it is. A link stays a link, and its target is written. An
    existing file keeps its permissions.

    Args:
        path: Where to; its folder is there already.
        data: All that the file holds afterwards.
        permissions: Those of a file that was not there, less what the umask takes.

    Raises:
        OSError: If it cannot be written; what was there before is as it was.
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
        # To replace a file asks for no right to write to it, but who has none means it to stay.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    unique = f"{os.getpid()}-{os.urandom(4).hex()}"
    new = target.with_name(f".{target.name[:_LONGEST_NAME]}.{unique}.part")
    # Nobody reads in the meantime what they could not read before.
    first = permissions if old is None else OWNER_ONLY
    with temporary(new):
        try:
            with open(new, "xb", opener=lambda name, flags: os.open(name, flags, first)) as file:
                file.write(data)
                file.flush()
                # Without it a loss of power may leave the new name with nothing in it.
                os.fsync(file.fileno())
            if old is not None:
                _take_over(new, old)
            new.replace(target)
        except BaseException:
            # Also after an interruption: nothing is left lying about.
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise


def _take_over(file: Path, old: os.stat_result) -> None:
    """Gives a file the owner and the permissions of another, as far as the system lets us."""
    with suppress(OSError, AttributeError):  # Windows has no owners of this kind.
        os.chown(file, old.st_uid, old.st_gid)
    with suppress(OSError):
        file.chmod(stat.S_IMODE(old.st_mode))
