"""The file of a session. It has the messages, and the views after the last compactions."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

from ullage import MessageError, StoreError, Transcript
from ullage._engine.logger import Logger
from ullage.amplifier import notice
from ullage.amplifier.messages import source

if TYPE_CHECKING:
    from pathlib import Path

logger = Logger(__name__)

# The views are stored in the metadata of the notice, under this key.
_VIEWS = "views"


class ContextFile:
    """Writes messages and views. The caller holds ``writing``, also to change them in memory.

    Args:
        path: The file.
        fsync: See ``ullage.Transcript``.
        lock: See ``ullage.Transcript``.

    Attributes:
        writing: The lock of the file and of the messages in memory.
        is_open: True if the file is open and its messages are in memory; the caller sets it.
        is_resumed: True if it had messages when it was opened.
    """

    def __init__(self, path: Path, *, fsync: str, lock: bool) -> None:
        self.path = path
        self.writing = threading.RLock()
        self.is_open = False
        self.is_resumed = False
        self._fsync, self._lock = fsync, lock
        self._transcript: Transcript | None = None

    @property
    def is_slow(self) -> bool:
        """True if a write waits for the disk. Otherwise it costs less than a thread."""
        return self._fsync == "always"

    @property
    def recovered(self) -> str | None:
        """A sentence about incomplete lines that were skipped after a crash, or None."""
        return None if self._transcript is None else self._transcript.recovered

    def open(self) -> tuple[list[Any], list[Any]]:
        """Opens the file, and returns all messages and the saved views.

        Raises:
            StoreError: If it cannot be opened, or another process has it open.
        """
        transcript = self._transcript = self._open_transcript()
        if transcript.recovered:
            path, recovered = self.path, transcript.recovered
            logger.warning("path=<%s>, recovered=<%s> | the log is damaged", path, recovered)
        messages: list[Any] = transcript.messages()
        views: list[Any] = []
        for message in transcript.view():
            if source(message) == notice.SOURCE:
                views = message["metadata"].get(_VIEWS, views)
        self.is_resumed = bool(messages)
        return messages, views

    def append(self, message: dict[str, Any]) -> None:
        """Writes a message.

        Raises:
            MessageError: If it is not JSON-like.
            StoreError: If it cannot be written.
        """
        self._written.append(message)

    def replace(self, messages: list[dict[str, Any]]) -> list[Any]:
        """Replaces the whole content, and returns the messages as they are in the file.

        After a crash or an error, the file has either the old content or the new content.

        Raises:
            MessageError: If a message is not JSON-like.
            StoreError: If they cannot be written.
        """
        old = self._written
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        new.unlink(missing_ok=True)
        try:
            with Transcript(new, fsync=self._fsync, lock=False) as transcript:
                transcript.extend(messages)
            old.close()
            try:
                new.replace(self.path)
            finally:
                self._transcript = self._open_transcript()
        except OSError as error:
            raise StoreError(f"{self.path} cannot be replaced: {error}") from error
        finally:
            new.unlink(missing_ok=True)
        return self._written.messages()

    def keep(self, request: list[Any], views: list[Any]) -> None:
        """Writes the last request, and the states of all views. O(length of the request).

        Raises:
            MessageError: If a message is not JSON-like.
            StoreError: If it cannot be written.
        """
        mark = notice.message_of("")
        mark["metadata"][_VIEWS] = views
        self._written.set_view([mark, *request])

    def export(self, messages: list[Any]) -> None:
        """Writes messages into a file beside this one, under the next free number.

        Raises:
            MessageError: If a message is not JSON-like.
            StoreError: If they cannot be written.
        """
        number = 1
        while (to := self.path.with_name(f"{self.path.stem}.{number}.jsonl")).exists():
            number += 1
        try:
            lines = [json.dumps(message, ensure_ascii=False) for message in messages]
            to.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except OSError as error:
            raise StoreError(f"{to} cannot be written: {error}") from error
        except (TypeError, ValueError) as error:
            raise MessageError(f"a message cannot be written as JSON: {error}") from error

    def close(self) -> None:
        """Flushes and unlocks the file.

        Raises:
            StoreError: If it cannot be flushed.
        """
        with self.writing:
            transcript, self._transcript, self.is_open = self._transcript, None, False
            if transcript is not None:
                transcript.close()

    @property
    def _written(self) -> Transcript:
        if self._transcript is None:
            raise StoreError(f"{self.path} was closed; create a new context to continue")
        return self._transcript

    def _open_transcript(self) -> Transcript:
        return Transcript(self.path, fsync=self._fsync, lock=self._lock)
