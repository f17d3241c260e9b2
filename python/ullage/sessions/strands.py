"""Session folders of Strands: ``FileSessionManager`` keeps one file for each message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def agents(folder: Path) -> list[tuple[str, list[Any]]]:
    """Each agent of the session with its messages; empty if the folder is no session.

    The folder of a single agent, and the folder that holds several sessions, are read too.
    """
    found = []
    for messages in sorted(path for path in folder.rglob("messages") if path.is_dir()):
        files = sorted(messages.glob("message_*.json"), key=_number)
        if files:
            agent = messages.parent.relative_to(folder).as_posix()
            found.append((agent, [_message(file) for file in files]))
    return found


def _number(file: Path) -> tuple[int, str]:
    number = file.stem.removeprefix("message_")
    return (int(number) if number.isascii() and number.isdigit() else 0, file.stem)


def _message(file: Path) -> Any:
    stored = json.loads(file.read_text(encoding="utf-8"))
    message = stored.get("redact_message") or stored.get("message")
    if not isinstance(message, dict):
        raise ValueError(f"{file.name} holds no message")  # noqa: TRY004 - of a file
    return message
