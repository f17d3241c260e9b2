"""Reads the view in transcripts of ullage, without a lock and without a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ullage._engine.files import temporary
from ullage.stores.transcript import Transcript

KIND = "a transcript of ullage"

# The beginning of a line without a message; see ``Transcript``.
_RECORD = '{"ullage":'


def is_transcript(text: str) -> bool:
    """True if the text has a line of the kind that only transcripts have."""
    return text.startswith(_RECORD) or f"\n{_RECORD}" in text


def view(data: bytes) -> tuple[list[Any], str | None]:
    """Returns the messages that the model sees, and a description of skipped lines, if any.

    A copy is read: opening a transcript repairs its last line, and an agent may be writing to it.

    Raises:
        OSError: If there is no room for the copy.
        StoreError: If it cannot be read.
    """
    # The import is slow, and few files are transcripts.
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="ullage-") as folder, temporary(Path(folder)):
        copy = Path(folder) / "transcript.jsonl"
        copy.write_bytes(data)
        with Transcript(copy, fsync="never", lock=False) as transcript:
            return transcript.view(), transcript.recovered
