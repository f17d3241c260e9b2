"""Session folders of Strands: ``FileSessionManager`` keeps one file for each message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ullage.sessions.file import Problems

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ullage.sessions.file import OnUnreadable


def agents(folder: Path, on_unreadable: OnUnreadable | None) -> list[tuple[str, list[Any]]]:
    """Returns each agent of the session with its messages; empty if the folder is no session.

    The folder of a single agent, and the folder that holds several sessions, are read too.

    Args:
        folder: The folder.
        on_unreadable: If given, it is called with each file that cannot be read, and the rest is
            read.

    Raises:
        UnreadableSessionError: If a file cannot be read and ``on_unreadable`` is not given.
    """
    found = []
    for messages in sorted(path for path in folder.rglob("messages") if path.is_dir()):
        files = sorted(messages.glob("message_*.json"), key=_number)
        if files:
            agent = messages.parent.relative_to(folder).as_posix()
            found.append((agent, list(_messages(files, on_unreadable))))
    return found


def _number(file: Path) -> tuple[int, str]:
    number = file.stem.removeprefix("message_")
    return (int(number) if number.isascii() and number.isdigit() else 0, file.stem)


def _messages(files: list[Path], on_unreadable: OnUnreadable | None) -> Iterator[dict[str, Any]]:
    for file in files:
        try:
            yield _message(file)
        except RecursionError:  # noqa: PERF203 - the others are read
            Problems(str(file), on_unreadable).add("it is nested too deeply")
        except (OSError, ValueError) as error:
            Problems(str(file), on_unreadable).add(getattr(error, "strerror", None) or str(error))


def _message(file: Path) -> dict[str, Any]:
    stored = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(stored, dict):
        message = stored.get("redact_message") or stored.get("message")
        if isinstance(message, dict):
            return message
    raise ValueError("it holds no message")
