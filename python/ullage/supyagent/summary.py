"""``ContextSummary`` replaces older messages, and ``SummaryStore`` keeps it in a file."""

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

# The fields that a model sees. Hosts add and remove other fields.
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")
# The bytes of a fingerprint. 128 bits are enough that no two conversations share one by chance.
_DIGEST = 16


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass
class ContextSummary:
    """A summary of the messages up to an index.

    Args:
        content: The text that the model wrote.
        messages_summarized: The number of summarized messages.
        first_message_idx: The index of the first summarized message.
        last_message_idx: The index of the last summarized message.
        created_at: The time when the summary was made.
        token_count: The tokens of the summary, with ``lines``.
        lines: Quoted lines of the messages that are likely to be needed and are not in ``content``.
        kept: The indices of messages in the range that stay unchanged: pinned messages, and system
            messages at the beginning.
        seen: The number of messages in the conversation when the summary was made.
        fingerprint: A digest of the summarized messages, or an empty string if it is unknown.
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
        """Returns the summary as a dict that can be written as JSON."""
        values = {**vars(self), "created_at": self.created_at.isoformat()}
        # Empty fields that Supyagent does not have are left out. `from_dict` does not need them.
        return {name: value for name, value in values.items() if value or name not in _OWN}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ContextSummary:
        """Returns the summary in data that :meth:`to_dict` or Supyagent wrote.

        Raises:
            ValueError: If the data is not valid. The error names the wrong key.
        """
        if not isinstance(data, dict):
            raise ValueError(f"a summary must be a dict; got a {type(data).__name__}")  # noqa: TRY004
        data = {"token_count": 0, **_OWN, **data}
        for name, kind in _KINDS.items():
            value = data.get(name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(f"{name!r} of a summary must be a {kind.__name__}; got {value!r}")  # noqa: TRY004
            if isinstance(value, int) and value < 0:
                raise ValueError(f"{name!r} of a summary must not be negative; got {value}")
        if not all(type(index) is int for index in data["kept"]):
            raise ValueError("'kept' of a summary must be a list of message indices")
        created = datetime.fromisoformat(data["created_at"].replace("Z", "+00:00"))
        values = {name: data[name] for name in _KINDS}
        return cls(**{**values, "created_at": created, "kept": list(data["kept"])})

    def text(self) -> str:
        """Returns the full text of the summary, with the quoted lines."""
        return str(Summary(self.content, self.lines))

    def to_message(self) -> dict[str, Any]:
        """Returns the message that replaces the summarized messages."""
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
    """Returns a system message with ``text`` as the summary of a number of messages."""
    head = f"[Context Summary - {messages} previous messages]"
    return {"role": "system", "content": f"{head}\n\n{text}"}


def load(path: Path) -> ContextSummary | None:
    """Returns the summary in a file, or None. Logs a warning if the file is not valid."""
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
        logger.warning("path=<%s>, error=<%s> | the file has no valid summary", path, error)
        return None


def save(summary: ContextSummary, path: Path) -> None:
    """Writes a summary to a file in one step.

    Raises:
        StoreError: If it cannot be written. Then the old file is unchanged.
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
        path: The file of the summary, or None. An existing file is read at once.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.summary = None if path is None else load(path)
        # The last check: the summary, a copy of the messages, and True if they belong together.
        self._check: tuple[ContextSummary, Any, bool] | None = None
        # A file of Supyagent has no fingerprint. It is assigned to the first conversation that is
        # long enough, and this is that conversation's fingerprint.
        self._adopted = ""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Replaces the lock, in the child of a fork."""
        self._lock = threading.Lock()

    def summary_of(self, messages: list[Any]) -> ContextSummary | None:
        """Returns the summary if it belongs to these messages, or else None.

        It does not belong to them if a summarized message was changed. The cost is one comparison
        for each part of those messages. A text is only read if it is another object than last time.
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
            The summary. If another caller has stored one that reaches as far, that one is kept and
            returned.

        Raises:
            StoreError: If the summary cannot be written. Then nothing has changed.
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
    """Returns a digest of the fields that a model sees, the same in every process. O(length)."""
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for message in messages:
        digest.update(_json(message).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def _copy(value: Any) -> Any:
    """Returns a copy of the dicts and lists. O(parts), because the texts are shared."""
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
        # Keys of several types, or a message that contains itself.
        return ascii(shown)
