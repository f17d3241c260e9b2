"""Replays files of sessions in parallel processes: on this machine, or on a Ray cluster."""

from __future__ import annotations

import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

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

# Parts that a Ray cluster holds for each core, so that no core waits for the next part.
_AHEAD = 2

# The length of a message between processes.
_LENGTH = struct.Struct("!Q")


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
    to another one.

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
    waiting = deque(sorted(range(len(parts)), key=lambda number: -parts[number].size))
    done: queue.Queue[tuple[int, PartMeasured] | BaseException] = queue.Queue()
    pool = [_Worker(parts, sweep, waiting, done) for _ in range(min(workers, len(parts)))]
    try:
        for worker in pool:
            worker.start()
        for _ in parts:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        # After an error or an interruption, no further file is started.
        waiting.clear()
        for worker in pool:
            worker.stop()


class _Worker(threading.Thread):
    """Gives parts to a process, one after another. Replaces the process if it dies."""

    def __init__(
        self,
        parts: Sequence[SessionPart],
        sweep: Sweep,
        waiting: deque[int],
        done: queue.Queue[tuple[int, PartMeasured] | BaseException],
    ) -> None:
        super().__init__(daemon=True, name="ullage-replay")
        self._parts, self._sweep, self._waiting, self._done = parts, sweep, waiting, done
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self) -> None:
        try:
            while self._waiting and not self._is_over:
                try:
                    number = self._waiting.popleft()
                except IndexError:
                    break  # Another worker was faster.
                self._done.put((number, self._measure(self._parts[number])))
        except BaseException as error:  # noqa: BLE001 - raised again in the waiting thread
            self._done.put(error)
        finally:
            self._end()

    def stop(self) -> None:
        """Ends the process, which also ends this thread."""
        self._is_over = True
        if self._process is not None:
            self._process.kill()
        self.join()

    def _measure(self, part: SessionPart) -> PartMeasured:
        for _ in range(_TRIES):
            process = self._process or self._new_process()
            try:
                _send(process.stdin, part)
                outcome = _receive(process.stdout)
            except (OSError, EOFError):
                self._end()
                if self._is_over:
                    break
                continue
            if isinstance(outcome, PartMeasured):
                return outcome
            raise RuntimeError(f"{part.file} could not be measured:\n{outcome}")
        reason = f"{_TRIES} workers died while they measured it; is it too large for the memory?"
        return PartMeasured([], [(part.file, reason, part.line)])

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            # Drops files that were not sent yet.
            with suppress(OSError):
                process.communicate()

    def _new_process(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ullage.replay.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        _send(self._process.stdin, self._sweep)
        return self._process


def _on_ray(parts: Sequence[SessionPart], sweep: Sweep) -> Iterator[tuple[int, PartMeasured]]:
    try:
        import ray
    except ImportError as error:
        raise ModuleNotFoundError("--ray needs Ray: pip install ray", name="ray") from error
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


def _send(stream: BinaryIO | Any, value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: BinaryIO | Any) -> Any:
    """Returns the next value from the process at the other end.

    Raises:
        EOFError: If that process has ended.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return pickle.loads(data)  # noqa: S301 - from our own process


def serve() -> None:
    """Measures parts for the parent process, until the parent ends."""
    import os
    import signal
    import traceback

    # The parent process handles interruptions.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Printed text goes to stderr, because stdout carries the results.
    os.dup2(2, 1)
    try:
        sweep = _receive(source)
        while True:
            part = _receive(source)
            try:
                outcome: Any = measure_part(part, sweep)
            except Exception:  # noqa: BLE001 - the parent raises it
                outcome = traceback.format_exc()
            _send(sink, outcome)
    except (EOFError, BrokenPipeError):
        return
