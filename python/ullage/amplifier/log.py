"""The file of a session: its messages, and the view that the last compaction left."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from ullage import StoreError, Transcript
from ullage.amplifier import notice
from ullage.amplifier.shape import source
from ullage.logger import Logger

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

logger = Logger(__name__)

# The key in the metadata of the notice in a view under which the view's past stands.
_PAST = "compaction"


class Log:
    """A transcript that also knows how the view came about.

    Args:
        path: The file.
        fsync: When it is flushed, see ``ullage.Transcript``.
        lock: Whether other processes are kept out.

    Raises:
        StoreError: If it cannot be opened, or is open elsewhere.
    """

    def __init__(self, path: Path, fsync: str, lock: bool) -> None:
        self.path = path
        self._fsync, self._lock = fsync, lock
        self._transcript = self._opened(path)
        if self._transcript.recovered:
            recovered = self._transcript.recovered
            logger.warning("path=<%s>, recovered=<%s> | the log is damaged", path, recovered)

    @property
    def recovered(self) -> str | None:
        """What a crash left torn and was skipped, in words."""
        return self._transcript.recovered

    def append(self, message: dict[str, Any]) -> None:
        """Writes a message.

        Raises:
            MessageError: If it is no JSON.
            StoreError: If it cannot be written. Either way it is not in the file.
        """
        self._transcript.append(message)

    def messages(self) -> list[Any]:
        """All messages."""
        return self._transcript.messages()

    def view(self) -> tuple[list[Any], dict[str, Any]]:
        """What the model saw last, and how that came about."""
        messages: list[Any] = []
        past: dict[str, Any] = {}
        for message in self._transcript.view():
            if source(message) == notice.SOURCE and _PAST in message["metadata"]:
                past = message["metadata"][_PAST]
            else:
                messages.append(message)
        return messages, past

    def set_view(self, messages: list[Any], past: dict[str, Any]) -> None:
        """Writes down what the model sees from now on. O(messages).

        Raises:
            MessageError: If a message is no JSON.
            StoreError: If it cannot be written.
        """
        mark = notice.message_of("")
        mark["metadata"][_PAST] = past
        self._transcript.set_view([mark, *messages])

    def export(self) -> Path:
        """Copies the file beside itself, under the next free number.

        Raises:
            StoreError: If it cannot be written.
        """
        number = 1
        while (to := self.path.with_name(f"{self.path.stem}.{number}.jsonl")).exists():
            number += 1
        self._transcript.export(to)
        return to

    def replace(self, messages: Iterable[Any]) -> None:
        """Begins again with these messages: after a crash it is the old file or the new one.

        Raises:
            MessageError: If one of them is no JSON; nothing has changed then.
            StoreError: If they cannot be written; likewise.
        """
        new = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        try:
            with Transcript(new, fsync=self._fsync, lock=False) as written:
                written.extend(messages)
            self._transcript.close()
            try:
                new.replace(self.path)
            finally:
                self._transcript = self._opened(self.path)
        except OSError as error:
            raise StoreError(f"{self.path} cannot be replaced: {error}") from error
        finally:
            with contextlib.suppress(FileNotFoundError):
                new.unlink()

    def close(self) -> None:
        """Flushes the file and lets others open it.

        Raises:
            StoreError: If it cannot be flushed.
        """
        self._transcript.close()

    def _opened(self, path: Path) -> Transcript:
        return Transcript(path, fsync=self._fsync, lock=self._lock)
