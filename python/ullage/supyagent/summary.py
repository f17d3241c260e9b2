"""``ContextSummary``: what stands for older messages, and how it is kept on disk."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ullage import StoreError
from ullage._engine.files import OWNER_ONLY, write_whole
from ullage._engine.logger import Logger
from ullage.summary import Summary

if TYPE_CHECKING:
    from pathlib import Path

logger = Logger(__name__)


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class ContextSummary:
    """A summary of the messages up to an index.

    Args:
        content: What the model said.
        messages_summarized: How many messages it stands for.
        first_message_idx: The first of them.
        last_message_idx: The last of them.
        created_at: When it was made.
        token_count: Tokens that it takes, the lines included.
        lines: Lines of the messages with what the model left out that is likely to be needed.
        kept: Indices of messages among them that stay as they are: pinned ones, and system
            messages at the beginning.
        seen: Messages of the conversation when it was made, the recent ones included.
        fingerprint: Changes when one of the messages that it stands for does; empty where that is
            not known.
    """

    content: str
    messages_summarized: int
    first_message_idx: int
    last_message_idx: int
    created_at: datetime = field(default_factory=_now)
    token_count: int = 0
    lines: str = ""
    kept: list[int] = field(default_factory=list)
    seen: int = 0
    fingerprint: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The summary as JSON-able values."""
        values = {**vars(self), "created_at": self.created_at.isoformat()}
        # Files without them are read too; those of Supyagent have none.
        return {name: value for name, value in values.items() if value or name in _REQUIRED}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextSummary:
        """Reads data that :meth:`to_dict` wrote, or Supyagent.

        Raises:
            ValueError: If it is anything else; says which key is wrong.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a summary is a dict, not a {type(data).__name__}")  # noqa: TRY004
        data = {**_ABSENT, **data}
        for name, kind in (_REQUIRED | _OWN).items():
            value = data.get(name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(f"a summary has no {name}, or it is no {kind.__name__}")  # noqa: TRY004
            if isinstance(value, int) and value < 0:
                raise ValueError(f"the {name} of a summary is {value}")
        created = data["created_at"].replace("Z", "+00:00")
        kept = data["kept"]
        if not isinstance(kept, list) or not all(type(index) is int for index in kept):
            raise ValueError("the kept messages of a summary are no list of indices")
        return cls(
            content=data["content"],
            messages_summarized=data["messages_summarized"],
            first_message_idx=data["first_message_idx"],
            last_message_idx=data["last_message_idx"],
            created_at=datetime.fromisoformat(created),
            token_count=data["token_count"],
            lines=data["lines"],
            kept=kept,
            seen=data["seen"],
            fingerprint=data["fingerprint"],
        )

    def text(self) -> str:
        """All that it says, the lines included."""
        return str(Summary(self.content, self.lines))

    def to_message(self) -> dict[str, Any]:
        """The message that takes the place of those it stands for."""
        return message_of(self.messages_summarized, self.text())


_REQUIRED: dict[str, type] = {
    "content": str,
    "messages_summarized": int,
    "first_message_idx": int,
    "last_message_idx": int,
    "created_at": str,
    "token_count": int,
}
# Fields that Supyagent's files do not have.
_OWN: dict[str, type] = {"lines": str, "seen": int, "fingerprint": str}
_ABSENT = {"token_count": 0, "lines": "", "kept": [], "seen": 0, "fingerprint": ""}


def message_of(messages: int, text: str) -> dict[str, Any]:
    """A message that says ``text`` of so many messages."""
    head = f"[Context Summary - {messages} previous messages]"
    return {"role": "system", "content": f"{head}\n\n{text}"}


def load(path: Path) -> ContextSummary | None:
    """The summary in a file; None where there is none, or with a warning where it is none."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        logger.warning("path=<%s>, error=<%s> | the summary cannot be read", path, error)
        return None
    try:
        return ContextSummary.from_dict(json.loads(text))
    except (ValueError, RecursionError) as error:
        logger.warning("path=<%s>, error=<%s> | the file holds no summary", path, error)
        return None


def save(summary: ContextSummary, path: Path) -> None:
    """Writes a summary, which is there whole or not at all.

    Raises:
        StoreError: If it cannot be written; what was there before is as it was.
    """
    data = json.dumps(summary.to_dict(), indent=2).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The text is private to its owner, until the owner opens the file to others.
        write_whole(path, data, permissions=OWNER_ONLY)
    except OSError as error:
        raise StoreError(f"the summary cannot be written to {path}: {error}") from error
