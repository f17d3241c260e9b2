"""Ctrl-C ends a command within a second, also while native code runs.

Python raises ``KeyboardInterrupt`` between two of its own instructions. A long call into native
code delays it, and so do the threads of a pool that the process waits for.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from threading import Thread

from ullage._engine.files import remove_unfinished
from ullage.cli.codes import INTERRUPTED

# Seconds in which the command may end by itself and clean up.
_GRACE = 0.5
# A bar on the terminal hides the cursor.
_SHOW_CURSOR = b"\x1b[?25h"


def end_after_interrupt() -> None:
    """Makes sure that the process ends soon after Ctrl-C, whatever it is doing."""
    reading, writing = os.pipe()
    if os.name == "posix":
        os.set_blocking(writing, False)  # As `set_wakeup_fd` requires.
    try:
        # The signal handler itself writes to it, before Python gets to run again.
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    except ValueError:
        return  # Not in the main thread, which is the only one that gets signals.
    Thread(target=_end, args=(reading,), daemon=True).start()


def _end(reading: int) -> None:
    while signal.SIGINT not in os.read(reading, 4_096):
        pass
    time.sleep(_GRACE)
    remove_unfinished()
    if sys.stderr is not None and sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
    os._exit(INTERRUPTED)
