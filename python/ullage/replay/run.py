"""Many sessions, in parallel."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from ullage.replay.measure import measure
from ullage.replay.results import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage.replay.measure import Measured, Sweep
    from ullage.sessions import Session


def replay(
    sessions: Iterable[Session],
    sweep: Sweep,
    *,
    jobs: int | None = None,
    progress: Callable[[], object] | None = None,
) -> Replay:
    """Runs the policies of a sweep over recorded sessions.

    The figures are the same every time, the times aside, and so is their order.

    Args:
        sessions: The sessions.
        sweep: What is tried on each.
        jobs: Sessions that are measured at a time; if not given, one for each core. The engine lets
            other threads run while it works.
        progress: Called when a session is done, from the thread that did it.

    Raises:
        MessageError: If the messages of a session cannot be read.
    """
    sessions = list(sessions)

    def measured(session: Session) -> Measured:
        found = measure(session, sweep)
        if progress is not None:
            progress()
        return found

    threads = ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1)
    try:
        found = list(threads.map(measured, sessions))
    finally:
        # After an error or an interruption, what has not begun is not begun.
        threads.shutdown(cancel_futures=True)
    names = (
        session.name for session, measured in zip(sessions, found, strict=True) if measured.repaired
    )
    return Replay(
        cuts=[cut for measured in found for cut in measured.cuts],
        costs=[cost for measured in found for cost in measured.costs],
        repaired=list(names),
    )
