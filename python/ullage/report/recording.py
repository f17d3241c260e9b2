"""``RecordingFile``: the append-only file of a ``Recorder``, in JSON lines."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage._core import StoreError
from ullage._engine.logger import Logger
from ullage.report.recorded import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = Logger(__name__)

# A line begins with one of these.
_BEGINNINGS = tuple(f'{{"{kind}":{{'.encode() for kind in KINDS)
# More than the longest of these beginnings has.
_MOST_OF_A_LINE = 64


class RecordingFile:
    """A file of records.

    Args:
        path: The path. The first record creates the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._is_writable = True
        self._is_torn = False

    def read(self) -> Iterator[dict[str, Any]]:
        """Yields the records. A line that a crash cut off is logged and skipped.

        Raises:
            StoreError: If the file cannot be read, or is not a recording.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise StoreError(f"the recording cannot be read: {error}") from error
        self._is_torn = lines[-1] != b""
        for number, line in enumerate(lines, 1):
            record = _record(line)
            if record is not None:
                yield record
            elif _begins_a_record(line):
                logger.warning(
                    "file=<%s>, line=<%d> | a record was cut off", str(self.path), number
                )
            elif line.strip():
                raise StoreError(
                    f"{self.path}: line {number} is not a record; give the file of a `Recorder`"
                )

    def append(self, record: dict[str, Any]) -> None:
        """Appends a record with one write. After a failure, which is logged, nothing is written."""
        if not self._is_writable:
            return
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            # A line that a crash or a full disk cut off stays separate.
            self._write(b"\n" + line if self._is_torn else line)
            self._is_torn = False
        except OSError:
            self._is_writable = False
            logger.exception("the recording stopped")

    def _write(self, line: bytes) -> None:
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(file, line)
        finally:
            os.close(file)
        if written < len(line):
            raise OSError(f"{written} of {len(line)} bytes fit on the disk")


def is_recording(path: str | Path) -> bool:
    """True if the first line of a file is that of a recording."""
    try:
        with Path(path).open("rb") as file:
            line = file.readline(_MOST_OF_A_LINE)
            return _begins_a_record(line)
    except (OSError, ValueError):
        return False


def _begins_a_record(line: bytes) -> bool:
    """True if it begins as a record does, as far as it goes."""
    return line != b"" and any(
        line.startswith(beginning) or beginning.startswith(line) for beginning in _BEGINNINGS
    )


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((kind, content),) = value.items()
    return value if kind in KINDS and isinstance(content, dict) else None
