"""Measures the cost of installing and importing ullage: bytes on the disk, and import time.

Each import is in a process of its own, with its files compiled and in the system's cache. Beside it
stands the time where Python's own modules that ullage uses are there already, as in most programs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from support.machine import RUNS, described

import ullage

ROOT = Path(__file__).parents[1]
MEGABYTE = 1_000_000
# The promises of the package: a fast import and a small wheel.
MOST_MS = 30
MOST_WHEEL = 8

TIMED = """
import sys, time
before = set(sys.modules)
start = time.perf_counter()
import ullage
print((time.perf_counter() - start) * 1_000, *set(sys.modules) - before)
"""
# Unused modules are not imported, so the first engine loads them.
WITH_ENGINE = TIMED.replace("import ullage\n", "import ullage\nullage.ContextManager()\n")


def run(code: str, compiled: str) -> list[str]:
    """Returns the words that the code prints. Compiled modules are kept in a folder."""
    without = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment = {**without, "PYTHONPYCACHEPREFIX": compiled}
    command = [sys.executable, "-c", code]
    done = subprocess.run(  # noqa: S603 - the code is above
        command, check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout.split()


def medians(*codes: str) -> list[float]:
    """Median time of each import in milliseconds; they take turns."""
    with tempfile.TemporaryDirectory() as compiled:
        for code in codes:
            run(code, compiled)
        times = [[float(run(code, compiled)[0]) for code in codes] for _ in range(RUNS)]
    return [statistics.median(taken) for taken in zip(*times, strict=True)]


def megabytes(*files: Path) -> float:
    return sum(file.stat().st_size for file in files) / MEGABYTE


def main() -> None:
    print(described("its own promises"))
    with tempfile.TemporaryDirectory() as compiled:
        imported = run(TIMED, compiled)[1:]
    own = [name for name in imported if name.partition(".")[0] != "ullage"]
    foreign = {name.partition(".")[0] for name in own} - set(sys.stdlib_module_names)
    assert not foreign, f"importing ullage imports {foreign}"
    beside_own = f"import {', '.join(own)}\n{TIMED}"
    alone, beside, with_engine = medians(TIMED, beside_own, WITH_ENGINE)
    print(f"\n| importing ullage | ms |\n|---|---|\n| in a fresh Python | {alone:.1f} |")
    print(f"| where the {len(own)} modules of Python that it uses are there | {beside:.1f} |")
    print(f"| in a fresh Python, with the first engine | {with_engine:.1f} |")
    print(f"\npromised: below {MOST_MS} ms{'' if alone < MOST_MS else ', MISSED'}")

    package = Path(ullage.__file__).parent
    modules = [file for file in package.rglob("*.py*") if file.suffix != ".pyc"]
    extensions = [*package.glob("_core*.so"), *package.glob("_core*.pyd")]
    print("\n| size | MB |\n|---|---|")
    print(f"| extension module | {megabytes(*extensions):.2f} |")
    print(f"| Python modules and stubs | {megabytes(*modules):.2f} |")
    for wheel in sorted((ROOT / "dist").glob("*.whl")):
        size = megabytes(wheel)
        missed = "" if size < MOST_WHEEL else f" (MISSED: {MOST_WHEEL} are promised)"
        print(f"| {wheel.name} | {size:.2f}{missed} |")


if __name__ == "__main__":
    main()
