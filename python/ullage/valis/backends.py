"""Defines a backend, which is any object with ``write_file``, and a backend for a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ullage import StoreError, _core
from ullage._engine.files import OWNER_ONLY, write_whole

if TYPE_CHECKING:
    import os

# A search needs a reference. This one is never looked up.
_NO_REFERENCE = "file-0000000000000000"
_ALL = 2**62


@runtime_checkable
class FilesystemBackend(Protocol):
    """An object that writes files, with plain or async methods.

    If a file cannot be written, ``write_file`` raises an exception, returns False, or returns a
    value with an ``error``. A backend may also have ``read_file(path)``, which returns the written
    content. Then ullage can continue histories of earlier processes.
    """

    def write_file(self, path: str, content: str) -> Any:
        """Writes a text to a path that begins with a slash."""
        ...


class FolderBackend:
    """Stores files in a folder. The folder is the root directory for the agent's tools.

    A file appears only when it is complete. Nothing outside the folder is read or written.

    Args:
        folder: The folder. It is created at the first write.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()

    def write_file(self, path: str, content: str) -> str:
        """Writes ``content``.

        Raises:
            StoreError: If the path is outside the folder, or is the folder itself.
            OSError: If it cannot be written.
        """
        place = self._place(path)
        if place == self.folder.resolve():
            raise StoreError(f"{path!r} is the folder itself; give the path of a file in it")
        # Lone surrogates and line ends are kept, so that the content is the same when it is read.
        data = content.encode("utf-8", "surrogatepass")
        # The name comes from the content, so the file often exists already.
        if not (place.is_file() and place.read_bytes() == data):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, data, permissions=OWNER_ONLY)
        return path

    def read_file(self, path: str) -> str:
        """Returns the text of a file.

        Raises:
            StoreError: If the path is outside the folder.
            OSError: If it cannot be read.
        """
        return self._place(path).read_bytes().decode("utf-8", "surrogatepass")

    def ls(self, path: str = "/") -> list[str]:
        """Returns the sorted paths of all files below a path, without links out of the folder."""
        root = self.folder.resolve()
        files = (file for file in self._place(path).rglob("*") if file.suffix != ".part")
        within = (f for f in files if f.is_file() and f.resolve().is_relative_to(root))
        return sorted(f"/{file.relative_to(root).as_posix()}" for file in within)

    def grep(self, pattern: str, path: str = "/") -> list[str]:
        """Returns the lines that match a regular expression, as ``path:number:line``.

        The time is linear in the size of the files, for every pattern. Binary files are skipped.

        Args:
            pattern: A regular expression in Rust's syntax, which has no look-around.
            path: The folder or file to search.

        Raises:
            StoreError: If the pattern is not valid, or the path is outside the folder.
            OSError: If a file cannot be read.
        """
        return [
            f"{file}:{number}:{line}"
            for file in self.ls(path)
            for number, line in _matching(pattern, self._readable(file))
        ]

    def _readable(self, path: str) -> str:
        """Returns the text of a file. The agent may have written it, and it may be binary."""
        return self._place(path).read_bytes().decode("utf-8", "replace")

    def _place(self, path: str) -> Path:
        root = self.folder.resolve()
        if "\0" in path:
            raise StoreError(f"{path!r} contains a null character; remove it")
        place = (root / path.lstrip("/\\")).resolve()
        if not place.is_relative_to(root):
            raise StoreError(f"{path!r} is outside the folder {root}; use a path below it")
        return place


def _matching(pattern: str, text: str) -> list[tuple[int, str]]:
    """Returns the lines that match, with their numbers.

    Uses the engine's regular expressions. With Python's, a pattern that a model wrote could take
    exponential time.
    """
    report = _core.retrieve(
        _NO_REFERENCE,
        text.encode("utf-8", "replace"),
        pattern=pattern,
        lines=None,
        pointer=None,
        context=0,
        head=None,
        tail=None,
        limit=_ALL,
        place=None,
    )
    lines = text.split("\n")
    numbers = (entry.partition(":")[0] for entry in report.split("\n")[1:])
    return [(int(n), lines[int(n) - 1].removesuffix("\r")) for n in numbers if n.isdecimal()]
