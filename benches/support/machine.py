"""The machine that the figures are of, and how time is taken on it."""

from __future__ import annotations

import os
import platform
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

import ullage

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = 21


def described(*others: str) -> str:
    """Processor, Python, ullage, and what it is compared with."""
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{machine}\nullage {ullage.__version__} against {', '.join(others)}"


def processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()


def medians_ms(actions: list[Callable[[], object]], runs: int = RUNS) -> list[float]:
    """Median processor time of each action in milliseconds, of all its threads.

    Other work on the machine does not count. The actions take turns, so that a machine that slows
    down slows all of them down.
    """
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(runs):
        for action, taken in zip(actions, times, strict=True):
            start = time.process_time()
            action()
            taken.append((time.process_time() - start) * 1_000)
    return [statistics.median(taken) for taken in times]
