"""``shared_summarizer``: one call of the model for a summary that several workers need.

An engine with a summarizer uses it if its store has cells, which hold the leases and the texts.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from ullage._engine.logger import Logger
from ullage._engine.steps import Step, arun, aside, call_host, run
from ullage.stores.retrieval import at_once

if TYPE_CHECKING:
    from ullage._engine.steps import Steps
    from ullage._engine.summarizer import Summarizer, SummaryRequest
    from ullage.stores.shared import Cell

logger = Logger(__name__)

# Seconds between two heartbeats of the worker that makes a summary.
_BEAT = 2.0

# Seconds without a heartbeat after which the worker counts as killed, and another one makes the
# summary. On a busy machine two heartbeats may be late.
_LEASE = 3 * _BEAT

# Seconds between two checks of a waiting worker. A summary takes some seconds.
_LOOK = 0.25

# The beginning of a cell: before the text, a heartbeat, or a failure.
_TEXT, _TAKEN, _FREE = b"text:", b"taken", b"free"


def shared_summarizer(summarizer: Summarizer, store: Any) -> Summarizer:
    """Returns a summarizer that asks ``summarizer`` once for all workers.

    The first worker that needs a summary asks. The others wait for its text, which stays in the
    store. If the first fails or is killed, the next one asks. Without a working store every worker
    asks.

    Args:
        summarizer: A function, plain or async, that takes a ``SummaryRequest`` and returns text.
        store: A store with ``read_cell`` and ``write_cell`` that all workers share.
    """
    called = getattr(summarizer, "__call__", None)  # noqa: B004 - of an object, its method
    shared = _SharedSummaries(summarizer, store)
    if inspect.iscoroutinefunction(summarizer) or inspect.iscoroutinefunction(called):

        async def summarize_async(request: SummaryRequest) -> str:
            return await arun(shared.text(request))

        return summarize_async

    def summarize(request: SummaryRequest) -> str:
        return run(shared.text(request))

    return summarize


class _SharedSummaries:
    def __init__(self, summarizer: Summarizer, store: Any) -> None:
        self._summarizer = summarizer
        self._store = store

    def text(self, request: SummaryRequest) -> Steps[str]:
        """Returns the text of the summary, from the store or from the summarizer."""
        try:
            found = yield from self._text_or_lease(request)
        except Exception as error:  # noqa: BLE001 - of whatever client; compactions need no lease
            logger.info("error=<%s> | the summary is not shared", error)
            return (yield from call_host(self._summarizer, request))  # type: ignore[no-any-return]
        return found if isinstance(found, str) else (yield from self._make_summary(found, request))

    def _text_or_lease(self, request: SummaryRequest) -> Steps[str | _Lease]:
        whole = f"{request.max_tokens} {request}".encode("utf-8", "surrogatepass")
        name = f"summary/{hashlib.blake2b(whole, digest_size=16).hexdigest()}"
        known: str | None = None
        changed_at = time.monotonic()
        while True:
            cell: Cell | None = yield from aside(at_once, self._store, "read_cell", name)
            if cell is not None and cell.content.startswith(_TEXT):
                return cell.content[len(_TEXT) :].decode("utf-8", "surrogatepass")
            if cell is not None and cell.version != known:
                known, changed_at = cell.version, time.monotonic()
            # Only this worker's clock is used, because the clocks of two machines differ.
            is_left = time.monotonic() - changed_at >= _LEASE
            if cell is None or cell.content == _FREE or is_left:
                version = None if cell is None else cell.version
                written = partial(at_once, self._store, "write_cell")
                taken = yield from aside(written, name, _TAKEN, version)
                if taken is not None:
                    return _Lease(self._store, name, taken)
            yield Step(partial(time.sleep, _LOOK), _look_later)

    def _make_summary(self, lease: _Lease, request: SummaryRequest) -> Steps[str]:
        content = _FREE
        try:
            text: Any = yield from call_host(self._summarizer, request)
            if isinstance(text, str) and text.strip():
                content = _TEXT + text.encode("utf-8", "surrogatepass")
        finally:
            # Does not wait, because a cancelled task cannot await anything.
            lease.end(content)
        # The text is in the store even if this process ends now.
        yield from aside(lease.wait)
        return text  # type: ignore[no-any-return] # the engine checks it


class _Lease:
    """Tells other workers, by heartbeats, that this worker is making a summary."""

    def __init__(self, store: Any, name: str, version: str) -> None:
        self._store, self._name = store, name
        self._version: str | None = version
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ullage-lease", daemon=True)
        self._content = _FREE
        self._thread.start()

    def end(self, content: bytes) -> None:
        """Writes the outcome for the other workers, in the thread of the heartbeats."""
        self._content = content
        self._is_over.set()

    def wait(self) -> None:
        """Waits until the outcome is in the store."""
        self._thread.join()

    def _beat(self) -> None:
        try:
            while self._version is not None and not self._is_over.wait(_BEAT):
                self._write(_TAKEN)
            if self._version is not None:
                self._write(self._content)
        except Exception as error:  # noqa: BLE001 - of whatever client
            # The lease expires by itself. The compaction raises an error if it needs the store.
            logger.info("error=<%s> | the summary is not shared", error)

    def _write(self, content: bytes) -> None:
        self._version = self._store.write_cell(self._name, content, self._version)


async def _look_later() -> None:
    import asyncio

    await asyncio.sleep(_LOOK)
