"""``Recorder``: what the requests of a session came to, and what was done about their size.

A recording holds numbers, references, the stages' reasons and the warnings of compactions, and no
text of a message: what left is in the store. The page that is drawn from it is in ``ullage.page``.
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

    The engine tells it of every compaction, and of every request that a host reports with
    ``observe``, as those of Strands and ADK do; a host without reports calls :meth:`request`. One
    recorder is of one conversation. Any number of threads may write to it.

    A request costs the count of its messages, which are remembered, and a comparison with the
    request before.

    Args:
        path: A file of JSON lines to which it is also written, each entry as it comes; what is in
            there is read first. Where it cannot be written, that is logged once, and the session
            goes on.
        name: What the session is called; the name of the file if not given.
        texts: True to record what the model sees in place of removed content too, which quotes
            messages. The report then shows it beside the original. Without it, a recording has no
            text of a message.

    Raises:
        StoreError: If the file is there and cannot be read, or holds no recording.
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
        # The copy of an agent is in the same session.
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Recorder cannot be pickled; in another process, make one with its path")

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
        """An engine begins to write to it. What is as it was is not written again."""
        with self._lock:
            if counter is not self._counter or format != self._format:
                self._counter, self._format, self._cache = counter, format, None
            # An engine that stands in for another may have no store, and not know its model.
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
        """Records a compaction; one that did nothing and has nothing to say is left out.

        Args:
            report: What it did.
            plan: What it carried out, for what became of each piece.
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
            references: Where the whole is stored.
            shortened: The result as the model sees it.
        """
        has_text = self._has_texts and shortened is not None
        instead = text_of(shortened)[:MOST_OF_A_TEXT] if has_text else None
        with self._lock:
            self._add(Arrived(tool, saved, references, instead))

    def failure(self, error: Exception) -> None:
        """Records that a compaction could not be made."""
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
            reported_tokens: Its whole prompt, as the provider reported.
            cached_tokens: What of it the provider read from its cache.

        Raises:
            MessageError: If the messages cannot be read.
        """
        with self._lock:
            tokens, kept, is_first = self._counted(messages)
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
        """The report of the session, see :func:`ullage.page.session_page`."""
        from ullage.page import session_page

        return session_page(self, economics=economics, store=store, folder=folder, beside=beside)

    def _counted(self, messages: Sequence[Any]) -> tuple[int, int, bool]:
        """Tokens of the messages, those as in the request before, and whether there was none."""
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
        """An entry from the file."""
        if isinstance(entry, Session):
            self.name, self.window, self.model = entry.name, entry.window, entry.model
        else:
            self._entries.append(entry)
