"""The file of a session beside what is in memory: whoever writes, both have the same order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ullage import MessageError, StoreError
from ullage.amplifier.log import Log
from ullage.amplifier.mending import mended
from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ullage.amplifier.view import View

logger = Logger(__name__)


class SessionFile:
    """Writes messages and views, under one lock with what changes in memory.

    Args:
        path: The file.
        fsync: When it is flushed, see ``ullage.Transcript``.
        lock: Whether other processes are kept out.
        exports: Whether it is copied before a compaction is written.

    Attributes:
        writing: The lock. Who holds it has file and memory to itself.
        is_open: Whether it is open, and what it had is in memory; who puts it there says so.
        is_resumed: Whether it had messages when it was opened.
    """

    def __init__(self, path: Path, *, fsync: str, lock: bool, exports: bool) -> None:
        self.path = path
        self.writing = threading.RLock()
        self.is_open = False
        self.is_resumed = False
        self._fsync, self._lock, self._exports = fsync, lock, exports
        self._log: Log | None = None

    @property
    def is_slow(self) -> bool:
        """Whether a write waits for the disk. Else it costs less than a thread."""
        return self._fsync == "always"

    @property
    def recovered(self) -> str | None:
        """What a crash left torn and was skipped, in words; None if nothing was."""
        return None if self._log is None else self._log.recovered

    def open(self, view: View) -> list[Any]:
        """Opens the file, restores the view that was kept there, and returns all messages.

        Raises:
            StoreError: If it cannot be opened, or is open elsewhere.
        """
        self._log = Log(self.path, self._fsync, self._lock)
        try:
            messages = self._log.messages()
            view.restore(messages, *self._log.view())
            if self._mended(view):
                self.keep(view, messages, lambda _: True)
        except BaseException:
            self.close()
            raise
        self.is_resumed = bool(messages)
        return messages

    def append(self, message: dict[str, Any], messages: list[Any]) -> None:
        """Writes a message, then adds it to those in memory.

        Raises:
            MessageError: If it is no JSON.
            StoreError: If it cannot be written. Either way it is added nowhere.
        """
        with self.writing:
            self._opened.append(message)
            messages.append(message)

    def replaced(self, messages: list[dict[str, Any]]) -> list[Any]:
        """Begins the file again with these messages, and returns them as they stand there.

        Raises:
            MessageError: If one of them is no JSON; nothing has changed then.
            StoreError: If they cannot be written; likewise.
        """
        with self.writing:
            self._opened.replace(messages)
            return self._opened.messages()

    def keep(self, view: View, messages: list[Any], shown: Callable[[Any], bool]) -> None:
        """Writes what the model sees from now on.

        Args:
            view: The view.
            messages: All messages, of which another task may have added some since.
            shown: Whether the model is to see a message.

        Raises:
            MessageError: If a message is no JSON.
            StoreError: If it cannot be written.
        """
        with self.writing:
            if view.stats is not None:
                self.export()
            self._opened.set_view(view.with_new(messages, shown), view.past())

    def export(self) -> None:
        """Copies the file, where it is to be copied before compactions.

        Raises:
            StoreError: If it cannot be copied.
        """
        with self.writing:
            if self._exports:
                self._opened.export()

    def close(self) -> None:
        """Flushes the file and lets others open it.

        Raises:
            StoreError: If it cannot be flushed.
        """
        with self.writing:
            log, self._log, self.is_open = self._log, None, False
            if log is not None:
                log.close()

    def _mended(self, view: View) -> bool:
        try:
            # Those who ran the calls are gone.
            return view.close(mended)
        except MessageError as error:
            logger.warning("path=<%s>, error=<%s> | not mended", self.path, error)
            return False

    @property
    def _opened(self) -> Log:
        if self._log is None:
            raise StoreError(f"{self.path} was closed")
        return self._log
