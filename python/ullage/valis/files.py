"""Stores removed content in files whose names come from their content.

The same content has the same path in every process. So the text that replaces the content is the
same each time, and a file that is read back can be checked against its name.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage import StoreError
from ullage._engine.calling import Call, acall
from ullage._engine.logger import Logger
from ullage._engine.reasons import error_line
from ullage._engine.steps import Step, aside, run
from ullage.valis.backends import FolderBackend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ullage._engine.steps import Steps
    from ullage.valis.backends import FilesystemBackend

logger = Logger(__name__)

OUTPUTS, INPUTS, HISTORY = "/tool_outputs", "/tool_inputs", "/conversation_history"

# File names contain only safe characters of a tool's name or an id. Others could change the path.
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 40
# As in Valis. All ids of a provider begin in the same way, so the name needs the digest too.
_SHOWN_OF_ID = 8
# Hexadecimal digits. Among a hundred million contents, the chance of a collision is 1 in 2,000.
_DIGEST = 16
# Files that are written to a folder at the same time. A disk flushes many as fast as one.
_WRITERS = 8
# The written characters that are kept in memory if the backend may not be able to return them.
# This is the history of about a dozen long sessions.
_REMEMBERED = 64 * 1024 * 1024


class Files:
    """Writes files to a backend, and remembers their content if the backend may not return it.

    Args:
        backend: Writes the files.
    """

    def __init__(self, backend: FilesystemBackend) -> None:
        self.backend = backend
        self._written: OrderedDict[str, str] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def write(self, path: str, content: str) -> Steps[str]:
        """Writes a file. The backend's method may be async.

        Raises:
            StoreError: If it cannot be written.
        """
        try:
            problem = _problem_in((yield from _calling(self.backend.write_file, path, content)))
        except Exception as error:  # noqa: BLE001 - the host's code; it is raised again as our own
            problem = error
        if problem is not None and not _is_there(problem):
            old = yield from self.read(path)
            if old != content:
                raise _failed(self.backend, path, content, problem)
        self._remember(path, content)
        return path

    def write_all(self, files: Mapping[str, str]) -> Steps[list[str]]:
        """Writes files and returns their paths.

        A backend of the host may not be thread-safe, so its files are written one after another.

        Raises:
            StoreError: If a file cannot be written.
        """
        if isinstance(self.backend, FolderBackend) and len(files) > 1:
            return (yield from aside(self._write_together, files))
        for path, content in files.items():
            yield from self.write(path, content)
        return list(files)

    def read(self, path: str) -> Steps[str | None]:
        """Returns the content that was written to a path, or None if it cannot be read."""
        if path in self._written or not self._can_read():
            return self._written.get(path)
        try:
            content = yield from _calling(self.backend.read_file, path)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - the host's code; the file counts as unreadable
            content = error
        return _checked(path, content)

    def read_all(self, paths: Iterable[str]) -> Steps[dict[str, str]]:
        """Returns the contents of the files that can be read, by path."""
        contents = {}
        for path in dict.fromkeys(paths):
            content = yield from self.read(path)
            if content is not None:
                contents[path] = content
        return contents

    def _write_together(self, files: Mapping[str, str]) -> list[str]:
        with ThreadPoolExecutor(_WRITERS, thread_name_prefix="ullage-valis") as pool:
            return list(pool.map(lambda path: run(self.write(path, files[path])), files))

    def _can_read(self) -> bool:
        return callable(getattr(self.backend, "read_file", None))

    def _remember(self, path: str, content: str) -> None:
        # A folder returns the written content. Another backend may cut it, or may not read at all.
        # Markdown files are for people, and ullage never reads them.
        if isinstance(self.backend, FolderBackend) or path.endswith(".md"):
            return
        with self._lock:
            self._characters += len(content) - len(self._written.pop(path, ""))
            self._written[path] = content
            while self._characters > _REMEMBERED and len(self._written) > 1:
                self._characters -= len(self._written.popitem(last=False)[1])


def path_of(folder: str, name: str, identifier: str, content: str, suffix: str = ".txt") -> str:
    """Returns the path for a content: the name, the beginning of the id, and the digest."""
    parts = [_safe(name)[:_LONGEST_NAME], _safe(identifier)[:_SHOWN_OF_ID], digest_of(content)]
    return f"{folder}/{'_'.join(part for part in parts if part)}{suffix}"


def is_path_in(folder: str, path: str) -> bool:
    """True if the path could be made by :func:`path_of` for this folder."""
    name, _, suffix = path.removeprefix(f"{folder}/").rpartition(".")
    is_ours = path.startswith(f"{folder}/") and suffix in {"txt", "json"}
    return is_ours and bool(name) and _UNSAFE.search(name) is None


def digest_of(content: str) -> str:
    """Returns a digest of the content, the same in every process."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def _safe(name: str) -> str:
    return _UNSAFE.sub("_", name).strip("_")


def _checked(path: str, content: Any) -> str | None:
    """Returns the content if it belongs to the path, or else None.

    A backend may cut the content, number its lines, or return something else.
    """
    stem = path.rpartition("/")[2].partition(".")[0]
    if isinstance(content, str) and stem[-_DIGEST:] == digest_of(content):
        return content
    kind = type(content).__name__
    logger.debug("path=<%s>, got=<%s> | a file could not be read back", path, kind)
    return None


def _problem_in(returned: Any) -> Any:
    """Returns the problem that a backend reports in its return value, or None."""
    if returned is False:
        return "it returned False"
    is_dict = isinstance(returned, dict)
    error = returned.get("error") if is_dict else getattr(returned, "error", None)
    return error if error and isinstance(error, (str, BaseException)) else None


def _is_there(problem: Any) -> bool:
    """True if the file exists and the backend does not overwrite it.

    That is no failure, because the name comes from the content.
    """
    return isinstance(problem, FileExistsError) or "already exists" in str(problem)


def _failed(backend: FilesystemBackend, path: str, content: str, problem: Any) -> StoreError:
    if isinstance(problem, StoreError):
        return problem
    cause = problem if isinstance(problem, BaseException) else StoreError(str(problem))
    error = StoreError(
        f"{type(backend).__name__} could not write {path}: {error_line(cause, content)}"
    )
    error.__cause__ = cause
    return error


def _calling(function: Callable[..., Any], *arguments: str) -> Steps[Any]:
    """Calls a method of a backend, in this thread or without blocking the event loop."""
    return (yield Step(partial(_call, function, *arguments), partial(acall, function, *arguments)))


def _call(function: Callable[..., Any], *arguments: str) -> Any:
    returned = function(*arguments)
    if not inspect.isawaitable(returned):
        return returned
    # An async method runs in a thread of its own, because this thread may have a running loop.
    outcome, error = Call(lambda: returned, None).wait(None)
    if error is not None:
        raise error
    return outcome
