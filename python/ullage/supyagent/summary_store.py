"""``SummaryStore``: the summary of a conversation, in memory and in its file."""

from __future__ import annotations

import hashlib
import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage._engine.forks import renew_after_fork
from ullage.supyagent.summary import ContextSummary, load, save

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# The fields that a model sees. Hosts put marks of their own beside them, which come and go.
_FIELDS = ("role", "content", "name", "tool_calls", "tool_call_id")
# Bytes of a fingerprint: no two conversations of one person share 128 bits by chance.
_DIGEST = 16


@dataclass(frozen=True)
class _Check:
    """True if a summary is about some messages, as they were at that time."""

    summary: ContextSummary
    messages: Any
    is_about: bool


class SummaryStore:
    """Keeps the summary of one conversation.

    Args:
        path: The file of the summary, read now if it exists; None for none.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.summary = None if path is None else load(path)
        self._check: _Check | None = None
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
        if check is None or check.summary is not summary or check.messages != covered:
            check = self._check = _Check(summary, _copy(covered), self._is_about(summary, covered))
        return summary if check.is_about else None

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
        known = summary.fingerprint or self._adopted
        found = fingerprint(covered)
        if not known:
            self._adopted = found
        return not known or known == found


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
