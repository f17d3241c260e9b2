"""Places where stores keep things, for tests that every store passes: files and real servers."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import ullage
import ullage.stores

if TYPE_CHECKING:
    from pathlib import Path


class Place:
    """A place that stores are opened at, in this process and in others.

    Args:
        class_name: The class in ``ullage.stores``.
        where: The positional arguments.
        unreachable: Those of a place that does not answer.
    """

    def __init__(self, class_name: str, where: tuple[Any, ...], unreachable: tuple[Any, ...]):
        self.class_name, self.where, self.unreachable = class_name, where, unreachable

    def code(self, **options: Any) -> str:
        """The expression that opens it, for another process."""
        return f"ullage.stores.{self.class_name}(*{self.where!r}, **{options!r})"

    def open(self, **options: Any) -> Any:
        """Another store at the same place."""
        return getattr(ullage.stores, self.class_name)(*self.where, **options)

    def open_unreachable(self, **options: Any) -> Any:
        """A store whose place does not answer."""
        return getattr(ullage.stores, self.class_name)(*self.unreachable, **options)


class OneProcess(Place):
    """A ``MemoryStore``, which is its own place."""

    def __init__(self) -> None:
        super().__init__("MemoryStore", (), ())
        self._store = ullage.MemoryStore()

    def open(self, **options: Any) -> Any:
        return self._store


class Silent:
    """A server that accepts connections and never says a word."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]


def memory(folder: Path) -> Place:
    return OneProcess()


def file(folder: Path) -> Place:
    (folder / "no-folder").touch()
    return Place("FileStore", (str(folder / "outputs"),), (str(folder / "no-folder"),))


def sqlite(folder: Path) -> Place:
    (folder / "no-folder").touch()
    return Place("SQLiteStore", (str(folder / "a" / "b.db"),), (str(folder / "no-folder" / "b"),))


# What every store must do, what those must do that processes share, and those with `keep_for`.
EVERY = {"memory": memory, "file": file, "sqlite": sqlite}
SHARED = [name for name in EVERY if name != "memory"]
EXPIRING = [name for name in SHARED if name != "file"]
