"""Who is told of what a manager does: the host's function, and the recorder of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ullage.supyagent.tokens import FORMAT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ullage import Recorder, Report, TokenCounter
    from ullage.listener import OnCompaction


class Told:
    """Passes reports and requests on.

    Engines are told a room with each request and do not know the window, so the recorder gets it
    here, and not from them.

    Args:
        on_compaction: The host's function, or None.
        recorder: The recorder, or None.
    """

    def __init__(self, on_compaction: OnCompaction | None, recorder: Recorder | None) -> None:
        self._on_compaction = on_compaction
        self._recorder = recorder

    def begin(self, counter: TokenCounter, window: int, model: str) -> None:
        """Tells the recorder what the next request is of; it writes what has changed."""
        if self._recorder is not None:
            self._recorder.attach(
                counter=counter, format=FORMAT, window=window, model=model, store=None
            )

    def compaction(self, report: Report) -> object:
        """Passes on what an engine did; what the host's function returns may have to be awaited."""
        if self._recorder is not None:
            self._recorder.compaction(report)
        return None if self._on_compaction is None else self._on_compaction(report)

    def request(self, messages: Sequence[Any]) -> None:
        """Passes on a request."""
        if self._recorder is not None:
            self._recorder.request(messages)
