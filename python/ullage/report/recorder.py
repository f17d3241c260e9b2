"""``Recorder``: records the sizes of a session's requests, and the compactions.

A recording has numbers, references, the reasons of stages and the warnings of compactions. It has
no text of a message, unless asked: removed content is in the store. ``ullage.page`` draws it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NoReturn

from ullage._core import PromptCache, TokenCounter
from ullage._engine.forks import renew_after_fork
from ullage.report.recorded import (
    MOST_OF_A_TEXT,
    Arrived,
    Failure,
    SentRequest,
    Session,
    changes_of,
    entry_of,
    record_of,
)
from ullage.report.recording import RecordingFile
from ullage.stores.readable import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ullage._core import Plan
    from ullage.page import Line
    from ullage.report.recorded import Entry, Recorded
    from ullage.report.reports import Report
    from ullage.stores.protocol import Store
    from ullage.usage.economics import Economics


class Recorder:
    """Records a session for its report: ``ContextManager(recorder=recorder)``.

    The engine reports every compaction to it, and every request that a host reports with
    ``observe``, as the adapters for Strands and ADK do. A host without reports calls
    :meth:`request`. Use one recorder for each conversation. Any number of threads may write to it.

    A request costs the count of its new messages, and a comparison with the previous request.

    Args:
        path: A file of JSON lines. Its entries are read first, and each new entry is appended. If
            it cannot be written, that is logged once, and the session continues.
        name: The name of the session; the name of the file if not given.
        texts: True to record what the model sees in place of removed content too, which quotes
            messages. The report then shows it beside the original. Without it, a recording has no
            text of a message.

    Raises:
        StoreError: If the file cannot be read, or is not a recording.
    """

    def __init__(
        self, path: str | Path | None = None, *, name: str = "", texts: bool = False
    ) -> None:
        self.name = name
        self._has_texts = texts
        self.window: int | None = None
        self.model: str | None = None
        self.store: Store | None = None
        self._entries: list[Entry] = []
        self._counter = TokenCounter()
        self._cache: PromptCache | None = None
        self._format: str | None = None
        self._file: RecordingFile | None = None
        self.renew()
        renew_after_fork(self)
        if path is not None:
            self._file = RecordingFile(path)
            for record in self._file.read():
                self._take(entry_of(record))
            self.name = name or self.name or self._file.path.name

    def __repr__(self) -> str:
        return f"Recorder(name={self.name!r}, entries={len(self._entries)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> Recorder:
        # A copied agent continues the same session.
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Recorder cannot be pickled; in another process, create one with its path"
        )

    def renew(self) -> None:
        """Replaces its lock."""
        self._lock = threading.Lock()

    def attach(
        self,
        *,
        counter: TokenCounter,
        format: str | None,
        window: int,
        model: str | None,
        store: Store | None,
    ) -> None:
        """Sets the engine that writes next. Unchanged values are not written again."""
        with self._lock:
            if counter is not self._counter or format != self._format:
                self._counter, self._format, self._cache = counter, format, None
            # A replaced engine may have no store, and no model.
            self.store = self.store if store is None else store
            model = self.model if model is None else model
            if (window, model) != (self.window, self.model):
                self.window, self.model = window, model
                self._write(Session(self.name, window, model))

    @property
    def entries(self) -> list[Entry]:
        """The recorded entries, in order."""
        with self._lock:
            return list(self._entries)

    def compaction(self, report: Report, plan: Plan | None = None) -> None:
        """Records a compaction, unless it did nothing and has no warning.

        Args:
            report: The report of the compaction.
            plan: The applied plan, for the change of each piece.
        """
        if not report.stages and not report.warnings:
            return
        with self._lock:
            if plan is not None and not plan.is_empty:
                self._add(changes_of(plan, texts=self._has_texts))
            self._add(report)

    def arrival(self, tool: str, saved: int, references: list[str], shortened: Any = None) -> None:
        """Records that a result was shortened as it arrived.

        Args:
            tool: The tool.
            saved: Tokens that the result lost.
            references: The references of the stored original.
            shortened: The result as the model sees it.
        """
        has_text = self._has_texts and shortened is not None
        instead = text_of(shortened)[:MOST_OF_A_TEXT] if has_text else None
        with self._lock:
            self._add(Arrived(tool, saved, references, instead))

    def failure(self, error: Exception) -> None:
        """Records that a compaction failed."""
        with self._lock:
            self._add(Failure(f"{type(error).__name__}: {error}"))

    def request(
        self,
        messages: Sequence[Any],
        reported_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> None:
        """Records a request to the model.

        Args:
            messages: Its messages, before its answer.
            reported_tokens: Tokens of its whole prompt, as the provider reported.
            cached_tokens: Tokens of the prompt that the provider read from its cache.

        Raises:
            MessageError: If the messages cannot be read.
        """
        with self._lock:
            tokens, kept, is_first = self._count(messages)
            prompt = tokens if reported_tokens is None else reported_tokens
            if cached_tokens is None:
                # From the second request on, the system prompt and the tools are read from the
                # cache too.
                beside = 0 if is_first else max(0, prompt - tokens)
                cached_tokens, reported = kept + beside, False
            else:
                reported = True
            read = max(0, min(cached_tokens, prompt))
            self._add(SentRequest(tokens, prompt, read, prompt - read, reported))

    def html(
        self,
        *,
        economics: Economics | None = None,
        store: Store | None = None,
        folder: str | Path | None = None,
        beside: Sequence[Line] = (),
    ) -> str:
        """Returns the report of the session, see :func:`ullage.page.session_page`."""
        from ullage.page import session_page

        return session_page(self, economics=economics, store=store, folder=folder, beside=beside)

    def _count(self, messages: Sequence[Any]) -> tuple[int, int, bool]:
        """Returns the tokens of the messages, those unchanged, and True for the first request."""
        if self._cache is None:
            self._cache = PromptCache(self._counter, format=self._format)
        before = self._cache.used()
        self._cache.request(messages)
        after = self._cache.used()
        kept = after["read"] - before["read"]
        return kept + after["written"] - before["written"], kept, before["requests"] == 0

    def _add(self, entry: Entry) -> None:
        self._entries.append(entry)
        self._write(entry)

    def _write(self, entry: Recorded) -> None:
        if self._file is not None:
            self._file.append(record_of(entry))

    def _take(self, entry: Recorded) -> None:
        """Adds an entry from the file."""
        if isinstance(entry, Session):
            self.name, self.window, self.model = entry.name, entry.window, entry.model
        else:
            self._entries.append(entry)
