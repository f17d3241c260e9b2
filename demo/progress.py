"""One line of progress: rewritten in place on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

# Seconds between lines. A terminal needs smoothness, a log needs few lines.
_TERMINAL_PAUSE = 0.05
_LOG_PAUSE = 2.0
_WIDTH = 99


class Progress:
    """Says what the demo is doing, on stderr, so that the report on stdout stays clean."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Progress on a stream, stderr by default."""
        self._stream = sys.stderr if stream is None else stream
        self._terminal = self._stream.isatty()
        self._pause = _TERMINAL_PAUSE if self._terminal else _LOG_PAUSE
        self._shown = 0.0

    def show(self, text: str) -> None:
        """Show a passing line; skipped when the last one is too recent."""
        if time.monotonic() - self._shown >= self._pause:
            self._write(text, last=False)

    def done(self, text: str) -> None:
        """Show the last line of a part; never skipped."""
        self._write(text, last=True)

    def _write(self, text: str, *, last: bool) -> None:
        self._shown = time.monotonic()
        if self._terminal:
            self._stream.write(f"\r{text[:_WIDTH]:<{_WIDTH}}{chr(10) if last else ''}")
        else:
            self._stream.write(f"{text}\n")
        self._stream.flush()
