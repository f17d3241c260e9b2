"""Where what leaves a conversation goes: a folder, or any backend with ``write_file``."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import os
import re
import tempfile
import threading
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ullage import StoreError, _core
from ullage.reasons import said

if TYPE_CHECKING:
    from collections.abc import Awaitable

# What is left of a tool's name or an id in the name of a file; the rest could be a path.
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 40
# As Valis has it; ids of one provider all begin alike, so the digest behind it tells them apart.
_SHOWN_OF_ID = 8
# What a search is given for a name where only its line numbers are read.
_NO_REFERENCE = "file-0000000000000000"
_ALL = 2**62
# Hexadecimal digits: two of a billion names of one second collide once in a hundred times.
_DIGEST = 16


@runtime_checkable
class FilesystemBackend(Protocol):
    """Anything that writes files; what it returns is not looked at, unless it has to be awaited."""

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
            StoreError: If the path leads out of the folder.
            OSError: If it cannot be written.
        """
        place = self._place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=".", suffix=".part")
        try:
            # Lone surrogates are kept, and line ends as they are, so that what is read is the same.
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode("utf-8", "surrogatepass"))
            Path(name).replace(place)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return path

    def read_file(self, path: str) -> str:
        """The text of a file.

        Raises:
            StoreError: If the path leads out of the folder.
            OSError: If it cannot be read.
        """
        return self._place(path).read_bytes().decode("utf-8", "surrogatepass")

    def ls(self, path: str = "/") -> list[str]:
        """The paths of all files below a path, sorted. Links that lead out of the folder are none.

        Raises:
            StoreError: If the path leads out of the folder.
        """
        root, top = self.folder.resolve(), self._place(path)
        found = (
            file
            for file in top.rglob("*")
            if file.is_file() and file.suffix != ".part" and file.resolve().is_relative_to(root)
        )
        return sorted(f"/{file.relative_to(root).as_posix()}" for file in found)

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
            for number, line in _matching(pattern, self.read_file(file))
        ]

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
    found = _core.retrieve(
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
    numbers = (entry.partition(":")[0] for entry in found.split("\n")[1:])
    return [(int(n), lines[int(n) - 1].removesuffix("\r")) for n in numbers if n.isdecimal()]


def write(backend: FilesystemBackend, path: str, content: str) -> str:
    """Writes a file, and waits where the backend has to be awaited.

    Raises:
        StoreError: If it cannot be written.
    """
    try:
        returned = backend.write_file(path, content)
        if inspect.isawaitable(returned):
            _waited(returned)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            f"{type(backend).__name__} could not write {path}: {said(error, content)}"
        ) from error
    return path


def unique_path(folder: str, name: str, suffix: str, *, of: tuple[str, ...]) -> str:
    """A path that no other content gets: the name, the time, what shows of an id, and a digest."""
    digest = hashlib.sha256()
    for part in of:
        digest.update(part.encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    shown = _safe(of[0])[:_SHOWN_OF_ID]
    parts = [_safe(name)[:_LONGEST_NAME], timestamp(), shown, digest.hexdigest()[:_DIGEST]]
    return f"{folder}/{'_'.join(part for part in parts if part)}{suffix}"


def timestamp() -> str:
    """The time in UTC as Valis writes it."""
    return datetime.now(timezone.utc).strftime("%Y%m%d_%H%M%S")


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name).strip("_")


def _waited(awaitable: Awaitable[Any]) -> None:
    """Waits for a coroutine from code that is none: in a thread, where no loop runs."""
    raised: list[BaseException] = []

    async def settled() -> None:
        await awaitable

    def run() -> None:
        try:
            asyncio.run(settled())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            raised.append(error)

    thread = threading.Thread(target=run, name="ullage-valis-write")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
