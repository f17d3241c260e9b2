"""``Keeper``: which summary there is, which conversation it is about, and its file."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.forks import renew_after_fork
from ullage.supyagent.identity import fingerprint, snapshot
from ullage.supyagent.summary import ContextSummary, load, save

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class _Checked:
    """Whether a summary is about some messages, as they were when that was looked at."""

    summary: ContextSummary
    messages: Any
    is_about: bool


class Keeper:
    """Keeps the summary of one conversation, in memory and on disk.

    Args:
        path: Its file, which is read now if it exists; None for none.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.summary = None if path is None else load(path)
        self._checked: _Checked | None = None
        # Files of Supyagent say nothing of their conversation: the first that is as long is it.
        self._adopted = ""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Makes the lock anew, in the child of a fork."""
        self._keeping = threading.Lock()

    def of(self, messages: list[Any]) -> ContextSummary | None:
        """The summary, if it is about these messages.

        Where one that it stands for was changed, or the conversation is another one, it is not.
        A look costs one at each part of the messages that it stands for; their texts are read
        where they are other objects than last time.
        """
        summary = self.summary
        if summary is None or summary.last_message_idx >= len(messages):
            return None
        covered = messages[: summary.last_message_idx + 1]
        checked = self._checked
        if checked is None or checked.summary is not summary or checked.messages != covered:
            checked = _Checked(summary, snapshot(covered), self._is_about(summary, covered))
            self._checked = checked
        return summary if checked.is_about else None

    def keep(
        self, summary: ContextSummary, previous: ContextSummary | None, messages: list[Any]
    ) -> ContextSummary:
        """Takes a summary over, once it is on disk.

        Returns:
            The summary; or the one that another made meanwhile, if that goes as far.

        Raises:
            StoreError: If it cannot be written; then all is as it was.
        """
        with self._keeping:
            now = self.of(messages)
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
        written = fingerprint(covered)
        if not known:
            self._adopted = written
        return not known or known == written
