"""Memory files: what every session of a user or a project is to know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ullage import UllageError
from ullage._engine.logger import Logger

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

logger = Logger(__name__)

SOURCE = "memory"


class MemoryTooLargeError(UllageError, RuntimeError):
    """The memory files leave no room in the budget."""


def messages_of(files: Iterable[str | os.PathLike[str]]) -> list[dict[str, Any]]:
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
        messages.append({"role": "system", "content": text, "metadata": {"source": SOURCE}})
    return messages
