"""Finds the file of a session, and reads the memory files of every session."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage import UllageError
from ullage._engine.logger import Logger

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

logger = Logger(__name__)

FILENAME = "context-messages.jsonl"
# Digits of a hash in the name of a project's folder, as in Amplifier.
_DIGITS = 8
# Characters that some system does not allow in a file name.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
# File systems allow 255 bytes for a name.
_LONGEST = 100
# The source in the metadata of messages of memory files.
_MEMORY = "memory"


def transcript_path(
    transcript: str | os.PathLike[str] | None,
    storage: str | os.PathLike[str] | None,
    session: str,
) -> Path:
    """Returns the file of a session.

    Args:
        transcript: The file, if the user gave one.
        storage: The folder of all sessions; if not given, the project's folder in Amplifier's own.
            Each session has a folder in it.
        session: The id of the session. The file is inside the folder for every id.
    """
    if transcript is not None:
        return Path(transcript).expanduser()
    if storage is not None:
        return Path(storage).expanduser() / _name(session) / FILENAME
    here = Path.cwd()
    project = f"{here.name}-{_hash(str(here))}"
    return (
        Path.home() / ".amplifier" / "projects" / project / "sessions" / _name(session) / FILENAME
    )


class MemoryTooLargeError(UllageError, RuntimeError):
    """The memory files leave no room in the budget."""


def memory_messages(files: Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Returns a system message for each file. Unreadable files are logged and left out."""
    messages = []
    for file in files:
        path = Path(file).expanduser()
        try:
            content = path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            logger.warning("path=<%s>, error=<%s> | the memory file was left out", path, error)
            continue
        text = f"[Context from {path.name}]\n\n{content}"
        messages.append({"role": "system", "content": text, "metadata": {"source": _MEMORY}})
    return messages


def _name(session: str) -> str:
    """Returns a name for the folder of a session. No two ids have the same name."""
    safe = _UNSAFE.sub("_", session)[:_LONGEST]
    return safe if safe == session and safe.strip(".") else f"{safe}-{_hash(session)}".lstrip(".")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
