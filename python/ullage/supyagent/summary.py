"""``ContextSummary``: what stands for older messages, and ``SummaryStore``, which keeps it."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from ullage import StoreError
from ullage._engine.files import OWNER_ONLY, write_whole
from ullage._engine.forks import renew_after_fork
from ullage._engine.logger import Logger
from ullage.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

logger = Logger(__name__)

# The fields that a model sees. Hosts put marks of their own beside them, which come and go.
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")
# Bytes of a fingerprint: no two conversations of one person share 128 bits by chance.
_DIGEST = 16


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
        return {name: value for name, value in values.items() if value or name not in _OWN}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextSummary:
        """Reads data that :meth:`to_dict` wrote, or Supyagent.

        Raises:
            ValueError: If it is anything else; says which key is wrong.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a summary is a dict, not a {type(data).__name__}")  # noqa: TRY004
        data = {"token_count": 0, **_OWN, **data}
        for name, kind in _KINDS.items():
            value = data.get(name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(f"a summary has no {name}, or it is no {kind.__name__}")  # noqa: TRY004
            if isinstance(value, int) and value < 0:
                raise ValueError(f"the {name} of a summary is {value}")
        if not all(type(index) is int for index in data["kept"]):
            raise ValueError("the kept messages of a summary are no list of indices")
        created = datetime.fromisoformat(data["created_at"].replace("Z", "+00:00"))
        values = {name: data[name] for name in _KINDS}
        return cls(**{**values, "created_at": created, "kept": list(data["kept"])})

    def text(self) -> str:
        """All that it says, the lines included."""
        return str(Summary(self.content, self.lines))

    def to_message(self) -> dict[str, Any]:
        """The message that takes the place of those it stands for."""
        return message_of(self.messages_summarized, self.text())


_KINDS: dict[str, type] = {
    "content": str,
    "messages_summarized": int,
    "first_message_idx": int,
    "last_message_idx": int,
    "created_at": str,
    "token_count": int,
    "lines": str,
    "kept": list,
    "seen": int,
    "fingerprint": str,
}
# Fields that Supyagent's files do not have, and their values there.
_OWN: dict[str, Any] = {"lines": "", "kept": [], "seen": 0, "fingerprint": ""}


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


class SummaryStore:
    """Keeps the summary of one conversation.

    Args:
        path: The file of the summary, read now if it exists; None for none.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.summary = None if path is None else load(path)
        # A summary, messages as they were, and whether it is about them.
        self._check: tuple[ContextSummary, Any, bool] | None = None
        # A file of Supyagent's belongs to the first conversation that is as long.
        self._adopted = ""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Replaces the lock, in the child of a fork."""
        self._lock = threading.Lock()

    def summary_of(self, messages: list[Any]) -> ContextSummary | None:
        """Returns the summary if it is about these messages.

        It is not if a message that it stands for was changed. Costs one comparison for each part of
        those messages; their texts are only read if they are other objects than last time.
        """
        summary = self.summary
        if summary is None or summary.last_message_idx >= len(messages):
            return None
        covered = messages[: summary.last_message_idx + 1]
        check = self._check
        if check is None or check[0] is not summary or check[1] != covered:
            check = self._check = summary, _copy(covered), self._is_about(summary, covered)
        return summary if check[2] else None

    def replace(
        self, summary: ContextSummary, previous: ContextSummary | None, messages: list[Any]
    ) -> ContextSummary:
        """Writes a summary to the file and keeps it.

        Returns:
            The summary; or the one that another caller made meanwhile, if that goes as far.

        Raises:
            StoreError: If it cannot be written; nothing has changed then.
        """
        with self._lock:
            now = self.summary_of(messages)
            if (
                now is not None
                and now is not previous
                and now.last_message_idx >= summary.last_message_idx
            ):
                return now
            if self.path is not None:
                save(summary, self.path)
            self.summary = summary
            return summary

    def _is_about(self, summary: ContextSummary, covered: list[Any]) -> bool:
        own = summary.fingerprint or self._adopted
        digest = fingerprint(covered)
        if not own:
            self._adopted = digest
        return not own or own == digest


def fingerprint(messages: Iterable[Any]) -> str:
    """Returns a digest of what a model sees of the messages, the same everywhere. O(length)."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for message in messages:
        digest.update(_json(message).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _copy(value: Any) -> Any:
    """Returns a copy of the dicts and lists; the texts in them are shared, so it costs O(parts)."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(map(_copy, value))
    return value


def _json(message: Any) -> str:
    shown: Any = message
    if isinstance(message, dict):
        shown = {key: message[key] for key in _FIELDS if message.get(key)}
    try:
        return json.dumps(shown, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        # Keys of several kinds, or a message that holds itself.
        return ascii(shown)
