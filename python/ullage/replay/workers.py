"""Replays files of sessions in parallel processes: on this machine, or on a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ullage.replay.run import measured_or_not, results_of
from ullage.sessions import UnreadableSessionError
from ullage.sessions.parts import SessionPart, session_parts, sessions_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ullage.replay.measure import Measured, Sweep
    from ullage.replay.results import Replay, UnreadableSession

# Tries for a part whose worker dies. The first worker may have died for another reason, for example
# because the machine was short of memory.
_TRIES = 3

_DEADLY = f"{_TRIES} workers died while they measured it; is it too large for the memory?"
_NO_START = (
    f"{_TRIES} workers could not start; if the errors above are about bootstrapping, call"
    " replay_files below `if __name__ == '__main__':`"
)

# Parts that a Ray cluster holds for each core, so that no core waits for the next part.
_AHEAD = 2


@dataclass(frozen=True)
class PartMeasured:
    """The measures of the sessions in a part of a file.

    Attributes:
        sessions: The name and the measures of each session.
        problems: The parts that could not be read: the file, the problem, and the line or None.
    """

    sessions: list[tuple[str, Measured | UnreadableSession]]
    problems: list[tuple[str, str, int | None]]


def measure_part(part: SessionPart, sweep: Sweep) -> PartMeasured:
    """Measures the sessions in a part of a file. Holds one of them in memory, if possible."""
    problems: list[tuple[str, str, int | None]] = []

    def note(error: UnreadableSessionError) -> None:
        problems.append((error.file, error.problem, error.line))

    measures: list[tuple[str, Measured | UnreadableSession]] = []
    try:
        # Measurements made before an error are kept.
        measures.extend(
            (session.name, measured_or_not(session, sweep)) for session in sessions_in(part, note)
        )
    except UnreadableSessionError as error:
        note(error)
    return PartMeasured(measures, problems)


def replay_files(
    files: Sequence[str],
    sweep: Sweep,
    *,
    workers: int = 1,
    ray: bool = False,
    on_unreadable: Callable[[UnreadableSessionError], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Replay:
    """Runs the policies of a sweep over the sessions in files, in several processes.

    The figures are the same for any number of workers. A worker measures one part at a time: a
    file, or a range of a file with a conversation on each line. If a worker dies, its part is given
    to another one. The workers are processes of ``multiprocessing``, so a script must call this
    below ``if __name__ == "__main__":``.

    Args:
        files: Files, folders and URLs, see ``ullage.sessions.iter_sessions``.
        sweep: The policies and baselines to try on each session. The sweep is pickled, so its
            ``counter`` must be importable.
        workers: Number of processes on this machine.
        ray: True to run on the connected Ray cluster, or on a new one on this machine. The files
            must have the same names there.
        on_unreadable: Called with each file or line that cannot be read.
        progress: Called with the finished bytes, and the bytes of all files.

    Raises:
        ModuleNotFoundError: If ``ray`` is True and Ray is not installed.
        RuntimeError: If no worker can start.
    """
    parts: list[SessionPart] = []
    for file in files:
        try:
            parts += session_parts(file)
        except UnreadableSessionError:  # noqa: PERF203 - the others are read
            # The worker that is given it finds the same, which is reported in the file's place.
            parts.append(SessionPart(file, 0))
    found = _on_ray(parts, sweep) if ray else _in_processes(parts, sweep, workers)
    results: dict[int, PartMeasured] = {}
    done, total = 0, sum(part.size for part in parts)
    if progress is not None:
        progress(done, total)
    for number, measures in found:
        results[number] = measures
        done += parts[number].size
        if progress is not None:
            progress(done, total)
    ordered = [results[number] for number in range(len(parts))]
    if on_unreadable is not None:
        for problem in (problem for measures in ordered for problem in measures.problems):
            on_unreadable(UnreadableSessionError(*problem))
    return results_of(pair for measures in ordered for pair in measures.sessions)


def _in_processes(
    parts: Sequence[SessionPart], sweep: Sweep, workers: int
) -> Iterator[tuple[int, PartMeasured]]:
    """Yields the index and the measures of each part as it is finished."""
    # The largest parts come first, so that no worker is left alone with one at the end.
    order = sorted(range(len(parts)), key=lambda number: -parts[number].size)
    waiting = deque((number, _TRIES) for number in order)
    idle: list[_Worker] = []
    running: dict[Future[PartMeasured], tuple[int, int, _Worker]] = {}
    failed_starts = 0
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                number, tries = waiting[0]
                worker = idle.pop() if idle else _Worker()
                # An idle worker may be dead.
                with suppress(BrokenProcessPool):
                    running[worker.measure(parts[number], sweep)] = number, tries - 1, worker
                    waiting.popleft()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                number, tries, worker = running.pop(future)
                error = future.exception()
                if not isinstance(error, BrokenProcessPool):
                    idle.append(worker)
                    failed_starts = 0
                    yield number, future.result()
                elif not worker.has_started:
                    failed_starts += 1
                    if failed_starts == _TRIES:
                        raise RuntimeError(_NO_START) from error
                    waiting.appendleft((number, tries + 1))
                elif tries:
                    waiting.appendleft((number, tries))
                else:
                    part = parts[number]
                    yield number, PartMeasured([], [(part.file, _DEADLY, part.line)])
    finally:
        # After an error or an interruption, other workers are still at work.
        for worker in [*idle, *(worker for *_, worker in running.values())]:
            worker.end()


class _Worker:
    """A process of its own, so that nothing else is lost if it dies."""

    def __init__(self) -> None:
        # A fork would copy the threads' locks of the parent, as they are at that moment.
        spawn = multiprocessing.get_context("spawn")
        self._process = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)
        self._id = self._process.submit(os.getpid)

    @property
    def has_started(self) -> bool:
        return self._id.exception() is None

    def measure(self, part: SessionPart, sweep: Sweep) -> Future[PartMeasured]:
        return self._process.submit(measure_part, part, sweep)

    def end(self) -> None:
        """Ends the process, also in the middle of a part."""
        with suppress(BrokenProcessPool, ProcessLookupError):
            os.kill(self._id.result(), signal.SIGTERM)
        self._process.shutdown()


def _begin() -> None:
    """Leaves interruptions to the parent process, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _on_ray(parts: Sequence[SessionPart], sweep: Sweep) -> Iterator[tuple[int, PartMeasured]]:
    try:
        import ray
    except ImportError as error:
        raise ModuleNotFoundError(
            "a cluster needs Ray: pip install 'ullage[ray]'", name="ray"
        ) from error
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    # Ray itself tries again if a worker dies.
    measure: Any = ray.remote(max_retries=_TRIES - 1)(measure_part)
    shared = ray.put(sweep)
    numbers: Iterable[int] = iter(range(len(parts)))
    running: dict[Any, int] = {}
    while True:
        room = _AHEAD * int(ray.cluster_resources().get("CPU", 1)) - len(running)
        for _, number in zip(range(room), numbers, strict=False):
            running[measure.remote(parts[number], shared)] = number
        if not running:
            return
        for ready in ray.wait(list(running))[0]:
            yield running.pop(ready), ray.get(ready)
