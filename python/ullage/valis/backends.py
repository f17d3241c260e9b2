"""Backends: anything with ``write_file``, and a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ullage import StoreError, _core
from ullage._engine.files import OWNER_ONLY, write_whole

if TYPE_CHECKING:
    import os

# A search needs a reference; only the line numbers of this one are read.
_NO_REFERENCE = "file-0000000000000000"
_ALL = 2**62


@runtime_checkable
class FilesystemBackend(Protocol):
    """Anything that writes files, plain or async.

    It raises where it could not, or returns False, or what has an ``error``. With a
    ``read_file(path)`` that gives back what was written, histories of earlier processes are gone on
    from.
    """

    def write_file(self, path: str, content: str) -> Any:
        """Writes a text under a path that begins with a slash."""
        ...


class FolderBackend:
    """Files in a folder, which stands for the root that the agent's tools see.

    A file appears whole or not at all. Nothing outside of the folder is read or written.

    Args:
        folder: The folder, made at the first write.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).absolute()

    def write_file(self, path: str, content: str) -> str:
        """Writes ``content``.

        Raises:
            StoreError: If the path leads out of the folder, or is the folder itself.
            OSError: If it cannot be written.
        """
        place = self._place(path)
        if place == self.folder.resolve():
            raise StoreError(f"{path!r} is the folder itself; name a file in it")
        # Lone surrogates are kept, and line ends as they are, so that what is read is the same.
        data = content.encode("utf-8", "surrogatepass")
        # The names of what leaves a conversation come from it, so it is often there already.
        if not (place.is_file() and place.read_bytes() == data):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, data, permissions=OWNER_ONLY)
        return path

    def read_file(self, path: str) -> str:
        """The text of a file.

        Raises:
            StoreError: If the path leads out of the folder.
            OSError: If it cannot be read.
        """
        return self._place(path).read_bytes().decode("utf-8", "surrogatepass")

    def ls(self, path: str = "/") -> list[str]:
        """The paths of all files below a path, sorted; links that lead out of it are left out."""
        root = self.folder.resolve()
        files = (file for file in self._place(path).rglob("*") if file.suffix != ".part")
        within = (f for f in files if f.is_file() and f.resolve().is_relative_to(root))
        return sorted(f"/{file.relative_to(root).as_posix()}" for file in within)

    def grep(self, pattern: str, path: str = "/") -> list[str]:
        """Lines that match a regular expression, as ``path:number:line``.

        Linear in the files, whatever the pattern. What is no text is passed over.

        Args:
            pattern: A regular expression (Rust syntax: no look-around).
            path: The folder or file to look in.

        Raises:
            StoreError: If the pattern cannot be used, or the path leads out of the folder.
            OSError: If a file cannot be read.
        """
        return [
            f"{file}:{number}:{line}"
            for file in self.ls(path)
            for number, line in _matching(pattern, self._readable(file))
        ]

    def _readable(self, path: str) -> str:
        """The text of a file, which may be the agent's, and no text."""
        return self._place(path).read_bytes().decode("utf-8", "replace")

    def _place(self, path: str) -> Path:
        root = self.folder.resolve()
        if "\0" in path:
            raise StoreError(f"{path!r} names no file: it holds a zero; leave it out")
        place = (root / path.lstrip("/\\")).resolve()
        if not place.is_relative_to(root):
            raise StoreError(f"{path} leads out of {root}")
        return place


def _matching(pattern: str, text: str) -> list[tuple[int, str]]:
    """The lines that match, with their numbers.

    By the engine's own expressions: with those of Python a model's pattern could take for ever.
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
