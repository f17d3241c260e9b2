"""Measures many sessions in parallel."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from ullage._core import MessageError
from ullage.replay.measure import Measured, measure
from ullage.replay.results import Replay, UnreadableSession

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ullage.replay.measure import Sweep
    from ullage.sessions import Session

# Sessions for each thread that are read and not done, so that no thread waits for the next one.
_AHEAD = 2


def replay(
    sessions: Iterable[Session],
    sweep: Sweep,
    *,
    jobs: int | None = None,
    progress: Callable[[], object] | None = None,
) -> Replay:
    """Runs the policies of a sweep over recorded sessions.

    Except for the times, the figures and their order are the same in every run.

    Args:
        sessions: The sessions; such as ``ullage.sessions.iter_sessions``, which reads them when
            they are needed. Few of them are in memory at a time.
        sweep: The policies and baselines to try.
        jobs: Sessions that are measured at a time; if not given, one for each core. The engine lets
            other threads run while it works.
        progress: Called after each session, in the thread that measured it.
    """

    def measured(session: Session) -> Measured | UnreadableSession:
        try:
            return measured_or_not(session, sweep)
        finally:
            if progress is not None:
                progress()

    count = jobs or os.cpu_count() or 1
    threads = ThreadPoolExecutor(max_workers=count)
    running: deque[tuple[str, Future[Measured | UnreadableSession]]] = deque()
    found: list[tuple[str, Measured | UnreadableSession]] = []

    def wait_for(most: int) -> None:
        while len(running) > most:
            name, future = running.popleft()
            found.append((name, future.result()))

    try:
        for session in sessions:
            running.append((session.name, threads.submit(measured, session)))
            wait_for(_AHEAD * count)
        wait_for(0)
    finally:
        # After an error or an interruption, waiting sessions are not begun.
        threads.shutdown(cancel_futures=True)
    return results_of(found)


def measured_or_not(session: Session, sweep: Sweep) -> Measured | UnreadableSession:
    """Returns the measures of a session, or the reason why it cannot be read."""
    try:
        return measure(session, sweep)
    except MessageError as error:
        return UnreadableSession(session.name, str(error))


def results_of(sessions: Iterable[tuple[str, Measured | UnreadableSession]]) -> Replay:
    """Returns the results of sessions as one replay, in the given order."""
    pairs = list(sessions)
    read = [(name, done) for name, done in pairs if isinstance(done, Measured)]
    return Replay(
        cuts=[cut for _, done in read for cut in done.cuts],
        costs=[cost for _, done in read for cost in done.costs],
        repaired=[name for name, done in read if done.repaired],
        unreadable=[done for _, done in pairs if isinstance(done, UnreadableSession)],
    )
