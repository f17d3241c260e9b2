"""The places of a session's files, and the memory files that every session reads."""

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
# Eight digits of a hash tell the projects of one user apart, as Amplifier names their folders.
_DIGITS = 8
# Characters that are not in a file name on some system.
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
# File systems allow 255 bytes for a name.
_LONGEST = 100
# The source that the messages of memory files state.
_MEMORY = "memory"


def transcript_path(
    transcript: str | os.PathLike[str] | None,
    storage: str | os.PathLike[str] | None,
    session: str,
) -> Path:
    """The file of a session.

    Args:
        transcript: The file itself, if it was given.
        storage: Otherwise the folder, in which each session has a folder of its own; without one,
            that of the project in Amplifier's own folder.
        session: The id of the session; whatever is in it, the file is inside the folder.
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
    """A system message for each file. One that cannot be read is logged and left out."""
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
    """The id as the name of a folder; two ids never have the same."""
    safe = _UNSAFE.sub("_", session)[:_LONGEST]
    return safe if safe == session and safe.strip(".") else f"{safe}-{_hash(session)}".lstrip(".")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
